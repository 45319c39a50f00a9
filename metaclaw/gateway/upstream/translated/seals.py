"""How the proof of one protocol's reasoning travels through another and comes back whole.

Anthropic signs its thinking; responses encrypts it; some chat providers send opaque details. The client only stores
such a value and returns it. Where the client's protocol differs from the upstream's, the value is marked with its
origin, so that it is returned to the protocol that made it and to no other: a foreign signature is a 400.
"""

from __future__ import annotations

import base64
import binascii
from typing import get_args

from metaclaw.gateway.upstream.translated.parts import Origin, Proof
from metaclaw.gateway.upstream.translated.payload import Malformed, as_dict, as_text, decode, encode

_MARK = "mclaw1."


def seal(proof: Proof) -> str:
    """One opaque string that `unseal` turns back into the same proof."""
    content = {"v": proof.value, "i": proof.id, "h": proof.hidden}
    return f"{_MARK}{proof.origin}.{base64.urlsafe_b64encode(encode(content)).decode('ascii')}"


def unseal(text: str, *, native: Origin, id: str = "", hidden: bool = False) -> Proof | None:
    """The proof in a client's signature or encrypted_content; what bears no mark is the protocol's own."""
    if not text:
        return None
    if not text.startswith(_MARK):
        return Proof(native, text, id, hidden)
    origin, _, body = text[len(_MARK) :].partition(".")
    try:
        content = as_dict(decode(base64.urlsafe_b64decode(body)))
    except (binascii.Error, ValueError, Malformed):
        return None
    for name in get_args(Origin):
        if name == origin:
            return Proof(name, as_text(content.get("v")), as_text(content.get("i")), content.get("h") is True)
    return None


def worn(proof: Proof, native: Origin) -> str:
    """The string for a client that speaks `native`: the value itself where it is at home, else sealed."""
    return proof.value if proof.origin == native else seal(proof)
