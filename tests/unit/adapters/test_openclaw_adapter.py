"""OpenClaw is found where OpenClaw finds itself, planned for as it is set up, and left alone where it must be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metaclaw_adapters import ChangeSet, Endpoint, Installation, adapters
from metaclaw_adapters.decisions import apply_all
from metaclaw_adapters.json5_text import read
from metaclaw_adapters.openclaw_config import config_path
from metaclaw_adapters.values import Json, get
from tests.unit.adapters.conftest import ENDPOINT, Person, posix

BLOCK = ("models", "providers", "metaclaw")
ALLOW = ("agents", "defaults", "modelPolicy", "allow")


def found(person: Person) -> Installation:
    installation = person.adapter.detect()
    assert installation is not None
    return installation


def planned(person: Person, endpoint: Endpoint = ENDPOINT) -> ChangeSet:
    return person.adapter.plan(found(person), endpoint)


def after(person: Person, endpoint: Endpoint = ENDPOINT) -> Json:
    """The configuration as the plan would leave it."""
    (change,) = planned(person, endpoint).files
    return apply_all(change.document.value, change.edits)


def model(config: Json) -> dict[str, Any]:
    (only,) = get(config, (*BLOCK, "models"))
    return dict(only)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "h/.openclaw/openclaw.json"),
        ({"OPENCLAW_STATE_DIR": "~/state"}, "h/state/openclaw.json"),
        ({"OPENCLAW_HOME": "~/o"}, "h/o/.openclaw/openclaw.json"),
        ({"OPENCLAW_CONFIG_PATH": "~/mine.json5", "OPENCLAW_STATE_DIR": "~/state"}, "h/mine.json5"),
        ({"OPENCLAW_HOME": "undefined"}, "h/.openclaw/openclaw.json"),
    ],
)
def test_the_configuration_is_where_openclaw_looks_for_it(
    tmp_path: Path, environ: dict[str, str], expected: str
) -> None:
    _, path = config_path({"HOME": str(tmp_path / "h"), **environ}, Path("/nowhere"))
    assert path == tmp_path / expected


def test_an_old_configuration_is_found_when_there_is_no_new_one(tmp_path: Path) -> None:
    old = tmp_path / ".clawdbot" / "clawdbot.json"
    old.parent.mkdir()
    old.write_text("{}")
    assert config_path({"HOME": str(tmp_path)}, Path("/nowhere")) == (old.parent, old)


def test_windows_homes_are_used_when_there_is_no_home_variable(tmp_path: Path) -> None:
    _, path = config_path({"USERPROFILE": str(tmp_path)}, Path("/nowhere"))
    assert path == tmp_path / ".openclaw" / "openclaw.json"


@posix
def test_the_version_comes_from_the_program_or_else_from_the_file(person: Person) -> None:
    assert person.adapter.detect() is None
    person.has('{"meta": {"lastTouchedVersion": "2026.8.3"}}')
    assert (found(person).version, found(person).program) == ("2026.8.3", None)
    person.install()
    assert found(person).version == "2026.9.6"


@pytest.mark.parametrize(
    ("protocol", "api", "base"),
    [
        ("chat", "openai-completions", "http://127.0.0.1:30000/v1"),
        ("messages", "anthropic-messages", "http://127.0.0.1:30000"),
        ("responses", "openai-responses", "http://127.0.0.1:30000/v1"),
    ],
)
def test_each_wire_protocol_has_its_api_and_its_base_url(person: Person, protocol: Any, api: str, base: str) -> None:
    person.has("{}")
    block = get(after(person, replace(ENDPOINT, protocol=protocol)), BLOCK)
    assert (block["api"], block["baseUrl"]) == (api, base)
    assert block["headers"] == {"X-Metaclaw-Client": "openclaw"}
    assert block["apiKey"] == "metaclaw-local"


def test_the_protocol_in_use_is_kept_when_none_is_asked_for(person: Person, sample: bytes, limited: bytes) -> None:
    as_is = replace(ENDPOINT, protocol="")
    person.has(limited)
    assert get(after(person, as_is), (*BLOCK, "api")) == "anthropic-messages"
    person.has(sample.replace(b"openai/gpt-5.4", b"example-gateway/example-large"))
    assert get(after(person, as_is), (*BLOCK, "api")) == "openai-completions"


def test_conversations_can_be_told_apart_by_what_openclaw_sends(person: Person) -> None:
    person.has("{}")
    flags = {"sendSessionAffinityHeaders": True, "supportsPromptCacheKey": True}
    assert model(after(person))["compat"] == flags


def test_the_model_keeps_its_identity_and_what_the_user_declared_of_it(person: Person, sample: bytes) -> None:
    declared = b'"id": "example-large", "reasoning": true, "compat": { "supportsStore": false },'
    text = sample.replace(b'"id": "example-large",', declared)
    person.has(text.replace(b"openai/gpt-5.4", b"example-gateway/example-large"))
    made = model(after(person, Endpoint("http://127.0.0.1:30000")))
    assert (made["id"], made["name"]) == ("example-large", "Example Large")
    assert (made["contextWindow"], made["maxTokens"], made["input"]) == (200_000, 16_384, ["text"])
    assert made["reasoning"] is True
    assert made["compat"]["supportsStore"] is False
    made = model(after(person, Endpoint("http://127.0.0.1:30000", context_window=64_000)))
    assert made["contextWindow"] == 64_000
    made = model(after(person, Endpoint("http://127.0.0.1:30000", context_window=1_000_000)))
    assert made["contextWindow"] == 200_000


def test_an_alias_is_resolved_to_the_model_it_stands_for(person: Person) -> None:
    person.has('{agents: {defaults: {model: "sonnet", models: {"anthropic/claude-sonnet-4-6": {alias: "sonnet"}}}}}')
    assert get(after(person), ("agents", "defaults", "model")) == "metaclaw/claude-sonnet-4-6"


def test_a_model_from_the_environment_is_not_taken_for_a_name(person: Person) -> None:
    person.has('{agents: {defaults: {model: {primary: "${MODEL}"}}}}')
    assert get(after(person), ("agents", "defaults", "model", "primary")) == "metaclaw/metaclaw"


def test_our_model_joins_an_allow_list_that_limits_and_no_other(person: Person, limited: bytes) -> None:
    person.has(limited)
    assert get(after(person), ALLOW) == ["anthropic/*", "openai/gpt-5.4", "metaclaw/claude-sonnet-4-6"]
    for allowed in ("[]", '["metaclaw/*"]'):
        person.has(f"{{agents: {{defaults: {{modelPolicy: {{allow: {allowed}}}}}}}}}")
        assert get(after(person), ALLOW) == json.loads(allowed)


@posix
def test_the_list_that_openclaw_makes_of_an_old_model_map_gets_our_model_too(person: Person, sample: bytes) -> None:
    person.has(sample)
    assert not get(after(person), ALLOW), "an older OpenClaw would not know the key, and nobody is there to say so"
    person.install()
    assert get(after(person), ALLOW) == ["openai/gpt-5.4", "metaclaw/gpt-5.4"]


def test_security_settings_plugins_and_other_providers_are_not_touched(person: Person, sample: bytes) -> None:
    person.has(sample)
    (change,) = planned(person).files
    assert {edit.keys for edit in change.edits} <= {BLOCK, ("agents", "defaults", "model", "primary"), ALLOW}


def test_what_passes_the_gateway_by_is_found(person: Person, limited: bytes) -> None:
    person.has(limited)
    told = {(one.kind, one.where) for one in person.adapter.findings(found(person), ENDPOINT)}
    assert ("bypass", "agents.defaults.model.fallbacks") in told
    assert ("bypass", "agents.entries.ops.model") in told


def test_limits_and_settings_of_agents_are_found(person: Person) -> None:
    config = {
        "agents": {
            "defaults": {"model": "openai/gpt-5.4", "models": {"openai/gpt-5.4": {"params": {"temperature": 0}}}},
            "entries": {"ops": {"modelPolicy": {"allow": ["openai/*"]}, "subagents": {"model": {"primary": "a/b"}}}},
        },
        "channels": {"modelByChannel": {"discord": {"1": "openai/gpt-5.4"}}},
        "hooks": {"mappings": [{"model": "metaclaw/gpt-5.4"}]},
    }
    person.has(json.dumps(config))
    told = {(one.kind, one.where) for one in person.adapter.findings(found(person), ENDPOINT)}
    assert told == {
        ("bypass", "agents.entries.ops.subagents.model"),
        ("bypass", 'channels.modelByChannel.discord["1"]'),
        ("limit", "agents.entries.ops.modelPolicy.allow"),
        ("note", "agents.defaults.models"),
    }


@pytest.mark.parametrize("name", ["OPENCLAW_CONFIG_READONLY", "OPENCLAW_NIX_MODE"])
def test_a_configuration_managed_from_outside_is_not_written(person: Person, sample: bytes, name: str) -> None:
    person.has(sample)
    person.environ[name] = "1"
    outcome = person.wiring.wire(person.adapter, ENDPOINT)
    assert outcome.done == "manual"
    assert name in outcome.notes[0]
    assert read(_pasted(outcome.snippet)) == {
        "models": {"providers": {"metaclaw": get(after(person), BLOCK)}},
        "agents": {"defaults": {"model": {"primary": "metaclaw/gpt-5.4"}}},
    }
    assert person.config.read_bytes() == sample


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"$include": "./base.json5"}', "its top level"),
        ('{agents: {"$include": "./agents.json5"}}', "agents"),
        ('{models: {providers: {"$include": "./p.json5"}}}', "models.providers"),
        ("[]", "does not hold an object"),
        ("{agents: ", "left alone"),
    ],
)
def test_what_can_not_be_changed_safely_is_left_alone_with_a_reason(person: Person, text: str, reason: str) -> None:
    before = person.has(text)
    outcome = person.wiring.wire(person.adapter, ENDPOINT)
    assert outcome.done == "manual"
    assert reason in outcome.notes[0]
    assert outcome.snippet
    assert person.config.read_bytes() == before


@posix
def test_a_link_inside_the_folder_stays_a_link_and_one_out_of_it_is_refused(person: Person, sample: bytes) -> None:
    real = person.config.with_name("real.json")
    real.write_bytes(sample)
    person.config.symlink_to("real.json")
    person.install()
    outcome = person.wiring.wire(person.adapter, ENDPOINT)
    assert outcome.done == "wired"
    assert any("is a link" in one.text for one in outcome.findings)
    assert person.config.is_symlink()
    assert not any("patch" in call for call in person.calls())
    person.wiring.unwire("openclaw")
    assert person.config.is_symlink()
    assert real.read_bytes() == sample
    outside = person.home / "dotfiles.json"
    outside.write_bytes(sample)
    person.config.unlink()
    person.config.symlink_to(outside)
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "manual"
    assert outside.read_bytes() == sample


def test_a_key_is_named_in_the_snippet_and_not_shown(person: Person) -> None:
    text = person.adapter.snippet(None, replace(ENDPOINT, api_key="sk-proxy-key"))
    assert "sk-proxy-key" not in text
    assert "proxy.api_key" in text


@posix
def test_a_message_goes_to_the_default_agent_and_stays_local_without_a_gateway(person: Person) -> None:
    person.has('{agents: {entries: {ops: {}, home: {default: true}}}, gateway: {port: 1, reload: {mode: "off"}}}')
    person.install()
    command = person.adapter.headless_turn(found(person), "hello")
    assert command is not None
    assert command.argv[1:4] == ("agent", "--agent", "home")
    assert command.argv[-1] == "--local"
    running = replace(found(person), running=True)
    restart = person.adapter.reload(running)
    assert restart is not None
    assert restart.argv[1:] == ("gateway", "restart", "--safe")
    assert person.adapter.reload(found(person)) is None


def test_openclaw_is_among_the_known_agents() -> None:
    assert adapters()["openclaw"].title == "OpenClaw"


def _pasted(snippet: str) -> bytes:
    return snippet[snippet.index("{") : snippet.rindex("}") + 1].encode()
