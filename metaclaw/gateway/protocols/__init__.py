"""The wire protocols that clients speak to the gateway."""

from metaclaw.gateway.protocols.chat_completions import ChatCompletions
from metaclaw.gateway.protocols.dialect import OWN_FIELDS, Answer, ClientRequest, Dialect, Item
from metaclaw.gateway.protocols.messages import Messages
from metaclaw.gateway.protocols.responses import Responses
from metaclaw.gateway.protocols.spans import NotJson

CHAT = ChatCompletions()
MESSAGES = Messages()
RESPONSES = Responses()
DIALECTS: dict[str, Dialect] = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}

__all__ = [
    "CHAT",
    "DIALECTS",
    "MESSAGES",
    "OWN_FIELDS",
    "RESPONSES",
    "Answer",
    "ClientRequest",
    "Dialect",
    "Item",
    "NotJson",
]
