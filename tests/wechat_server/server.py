"""Logins by QR code, messages in and out, and logins that expire: what the weixin plugin asks for, and no more."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

BOTS = ("b0f5860fdecb@im.bot", "c1a6971aedfc@im.bot")
LINK = "https://liteapp.weixin.qq.com/q/scripted"
STALE = {"ret": -14, "errcode": -14, "errmsg": "session timeout"}
POLL_SECONDS = 5.0
REDIRECT = Path(__file__).with_name("redirect.mjs")


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the plugin sent."""

    to: str
    text: str
    token: str


@dataclass
class WeChatServer:
    """The server, in a thread of its own: `with WeChatServer() as wechat: wechat.env`."""

    account: str = BOTS[0]  # the bot that the next scan logs in
    owner: str = "wx_owner@im.wechat"
    sent: list[Sent] = field(default_factory=list)
    polls: list[str] = field(default_factory=list)  # tokens, in the order in which they polled for messages
    logins: int = 0
    _expired: set[str] = field(default_factory=set)
    _scans: dict[str, int] = field(default_factory=dict)
    _waiting: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Self:
        wechat = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                wechat._reply(self, {})

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                wechat._reply(self, json.loads(raw or b"{}"))

        self._news = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def env(self) -> dict[str, str]:
        """What sends the plugin's fixed host here: a preload for Node."""
        return {"NODE_OPTIONS": f"--import {REDIRECT.as_uri()}", "WECHAT_STAND_IN": self.url}

    def say(self, text: str, sender: str = "wx_owner@im.wechat") -> None:
        """A person writes to the bot."""
        number = len(self._waiting) + len(self.sent) + int(time.time() * 1000) % 1_000_000
        message = {
            "seq": number,
            "message_id": str(number),
            "from_user_id": sender,
            "to_user_id": self.account,
            "create_time_ms": int(time.time() * 1000),
            "message_type": 1,
            "message_state": 2,
            "context_token": f"context-of-{sender}",
            "item_list": [{"type": 1, "text_item": {"text": text}}],
        }
        with self._news:
            self._waiting.append(message)
            self._news.notify_all()

    def expire(self) -> None:
        """The login of every account that is logged in now is over."""
        with self._news:
            self._expired.update(self.polls)
            self._news.notify_all()

    def _reply(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        parts = urlsplit(request.path)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        answer = self._answer(parts.path.rsplit("/", 1)[-1], parse_qs(parts.query), token, body)
        data = json.dumps(answer).encode()
        request.send_response(200)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _answer(self, name: str, query: dict[str, list[str]], token: str, body: dict[str, Any]) -> dict[str, Any]:
        match name:
            case "get_bot_qrcode":
                self.logins += 1
                code = f"code-{self.logins}"
                return {"qrcode": code, "qrcode_img_content": f"{LINK}?qrcode={code}"}
            case "get_qrcode_status":
                return self._scanned(query["qrcode"][0])
            case "getupdates":
                return self._updates(token)
            case "sendmessage":
                return self._sent(token, body)
            case "getconfig":
                return {"ret": 0, "typing_ticket": "ticket"}
            case _:
                return {"ret": 0}

    def _scanned(self, code: str) -> dict[str, Any]:
        """First nobody has scanned it, then somebody has, then the phone confirms."""
        self._scans[code] = step = self._scans.get(code, 0) + 1
        if step < 3:
            return {"status": ("wait", "scaned")[step - 1]}
        return {
            "status": "confirmed",
            "bot_token": f"token-{self.account}-{code}",
            "ilink_bot_id": self.account,
            "baseurl": self.url,
            "ilink_user_id": self.owner,
        }

    def _updates(self, token: str) -> dict[str, Any]:
        with self._news:
            self.polls.append(token)
            if token not in self._expired and not self._waiting:
                self._news.wait(POLL_SECONDS)
            if token in self._expired:
                return STALE
            taken, self._waiting = self._waiting, []
        return {"ret": 0, "msgs": taken, "get_updates_buf": f"at-{len(self.polls)}", "longpolling_timeout_ms": 25000}

    def _sent(self, token: str, body: dict[str, Any]) -> dict[str, Any]:
        if token in self._expired:
            return STALE
        message = body.get("msg", body)
        texts = [item["text_item"]["text"] for item in message.get("item_list", []) if "text_item" in item]
        with self._news:
            self.sent.append(Sent(str(message.get("to_user_id", "")), "\n".join(texts), token))
        return {"ret": 0, "message_id": str(len(self.sent))}
