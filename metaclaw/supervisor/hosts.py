"""Every host MetaClaw may talk to under these settings, and what for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from metaclaw.config.models import Fallback, Llm, Settings

_VENDOR_CLI = "hosts of the {cli} program, which MetaClaw runs"


@dataclass(frozen=True, slots=True)
class Host:
    """A host, and why it is talked to."""

    name: str
    purpose: str


def hosts(settings: Settings, environ: Mapping[str, str]) -> list[Host]:
    """All of them, each once, in the order of importance; nothing else is ever contacted."""
    found: dict[str, list[str]] = {}
    for name, purpose in _all(settings, environ):
        purposes = found.setdefault(name, [])
        if name and purpose not in purposes:
            purposes.append(purpose)
    return [Host(name, ", ".join(purposes)) for name, purposes in found.items() if name]


def host_of(url: str) -> str:
    """`host` or `host:port` of a URL, never its credentials; '' for something else."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        port = parts.port
    except ValueError:
        return ""
    name = parts.hostname or ""
    return f"{name}:{port}" if port and port not in (80, 443) else name


def _all(settings: Settings, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from _upstream(settings.llm, "model calls")
    for fallback in settings.llm.fallbacks:
        yield from _upstream(fallback, "model calls, as fallback")
    if settings.skills.auto_evolve:
        yield host_of(settings.rl.evolver_api_base), "writing skills"
    if settings.mode != "skills_only":
        yield host_of(settings.rl.base_url), "training"
        yield host_of(settings.rl.prm_url), "judging answers"
    if settings.opd.enabled:
        yield host_of(settings.opd.teacher_url), "teacher"
    if settings.memory.enabled:
        yield host_of(settings.memory.sidecar_url), "memory"
    if settings.journal.url.startswith("postgres"):
        yield host_of(settings.journal.url), "journal"
    for variable in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        if environ.get(variable):
            yield host_of(environ[variable]), f"proxy of this machine ({variable})"


def _upstream(llm: Llm | Fallback, purpose: str) -> Iterator[tuple[str, str]]:
    from metaclaw.providers import PROVIDERS, ProviderError, endpoints

    if isinstance(llm, Llm) and llm.auth_method == "oauth_token":
        yield _VENDOR_CLI.format(cli=PROVIDERS[llm.provider].vendor_cli or llm.provider), purpose
        return
    if llm.provider == "bedrock" and not llm.api_base:
        yield "bedrock-runtime.<region>.amazonaws.com", purpose
        return
    try:
        for _, url in endpoints(llm):
            yield host_of(url), purpose
    except ProviderError:
        return
