"""From the configuration to the upstreams: which targets there are, and how each is asked."""

from __future__ import annotations

from metaclaw.config import Settings
from metaclaw.config.models import Fallback, Llm
from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.upstream.base import Upstream, WireName
from metaclaw.gateway.upstream.dispatch import Dispatcher, Target
from metaclaw.gateway.upstream.passthrough import Connections, Endpoint, Passthrough
from metaclaw.providers import (
    ProviderError,
    auth_headers,
    body_defaults,
    endpoints,
    extra_headers,
    missing,
    provider_of,
)

_CONVERSATIONS: tuple[WireName, ...] = ("chat", "messages", "responses")


def build_dispatcher(settings: Settings, connections: Connections, metrics: Metrics) -> Dispatcher:
    """The dispatcher for a configuration. What is missing is said when a call comes, so that the gateway can start."""
    llm = settings.llm
    problem = missing(llm)
    targets: list[Target] = []
    if not problem:
        try:
            everyone: list[Llm | Fallback] = [llm, *llm.fallbacks]
            targets = [_target(one, settings, connections) for one in everyone]
        except ProviderError as error:
            problem = str(error)
    return Dispatcher(targets, metrics, retries=llm.retries, missing=problem)


def _target(llm: Llm | Fallback, settings: Settings, connections: Connections) -> Target:
    passed_through = isinstance(llm, Llm) and llm.auth_method == "passthrough"
    return Target(
        name=llm.provider,
        upstreams=_upstreams(llm, settings, connections),
        model_id="" if passed_through else llm.model_id,
        drop_fields=tuple(getattr(llm, "drop_fields", ())),
        defaults=body_defaults(llm, settings.openrouter),
    )


def _upstreams(llm: Llm | Fallback, settings: Settings, connections: Connections) -> list[Upstream]:
    """The provider's own protocols first, then ours translated into them."""
    from metaclaw.gateway.upstream.translated import Translated

    idle = settings.llm.idle_timeout_seconds
    direct: Upstream
    if isinstance(llm, Llm) and llm.auth_method == "oauth_token":
        from metaclaw.gateway.upstream.vendor_cli import VendorCli

        direct = VendorCli(llm.provider, llm, idle_timeout=idle)
    else:
        passthrough = _passthrough(llm, settings, connections)
        if passthrough is None:
            from metaclaw.gateway.upstream.routed import Routed

            direct = Routed(llm.provider, llm, idle_timeout=idle)
        else:
            direct = passthrough
    spoken = [wire for wire in _CONVERSATIONS if direct.speaks(wire)]
    return [direct, Translated(direct, spoken[0])] if spoken else [direct]


def _passthrough(llm: Llm | Fallback, settings: Settings, connections: Connections) -> Passthrough | None:
    passed_through = isinstance(llm, Llm) and llm.auth_method == "passthrough"
    urls = endpoints(llm)
    if not urls:
        return None
    table = {
        wire: Endpoint(
            url,
            None if passed_through else auth_headers(llm, wire),
            extra_headers(llm, wire, settings.openrouter),
        )
        for wire, url in urls
    }
    return Passthrough(provider_of(llm).name, table, connections)
