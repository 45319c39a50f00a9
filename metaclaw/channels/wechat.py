"""The WeChat channel of OpenClaw: Tencent's own plugin, put in, logged in, watched, and taken out again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from metaclaw_adapters import AdapterError, Command, Installation, adapters, run
from metaclaw_adapters.files import private_dir, write_atomic
from metaclaw_adapters.openclaw_config import default_agent

PLUGIN = "openclaw-weixin"
PACKAGE = "npm:@tencent-weixin/openclaw-weixin@2.4.9"  # the bare name fails: OpenClaw's catalogue pins a missing one
_INSTALL_SECONDS, _WRITE_SECONDS, _LOGIN_SECONDS = 600.0, 120.0, 600.0
_SILENT_SECONDS = 120.0  # three long polls
_LINK = re.compile(r"https://\S+")
_STALE = re.compile(r"token for (?P<account>\S+) is stale")


class ChannelError(Exception):
    """WeChat can't be put in, logged in or taken out; the message is one line: what, and what to do."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How the channel stands, in a word and a line for people."""

    name: Literal["absent", "logged out", "expired", "silent", "stopped", "running"]
    detail: str


class WeChat:
    """The channel of one OpenClaw, and the record of what we put into it."""

    def __init__(self, installation: Installation, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        """`home` is MetaClaw's state folder. Raises ChannelError where OpenClaw's program is missing."""
        if installation.program is None:
            raise ChannelError("WeChat needs OpenClaw's program, which does not run here: install OpenClaw first")
        self._openclaw = installation
        self._program = installation.program
        self._environ = environ
        self._accounts = installation.home / PLUGIN
        self._record_path = home / "channels" / "wechat.json"
        self._login_path = home / "run" / "wechat-login.json"
        self._record: dict[str, Any] = _read(self._record_path, {})

    @property
    def agreed(self) -> bool:
        """Whether the person has said yes to the plugin once."""
        return bool(self._record.get("agreed"))

    def agree(self) -> None:
        """Remember the yes."""
        self._note(agreed=True)

    def install(self) -> None:
        """Install the plugin where it is missing, and give each sender a session of his own. Raises ChannelError."""
        if not self._installed():
            self._run("plugins", "install", PACKAGE, timeout=_INSTALL_SECONDS)
            self._note(installed=True)
        bindings = self._config("bindings") or []
        if not any(one.get("match", {}).get("channel") == PLUGIN for one in bindings):
            binding = self._binding()
            self._set("bindings", [*bindings, binding])
            self._note(binding=binding)

    def login(self, tell: Callable[[str], None]) -> bool:
        """Show the QR code and wait until it is scanned; the running channel then takes the new account."""
        before = self.accounts()
        command = [self._program, "channels", "login", "--channel", PLUGIN]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env=dict(self._environ), text=True, encoding="utf-8", errors="replace"
        ) as process:
            try:
                for line in process.stdout or ():
                    tell(line.rstrip("\n"))
                    if link := _LINK.search(line):
                        private_dir(self._login_path.parent)
                        pending = {"link": link[0], "at": time.time(), "until": time.time() + _LOGIN_SECONDS}
                        write_atomic(self._login_path, json.dumps(pending).encode(), mode=0o600)
            finally:
                self._login_path.unlink(missing_ok=True)
        if process.returncode or not self.accounts():
            return False
        if not before:
            self._note(logged_in=True)
        self._set(f"channels.{PLUGIN}.channelConfigUpdatedAt", datetime.now(UTC).isoformat())
        return True

    def accounts(self) -> list[str]:
        """Ids of the accounts that are logged in, as far as the plugin knows."""
        listed = _read(self._accounts / "accounts.json", [])
        return [one for one in listed if _read(self._accounts / "accounts" / f"{one}.json", {}).get("token")]

    def state(self, now: float | None = None) -> ChannelState:
        """How it stands, from its files alone: no program is started."""
        now = time.time() if now is None else now
        accounts = self.accounts()
        if not self._installed():
            return ChannelState("absent", "`metaclaw start` in a terminal installs the official plugin")
        if not accounts:
            return ChannelState("logged out", "`metaclaw start` in a terminal shows the QR code")
        if not self._openclaw.running:
            return ChannelState("stopped", f"{len(accounts)} account(s); OpenClaw's gateway does not run")
        heard = {account: self._heard(account) for account in accounts}
        expired = [one for one in accounts if (said := self._said_stale(one)) and said > heard[one]]
        if expired:
            return ChannelState("expired", f"login of {', '.join(expired)}: `metaclaw start --wechat-relogin`")
        if silent := [one for one in accounts if now - heard[one] > _SILENT_SECONDS]:
            minutes = (now - max(heard[one] for one in silent)) / 60
            return ChannelState(
                "silent", f"nothing of WeChat's server for {minutes:.0f} min: `openclaw channels status`"
            )
        return ChannelState("running", ", ".join(accounts))

    def take_out(self) -> list[str]:
        """Undo what the record says, in lines for people. Raises ChannelError."""
        done = []
        if binding := self._record.get("binding"):
            kept = [one for one in self._config("bindings") or [] if one != binding]
            self._set("bindings", kept) if kept else self._run("config", "unset", "bindings")
            done.append("the binding of WeChat's sessions is removed")
        if self._record.get("logged_in"):
            self._run("config", "unset", f"channels.{PLUGIN}")
            if self._config("channels") == {}:
                self._run("config", "unset", "channels")
        if self._record.get("installed"):
            self._run("plugins", "uninstall", PLUGIN, "--force", timeout=_INSTALL_SECONDS)
            self._run("config", "unset", f"plugins.entries.{PLUGIN}", fails=False)
            done.append("the weixin plugin is uninstalled")
        if self._record.get("logged_in"):
            _remove(self._accounts)
            done.append("the login to WeChat is removed")
        self._record_path.unlink(missing_ok=True)
        self._record = {}
        return done

    def _binding(self) -> dict[str, Any]:
        """WeChat goes to the default agent, each sender in a session of his own."""
        documents = self._openclaw.documents
        agent = default_agent(documents[0].value) if documents else "main"
        session = {"dmScope": "per-account-channel-peer"}
        return {"agentId": agent, "match": {"channel": PLUGIN}, "session": session}

    def _installed(self) -> bool:
        projects = self._openclaw.home / "npm" / "projects"
        return (
            any(projects.glob(f"tencent-weixin-{PLUGIN}-*/node_modules"))
            or (self._openclaw.home / "extensions" / PLUGIN).exists()
        )

    def _heard(self, account: str) -> float:
        """When WeChat's server last answered, or the account was logged in."""
        folder = self._accounts / "accounts"
        times = [_modified(folder / f"{account}{end}") for end in (".json", ".sync.json")]
        return max(times)

    def _said_stale(self, account: str) -> float:
        """When the plugin last logged that this login is over; 0 if it hasn't."""
        found = 0.0
        for entry in _log_entries():
            match = _STALE.search(str(entry.get("1", "")))
            if match and match["account"] == account:
                found = max(found, datetime.fromisoformat(entry["_meta"]["date"]).timestamp())
        return found

    def _config(self, key: str) -> Any:
        done = self._run("config", "get", key, "--json", fails=False)
        try:
            return json.loads(done) if done else None
        except ValueError:
            return None

    def _set(self, key: str, value: Any) -> None:
        self._run("config", "set", key, json.dumps(value), "--strict-json")

    def _run(self, *arguments: str, timeout: float = _WRITE_SECONDS, fails: bool = True) -> str:
        try:
            done = run(Command((self._program, *arguments), timeout=timeout), self._environ)
        except AdapterError as error:
            raise ChannelError(f"OpenClaw: {error}") from error
        if done.code and fails:
            raise ChannelError(f"`openclaw {' '.join(arguments[:3])}` failed: {done.said()}")
        return "" if done.code else done.out

    def _note(self, **facts: Any) -> None:
        self._record |= facts
        private_dir(self._record_path.parent)
        write_atomic(self._record_path, json.dumps(self._record).encode(), mode=0o600)


def open_wechat(home: Path) -> WeChat | None:
    """The channel of the OpenClaw on this machine; None where there is none. Raises ChannelError."""
    adapter = adapters().get("openclaw")
    installation = adapter.detect() if adapter is not None else None
    return None if installation is None else WeChat(installation, home)


def pending_login(home: Path, now: float) -> str:
    """The link behind the QR code that waits to be scanned; empty when none does."""
    pending = _read(home / "run" / "wechat-login.json", {})
    return str(pending["link"]) if pending.get("until", 0.0) > now else ""


def log_folders() -> list[Path]:
    """Where OpenClaw's channels log; a folder of their own, whatever OpenClaw's configuration says."""
    uid = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    return [Path("/tmp/openclaw"), Path(tempfile.gettempdir()) / f"openclaw{uid}"]  # noqa: S108


def _log_entries() -> Iterator[dict[str, Any]]:
    """What the channels logged today and yesterday of logins that are over."""
    for folder in log_folders():
        for path in sorted(folder.glob("openclaw-*.log"))[-2:]:
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                if "is stale" in line:
                    with contextlib.suppress(ValueError):
                        yield json.loads(line)


def _read(path: Path, default: Any) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return default
    return value if isinstance(value, type(default)) else default


def _modified(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
