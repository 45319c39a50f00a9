"""Channels by which people reach their agent, where MetaClaw looks after one: WeChat.

ChannelError
"""

from metaclaw.channels.wechat import ChannelError, ChannelState, WeChat, open_wechat, pending_login

__all__ = ["ChannelError", "ChannelState", "WeChat", "open_wechat", "pending_login"]
