"""WeChat at `metaclaw start`, `status` and `uninstall`: asks once, shows the QR code, says how the channel stands."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from metaclaw.channels import ChannelError, WeChat, open_wechat
from metaclaw.cli.output import note
from metaclaw.cli.report import ClawLine
from metaclaw.cli.site import Site

NAME = "WeChat"
_QUESTION = "WeChat needs Tencent's own plugin for OpenClaw (@tencent-weixin/openclaw-weixin). Install it?"


def connect_wechat(site: Site, *, relogin: bool) -> list[ClawLine]:
    """Put WeChat in and log it in where that is due, or take it out where it is switched off; how it stands then."""
    try:
        if not site.settings.wechat.enabled:
            taken_out = part_with_wechat(site.home)
            return [ClawLine(NAME, "off", "; ".join(taken_out))] if taken_out else []
        wechat = open_wechat(site.home)
        return [_no_openclaw() if wechat is None else _put_in(wechat, relogin=relogin)]
    except ChannelError as error:
        return [ClawLine(NAME, "failed", str(error))]


def look_wechat(site: Site) -> list[ClawLine]:
    """How it stands, from files alone; nothing where it was never wanted."""
    if not site.settings.wechat.enabled:
        return []
    try:
        wechat = open_wechat(site.home)
    except ChannelError as error:
        return [ClawLine(NAME, "failed", str(error))]
    return [_no_openclaw() if wechat is None else _line(wechat)]


def part_with_wechat(home: Path) -> list[str]:
    """Take out what was put in, if anything was; what was done, in lines for people. Raises ChannelError."""
    if not (home / "channels" / "wechat.json").exists():
        return []
    wechat = open_wechat(home)
    return wechat.take_out() if wechat is not None else []


def _put_in(wechat: WeChat, *, relogin: bool) -> ClawLine:
    present = sys.stdin.isatty()
    if not wechat.agreed:
        if not present:
            return ClawLine(NAME, "off", "`metaclaw start` in a terminal asks before it installs the official plugin")
        if not typer.confirm(_QUESTION, default=True, err=True):
            return ClawLine(NAME, "off", "not installed; `metaclaw config wechat.enabled false` stops the question")
        wechat.agree()
    note("putting WeChat into OpenClaw …")
    wechat.install()
    if present and (relogin or not wechat.accounts()):
        note("scan this with WeChat on your phone")
        if not wechat.login(note):
            return ClawLine(NAME, "logged out", "the QR code was not scanned in time: `metaclaw start` shows another")
    return _line(wechat)


def _line(wechat: WeChat) -> ClawLine:
    state = wechat.state()
    return ClawLine(NAME, state.name, state.detail)


def _no_openclaw() -> ClawLine:
    return ClawLine(NAME, "not found", "it comes through OpenClaw, which is not on this machine")
