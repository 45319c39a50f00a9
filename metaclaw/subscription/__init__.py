"""Model calls paid by a subscription: the vendor's own command line program answers."""

from metaclaw.subscription.commands import PROGRAMS, Program, program_for
from metaclaw.subscription.events import Event, Reader
from metaclaw.subscription.process import Call, SubscriptionError, start
from metaclaw.subscription.transcript import Conversation, conversation

__all__ = [
    "PROGRAMS",
    "Call",
    "Conversation",
    "Event",
    "Program",
    "Reader",
    "SubscriptionError",
    "conversation",
    "program_for",
    "start",
]
