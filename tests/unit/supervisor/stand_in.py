"""A small real process that keeps the gateway's contract: lock for life, run file, health by token, orderly end.

Usage: stand_in.py RUN_DIR NAME PORT [BEHAVIOUR…]; behaviours: exit=N, deaf (never listens), slow=S (before it listens),
stubborn (ignores the request to stop), child (starts a process of its own), refuse (the shutdown endpoint says no),
unready (never ready), impostor (answers with somebody else's token).
"""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from filelock import FileLock

run_dir, name, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
behaviours = dict(item.partition("=")[::2] for item in sys.argv[4:])
token = os.urandom(16).hex()
stopping = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/readyz":
            return self.reply(503 if "unready" in behaviours else 200, {})
        shown = "impostor" if "impostor" in behaviours else token
        instance = hashlib.sha256(shown.encode()).hexdigest()[:16]
        return self.reply(200, {"ok": True, "pid": os.getpid(), "version": "1", "instance": instance})

    def do_POST(self) -> None:
        allowed = self.headers.get("X-MetaClaw-Token") == token and "refuse" not in behaviours
        self.reply(202 if allowed else 403, {})
        if allowed:
            stopping.set()

    def reply(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> int:
    print("stand-in starts", flush=True)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in behaviours else lambda *_: stopping.set())
    lock = FileLock(run_dir / f"{name}.lock")
    lock.acquire(timeout=2)
    if "exit" in behaviours:
        print("it broke: no such thing", file=sys.stderr, flush=True)
        return int(behaviours["exit"])
    time.sleep(float(behaviours.get("slow", 0)))
    if "child" in behaviours:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (run_dir / "child").write_text(str(child.pid), encoding="utf-8")
    run = {"pid": os.getpid(), "port": port, "host": "127.0.0.1", "token": token, "started_at": time.time()}
    if "deaf" not in behaviours:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    (run_dir / "new").write_text(json.dumps(run), encoding="utf-8")
    (run_dir / "new").replace(run_dir / f"{name}.json")
    stopping.wait()
    (run_dir / f"{name}.json").unlink(missing_ok=True)
    return 0


sys.exit(main())
