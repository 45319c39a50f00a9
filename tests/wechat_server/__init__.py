"""A stand-in, on loopback, for the server that OpenClaw's official weixin plugin talks to."""

from tests.wechat_server.server import BOTS, Sent, WeChatServer

__all__ = ["BOTS", "Sent", "WeChatServer"]
