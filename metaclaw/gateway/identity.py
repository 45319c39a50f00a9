"""Who is calling, and which conversation they say this is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from metaclaw.gateway.protocols import ClientRequest, NotJson
from metaclaw.gateway.protocols.spans import loads

OWN_HEADERS = frozenset(
    (
        "x-session-id",
        "x-turn-type",
        "x-session-done",
        "x-memory-scope",
        "x-user-id",
        "x-workspace-id",
        "x-metaclaw-client",
        "x-metaclaw-key",
    )
)
_TRUE = frozenset(("1", "true", "yes", "on"))
_BOUNDARY = re.compile(r":\d{1,9}$")
_CACHE_KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|openclaw-[\w-]+", re.IGNORECASE)
_LEGACY_USER = re.compile(r"_session_([\w-]{8,64})$")
_PLAIN = re.compile(r"[\w.@:+=/-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a request says about itself; empty where it says nothing."""

    session_id: str = ""
    turn_type: str = ""
    done: bool = False
    scope: str = ""
    user_id: str = ""
    workspace_id: str = ""
    claw: str = ""


def identify(headers: Mapping[str, str], request: ClientRequest, default_scope: str) -> Identity:
    """Read the identity of a request; a header outranks the body field of the same meaning."""

    def said(header: str, field: str) -> str:
        return (headers.get(header) or request.own(field)).strip()

    user, workspace = said("x-user-id", "user_id")[:128], said("x-workspace-id", "workspace_id")[:128]
    turn_type = said("x-turn-type", "turn_type").lower()
    return Identity(
        session_id=plain(_BOUNDARY.sub("", said("x-session-id", "session_id") or _client_session(headers, request))),
        turn_type=turn_type if turn_type in ("main", "side") else "",
        done=said("x-session-done", "session_done").lower() in _TRUE,
        scope=said("x-memory-scope", "memory_scope")[:200] or scope(user, workspace, default_scope),
        user_id=user,
        workspace_id=workspace,
        claw=headers.get("x-metaclaw-client", "")[:40] or _claw(headers),
    )


def scope(user: str, workspace: str, default: str) -> str:
    """The memory scope of a user and a workspace."""
    parts = [f"{kind}:{name}" for kind, name in (("user", user), ("workspace", workspace)) if name]
    return "|".join(parts) or default


def plain(session_id: str) -> str:
    """An id that is safe in paths, headers and logs; anything else is replaced by its digest."""
    if not session_id or _PLAIN.fullmatch(session_id):
        return session_id
    return "x-" + hashlib.blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _client_session(headers: Mapping[str, str], request: ClientRequest) -> str:
    """The conversation's id as known clients send it. `x-session-affinity` alone is a process, not a conversation."""
    for name in ("x-claude-code-session-id", "session-id", "session_id"):
        if headers.get(name):
            return headers[name].strip()
    cache_key = request.own("prompt_cache_key")
    match = _CACHE_KEY.search(cache_key)
    # Other cache keys are hashes of the prompt's content, or constants: equal for all conversations.
    return cache_key if match and match.start() == 0 else _metadata_session(request)


def _metadata_session(request: ClientRequest) -> str:
    raw = request.fields.get("metadata")
    metadata = loads(raw) if raw else None
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(user, str):
        return ""
    legacy = _LEGACY_USER.search(user)
    if legacy:
        return legacy[1]
    try:
        inner = loads(user.encode())
    except (NotJson, UnicodeEncodeError):
        return ""
    return str(inner.get("session_id") or "") if isinstance(inner, dict) else ""


def _claw(headers: Mapping[str, str]) -> str:
    agent = headers.get("user-agent", "").lower()
    if "x-claude-code-session-id" in headers or agent.startswith("claude-cli"):
        return "claude-code"
    if agent.startswith("codex"):
        return "codex"
    if agent.startswith("opencode"):
        return "opencode"
    return ""
