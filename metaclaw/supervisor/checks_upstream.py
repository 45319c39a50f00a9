"""What the doctor concludes from one question to the upstream: reachable, key, model, clock."""

from __future__ import annotations

from dataclasses import dataclass

from metaclaw.config.models import Llm
from metaclaw.supervisor.checks import Check

_CLOCK_SLACK = 120.0  # seconds; signed requests and tokens are refused beyond a few minutes
# Their model lists are open to everybody, so a list proves nothing about the key.
_OPEN_LISTS = frozenset({"openrouter", "novita"})


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of asking the upstream for its models: a status, or why there was none."""

    host: str
    status: int = 0
    error: str = ""
    latency_ms: float = 0.0
    skew_seconds: float | None = None  # this machine's clock minus the upstream's
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VendorProgram:
    """The program that answers for a subscription, and where it was found."""

    name: str
    path: str


def check_upstream(llm: Llm, probe: Probe | VendorProgram | None) -> list[Check]:
    """All that can be said about the upstream."""
    if probe is None:
        return [Check("upstream", "off", "no upstream to ask")]
    if isinstance(probe, VendorProgram):
        return [_program(probe)]
    checks = [_reachable(probe)]
    if probe.status:
        checks += [_key(llm, probe), *_model(llm, probe)]
    if probe.skew_seconds is not None:
        checks.append(_clock(probe.skew_seconds))
    return checks


def _reachable(probe: Probe) -> Check:
    if not probe.status:
        remedy = "check the network, a proxy (HTTPS_PROXY), and llm.api_base"
        return Check("upstream", "failed", f"{probe.host}: {probe.error}", remedy)
    if probe.status >= 500:
        return Check("upstream", "warning", f"{probe.host} answers {probe.status}", "try again later")
    return Check("upstream", "ok", f"{probe.host} answers in {probe.latency_ms:.0f} ms")


def _key(llm: Llm, probe: Probe) -> Check:
    if llm.auth_method == "passthrough":
        return Check("key", "ok", "the client's own goes upstream")
    if probe.status in (401, 403):
        return Check(
            "key", "failed", f"{probe.host} refuses the key ({probe.status})", "metaclaw config set llm.api_key -"
        )
    if not llm.api_key.get_secret_value():
        return Check("key", "off", f"{llm.provider} needs none")
    if probe.status == 200 and llm.provider not in _OPEN_LISTS:
        return Check("key", "ok", "accepted")
    return Check("key", "off", "not tested: the model list does not tell", "metaclaw doctor --call")


def _model(llm: Llm, probe: Probe) -> list[Check]:
    if not llm.model_id or not probe.models or llm.model_id in probe.models:
        return []
    import difflib

    near = difflib.get_close_matches(llm.model_id, probe.models, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    detail = f"{llm.model_id} is not in the upstream's list of {len(probe.models)}{hint}"
    return [Check("model name", "warning", detail, "metaclaw config set llm.model_id NAME")]


def _clock(skew: float) -> Check:
    if abs(skew) <= _CLOCK_SLACK:
        return Check("clock", "ok", f"within {max(1.0, abs(skew)):.0f} s of the upstream's")
    word = "ahead of" if skew > 0 else "behind"
    return Check("clock", "warning", f"{abs(skew):.0f} s {word} the upstream's", "set this machine's clock")


def _program(found: VendorProgram) -> Check:
    if found.path:
        return Check("upstream", "ok", f"the {found.name} program at {found.path} answers")
    return Check("upstream", "failed", f"the {found.name} program is not on the PATH", f"install {found.name}")
