"""Where chat completions keep reasoning: a plain text field, and structured details that carry proofs."""

from __future__ import annotations

from collections.abc import Sequence

from metaclaw.gateway.upstream.translated.parts import Proof, Reasoning
from metaclaw.gateway.upstream.translated.payload import (
    Json,
    Malformed,
    as_dict,
    as_dicts,
    as_list,
    as_text,
    decode,
    encode_text,
)

TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
ANTHROPIC = "anthropic-claude-v1"
OPENAI = "openai-responses-v1"


def reasoning_text(message: Json) -> tuple[str, str]:
    """(field, text) of the plain reasoning in a message or delta."""
    for name in TEXT_FIELDS:
        text = message.get(name)
        if isinstance(text, str) and text:
            return name, text
    return "", ""


def details_text(details: Sequence[Json]) -> str:
    """The readable text in structured details, for providers that send nothing else."""
    return "".join(as_text(item.get("text")) or as_text(item.get("summary")) for item in details)


def merged_details(details: Sequence[Json]) -> list[Json]:
    """Streamed details as one list: pieces of one text joined, everything else as it came."""
    merged: list[Json] = []
    for item in details:
        last = merged[-1] if merged else {}
        same = last.get("type") == item.get("type") and last.get("index") == item.get("index")
        field = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(as_text(item.get("type")))
        if same and field and not last.get("signature"):
            joined = as_text(last.get(field)) + as_text(item.get(field))
            last.update({key: value for key, value in item.items() if value is not None}, **{field: joined})
        else:
            merged.append(dict(item))
    return merged


def own_proof(field: str, details: Sequence[Json], extras: Json) -> Proof:
    """What a chat provider wants back, for clients of another protocol. Plain text details need no second copy."""
    kept = merged_details(details)
    if all(item.get("type") != "reasoning.encrypted" and not item.get("signature") for item in kept):
        kept = []
    content = {"field": field, "details": kept, "extras": extras}
    return Proof("chat", encode_text({key: value for key, value in content.items() if value}))


def open_own_proof(proof: Proof) -> tuple[str, list[Json], Json]:
    """(field, details, extra content by tool id) out of such a proof."""
    try:
        content = as_dict(decode(proof.value))
    except Malformed:
        return "", [], {}
    field = as_text(content.get("field"))
    details = as_dicts(content.get("details"))
    return field if field in TEXT_FIELDS else "", details, as_dict(content.get("extras"))


def proof_details(text: str, proof: Proof, index: int) -> list[Json]:
    """The proof of another protocol as structured details."""
    if proof.origin == "messages" and proof.hidden:
        return [{"type": "reasoning.encrypted", "data": proof.value, "format": ANTHROPIC, "index": index}]
    if proof.origin == "messages":
        entry = {"type": "reasoning.text", "text": text, "signature": proof.value}
        return [{**entry, "format": ANTHROPIC, "index": index}]
    found: list[Json] = []
    if text:
        found.append({"type": "reasoning.summary", "summary": text, "format": OPENAI, "index": index})
    sealed = {"type": "reasoning.encrypted", "data": proof.value, "id": proof.id}
    found.append({**sealed, "format": OPENAI, "index": index})
    return found


def read_reasoning(message: Json) -> list[Reasoning]:
    """The reasoning in an assistant message that a client sends back."""
    blocks = as_dicts(message.get("thinking_blocks"))
    details = as_dicts(message.get("reasoning_details"))
    found = [part for block in blocks if (part := _from_block(block))]
    if not found:
        found = _from_details(details)
    if found:
        return found
    field, text = reasoning_text(message)
    if not text and not details:
        return []
    return [Reasoning(text or details_text(details), own_proof(field, details, {}))]


def _from_block(block: Json) -> Reasoning | None:
    if block.get("type") == "redacted_thinking" and block.get("data"):
        return Reasoning("", Proof("messages", as_text(block["data"]), hidden=True))
    if block.get("type") == "thinking" and block.get("signature"):
        return Reasoning(as_text(block.get("thinking")), Proof("messages", as_text(block["signature"])))
    return None


def _from_details(details: list[Json]) -> list[Reasoning]:
    found: list[Reasoning] = []
    summary = ""
    for item in details:
        form, kind = item.get("format"), item.get("type")
        if form == ANTHROPIC and kind == "reasoning.text" and item.get("signature"):
            found.append(Reasoning(as_text(item.get("text")), Proof("messages", as_text(item["signature"]))))
        elif form == ANTHROPIC and kind == "reasoning.encrypted" and item.get("data"):
            found.append(Reasoning("", Proof("messages", as_text(item["data"]), hidden=True)))
        elif form == OPENAI and kind == "reasoning.summary":
            summary += as_text(item.get("summary"))
        elif form == OPENAI and kind == "reasoning.encrypted" and item.get("data"):
            proof = Proof("responses", as_text(item["data"]), as_text(item.get("id")), hidden=not summary)
            found.append(Reasoning(summary, proof))
            summary = ""
    return found


def content_pieces(content: object) -> list[tuple[str, str]]:
    """(kind, text) pieces of an answer's content: a string, or the typed list that some providers send."""
    if isinstance(content, str):
        return [("text", content)] if content else []
    pieces: list[tuple[str, str]] = []
    for item in as_list(content):
        if isinstance(item, str):
            pieces.append(("text", item))
        elif isinstance(item, dict) and item.get("type") == "thinking":
            inner = item.get("thinking")
            text = inner if isinstance(inner, str) else "".join(as_text(p.get("text")) for p in as_dicts(inner))
            pieces.append(("reasoning", text))
        elif isinstance(item, dict):
            kind = "refusal" if item.get("type") == "refusal" else "text"
            pieces.append((kind, as_text(item.get(kind))))
    return [(kind, text) for kind, text in pieces if text]
