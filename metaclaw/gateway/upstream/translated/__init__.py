"""Pure translators among chat completions, Anthropic messages and OpenAI responses, and an upstream that uses them.

Exceptions: metaclaw.gateway.upstream.base.UpstreamError
            └── Untranslatable   the other protocol cannot do what the request needs (status 400)
"""

from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.parts import Untranslatable
from metaclaw.gateway.upstream.translated.stream import StreamTranslator
from metaclaw.gateway.upstream.translated.translate import (
    translate_answer,
    translate_error,
    translate_request,
    translate_status,
)
from metaclaw.gateway.upstream.translated.upstream import Translated

__all__ = [
    "LOSSES",
    "StreamTranslator",
    "Translated",
    "Untranslatable",
    "translate_answer",
    "translate_error",
    "translate_request",
    "translate_status",
]
