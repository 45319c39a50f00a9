"""What the doctor concludes from facts."""

from __future__ import annotations

from typing import Any

import pytest

from metaclaw.config.models import Llm, Settings
from metaclaw.supervisor import Absent, Holder, Run, Running, Silent
from metaclaw.supervisor import checks as judge
from metaclaw.supervisor.checks import Check
from metaclaw.supervisor.checks_upstream import Probe, VendorProgram, check_upstream

RUN = Run(pid=7, host="127.0.0.1", port=30000, token="t", version="0.1.0")


def states(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.state for check in checks}


def llm(**values: Any) -> Llm:
    return Llm.model_validate({"provider": "kimi", "api_key": "sk-x", **values})


@pytest.mark.parametrize(
    ("found", "state", "remedy"),
    [
        (Running(RUN, {}), "ok", ""),
        (Absent(), "warning", "metaclaw start"),
        (Absent(stale=True), "warning", "metaclaw start"),
        (Silent(7, RUN), "failed", "metaclaw stop --force"),
    ],
)
def test_the_gateway(found: Any, state: str, remedy: str) -> None:
    check = judge.check_gateway(found, "0.1.0")
    assert (check.state, check.remedy) == (state, remedy)


def test_an_older_gateway_that_still_runs_is_pointed_out() -> None:
    assert judge.check_gateway(Running(RUN, {}), "0.2.0").remedy == "metaclaw restart"


def test_a_configuration_that_cannot_be_read_says_where() -> None:
    check = judge.check_config("/c.yaml", True, "/c.yaml:2:1: proxy.prot: unknown key", ())
    assert check.state == "failed"
    assert "/c.yaml:2:1" in check.detail


@pytest.mark.parametrize(
    ("mode", "writable", "state"),
    [(0o700, True, "ok"), (None, True, "ok"), (0o755, True, "failed"), (0o700, False, "failed")],
)
def test_the_state_folder_is_private_and_writable(mode: int | None, writable: bool, state: str) -> None:
    assert judge.check_state_folder("/state", mode, writable).state == state


def test_a_taken_port_names_its_holder() -> None:
    check = judge.check_port(30000, False, Holder(9, "nginx"), False)
    assert check.state == "failed"
    assert "nginx (pid 9)" in check.detail
    assert judge.check_port(30000, False, None, True).state == "ok"


@pytest.mark.parametrize(("free", "state"), [(10 << 30, "ok"), (500 << 20, "warning"), (10 << 20, "failed")])
def test_room_on_the_disk(free: int, state: str) -> None:
    assert judge.check_disk("/state", free).state == state


def test_a_key_in_a_file_others_can_read_is_a_failure_and_in_a_private_one_a_warning() -> None:
    origins = {"llm.api_key": "file", "proxy.api_key": "keyring"}
    names = ["llm.api_key", "proxy.api_key"]
    assert judge.check_secrets(origins, names, 0o644).state == "failed"
    assert judge.check_secrets(origins, names, 0o600).state == "warning"
    assert judge.check_secrets({"llm.api_key": "keyring"}, names, 0o644).detail == "keyring"


def test_an_upstream_that_accepts_the_key() -> None:
    probe = Probe("api.moonshot.cn", 200, latency_ms=42, skew_seconds=1, models=("kimi-k2.5",))
    found = check_upstream(llm(model_id="kimi-k2.5"), probe)
    assert states(found) == {"upstream": "ok", "key": "ok", "clock": "ok"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key(status: int) -> None:
    key = check_upstream(llm(), Probe("api.moonshot.cn", status))[1]
    assert (key.name, key.state) == ("key", "failed")
    assert key.remedy == "metaclaw config set llm.api_key -"


def test_an_open_model_list_proves_nothing_about_the_key() -> None:
    key = check_upstream(llm(provider="openrouter"), Probe("openrouter.ai", 200, models=("a",)))[1]
    assert (key.state, key.remedy) == ("off", "metaclaw doctor --call")


def test_an_upstream_that_cannot_be_reached_ends_the_questions() -> None:
    found = check_upstream(llm(), Probe("api.moonshot.cn", error="Name or service not known"))
    assert states(found) == {"upstream": "failed"}
    assert "HTTPS_PROXY" in found[0].remedy


def test_a_model_name_that_is_not_in_the_list_gets_the_nearest_one() -> None:
    probe = Probe("api.moonshot.cn", 200, models=("kimi-k2.5", "moonshot-v1"))
    check = next(c for c in check_upstream(llm(model_id="kimi-k25"), probe) if c.name == "model name")
    assert "did you mean kimi-k2.5?" in check.detail


@pytest.mark.parametrize(("skew", "state"), [(-3.0, "ok"), (600.0, "warning"), (-600.0, "warning")])
def test_the_clock_against_the_upstreams(skew: float, state: str) -> None:
    assert states(check_upstream(llm(), Probe("h", 200, skew_seconds=skew)))["clock"] == state


def test_a_subscription_program_must_be_on_the_path() -> None:
    assert check_upstream(llm(), VendorProgram("claude", "/usr/bin/claude"))[0].state == "ok"
    assert check_upstream(llm(), VendorProgram("claude", ""))[0].state == "failed"


def test_every_failure_and_warning_says_what_to_do() -> None:
    found = [
        judge.check_config("/c", False, "", ()),
        judge.check_gateway(Absent(), "1"),
        judge.check_disk("/", 1),
        judge.check_exposure(Settings()),
        judge.check_port(1, False, None, False),
        judge.check_journal("", "broken"),
        judge.check_versions("1", (3, 9, 0), "Linux"),
        *judge.check_skills(3, ["/skills/x: no name"], "", "hybrid"),
        *check_upstream(llm(model_id="x"), Probe("h", 401, skew_seconds=999, models=("y",))),
    ]
    assert [check.name for check in found if check.state in ("failed", "warning") and not check.remedy] == []


def test_memory_is_judged_by_what_its_service_says() -> None:
    healthy = {"memories": 3, "extraction": "model", "problems": []}
    whole = {"dense": True, "documents": 9, "missing": 0}
    assert judge.check_memory(False, None, {}, "").state == "off"
    assert judge.check_memory(True, None, {}, "").remedy == "metaclaw start"
    assert judge.check_memory(True, None, {}, "it can't be reached").state == "failed"
    assert judge.check_memory(True, healthy, whole, "").state == "ok"
    torn = judge.check_memory(True, healthy, {**whole, "missing": 4}, "")
    assert torn.state == "warning" and "4 of 9" in torn.detail and "reindex" in torn.remedy
    told = judge.check_memory(True, {**healthy, "problems": ["no embedding model"]}, {"dense": False}, "")
    assert told.state == "warning" and "no embedding model" in told.detail
