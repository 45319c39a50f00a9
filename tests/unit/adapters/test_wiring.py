"""Wiring writes what it planned, proves it, and gives every byte back."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from metaclaw_adapters import Refused, Unreadable
from metaclaw_adapters.json5_text import read
from metaclaw_adapters.values import get
from tests.unit.adapters.conftest import ENDPOINT, Person, posix

PRIMARY = ("agents", "defaults", "model", "primary")
BLOCK = ("models", "providers", "metaclaw")


def test_wired_from_the_file_alone_and_given_back_byte_for_byte(person: Person, sample: bytes) -> None:
    person.has(sample)
    outcome = person.wiring.wire(person.adapter, ENDPOINT)
    assert outcome.done == "wired"
    config = read(person.config.read_bytes())
    assert get(config, PRIMARY) == "metaclaw/gpt-5.4"
    assert get(config, (*BLOCK, "baseUrl")) == "http://127.0.0.1:30000/v1"
    assert b"hand comments are legal JSON5" in person.config.read_bytes()
    assert person.wiring.status("openclaw") == "wired"
    assert person.wiring.unwire("openclaw").done == "unwired"
    assert person.config.read_bytes() == sample
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o644
    assert [path.name for path in person.record.parent.iterdir()] == ["lock"]


@posix
def test_the_claws_own_writer_is_used_when_it_is_there_and_no_secret_stands_on_its_command_line(
    person: Person, sample: bytes
) -> None:
    person.has(sample)
    person.install()
    outcome = person.wiring.wire(person.adapter, replace(ENDPOINT, api_key="sk-proxy-key"))
    assert outcome.done == "wired"
    assert any('["config", "patch", "--stdin"]' in call for call in person.calls())
    assert "sk-proxy-key" not in "".join(person.calls()) + repr(outcome)
    assert get(read(person.config.read_bytes()), (*BLOCK, "apiKey")) == "sk-proxy-key"
    assert person.wiring.unwire("openclaw").done == "unwired"
    assert person.config.read_bytes() == sample
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o644


def test_a_second_wiring_changes_nothing_and_runs_no_writer(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    before, record = person.config.stat(), person.record.read_bytes()
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "unchanged"
    assert person.config.stat() == before
    assert person.record.read_bytes() == record


def test_a_dry_run_shows_the_difference_without_secrets_and_writes_nothing(person: Person, sample: bytes) -> None:
    person.has(sample)
    outcome = person.wiring.wire(person.adapter, replace(ENDPOINT, api_key="sk-proxy-key"), dry_run=True)
    assert outcome.done == "planned"
    assert 'agents.defaults.model.primary: "openai/gpt-5.4" → "metaclaw/gpt-5.4"' in outcome.diff
    assert "sk-proxy-key" not in repr(outcome)
    assert person.config.read_bytes() == sample
    assert not person.record.exists()
    assert person.wiring.diff(person.adapter, ENDPOINT) != ()


def test_another_endpoint_is_taken_over_and_the_first_original_is_kept(person: Person, limited: bytes) -> None:
    person.has(limited)
    person.wiring.wire(person.adapter, ENDPOINT)
    moved = replace(ENDPOINT, base_url="http://127.0.0.1:31000", model_id="other")
    assert person.wiring.wire(person.adapter, moved).done == "wired"
    config = read(person.config.read_bytes())
    assert get(config, (*BLOCK, "baseUrl")) == "http://127.0.0.1:31000/v1"
    assert get(config, ("agents", "defaults", "modelPolicy", "allow"))[-2:] == ["openai/gpt-5.4", "metaclaw/other"]
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == limited


def test_an_edit_between_two_wirings_survives_undoing(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace("18789", "18790")
    person.wiring.wire(person.adapter, replace(ENDPOINT, base_url="http://127.0.0.1:31000"))
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample.replace(b"18789", b"18790")


@posix
def test_comments_come_back_with_the_users_later_edits_though_the_writer_dropped_them(
    person: Person, sample: bytes
) -> None:
    person.has(sample)
    person.install()
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace("18789", "18790")
    person.wiring.unwire("openclaw")
    left = person.config.read_bytes()
    assert b"hand comments are legal JSON5" in left
    assert get(read(left), ("gateway", "port")) == 18790
    assert get(read(left), PRIMARY) == "openai/gpt-5.4"
    assert get(read(left), ("agents", "defaults", "modelPolicy", "allow")) == ["openai/gpt-5.4"]
    assert b"metaclaw" not in left


def test_a_model_chosen_by_hand_since_is_reported_not_fought(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace("metaclaw/gpt-5.4", "openai/gpt-6")
    edited = person.config.read_bytes()
    assert person.wiring.status("openclaw") == "drifted"
    outcome = person.wiring.wire(person.adapter, ENDPOINT)
    assert outcome.done == "drifted"
    assert "agents.defaults.model.primary" in outcome.notes[0]
    assert person.config.read_bytes() == edited
    assert person.wiring.wire(person.adapter, ENDPOINT, again=True).done == "wired"
    assert get(read(person.config.read_bytes()), PRIMARY) == "metaclaw/gpt-6"
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample.replace(b'primary": "openai/gpt-5.4"', b'primary": "openai/gpt-6"')


def test_undoing_leaves_a_model_chosen_by_hand_and_takes_the_rest_out(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace("metaclaw/gpt-5.4", "openai/gpt-6")
    outcome = person.wiring.unwire("openclaw")
    assert any("stays as it is" in note for note in outcome.notes)
    config = read(person.config.read_bytes())
    assert get(config, PRIMARY) == "openai/gpt-6"
    assert not get(config, BLOCK)


def test_references_to_our_model_that_the_user_added_are_named_when_it_goes(person: Person, limited: bytes) -> None:
    person.has(limited)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace('"primary": "openai/gpt-5.4"', '"primary": "metaclaw/claude-sonnet-4-6"')
    notes = person.wiring.unwire("openclaw").notes
    assert any(note.startswith("agents.entries.ops.model.primary still names metaclaw/") for note in notes)


def test_an_allow_list_never_becomes_empty_by_undoing(person: Person, limited: bytes) -> None:
    person.has(limited)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace('"anthropic/*", "openai/gpt-5.4", ', "")
    outcome = person.wiring.unwire("openclaw")
    allow = get(read(person.config.read_bytes()), ("agents", "defaults", "modelPolicy", "allow"))
    assert allow == ["metaclaw/claude-sonnet-4-6"]
    assert any("sets no limit" in note for note in outcome.notes)


def test_our_own_values_are_never_recorded_as_the_original(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.record.unlink()  # the state folder was lost
    outcome = person.wiring.wire(person.adapter, replace(ENDPOINT, base_url="http://127.0.0.1:31000"))
    assert outcome.done == "wired"
    person.wiring.unwire("openclaw")
    assert b"metaclaw" not in person.config.read_bytes()


def test_what_was_pasted_by_hand_is_left_to_the_hand(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.record.unlink()
    pasted = person.config.read_bytes()
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "unchanged"
    assert person.wiring.unwire("openclaw").done == "not_wired"
    assert person.config.read_bytes() == pasted


def test_what_the_user_tuned_inside_our_provider_is_left_alone(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.replace('"maxTokens": 8192', '"maxTokens": 4096')
    tuned = person.config.read_bytes()
    assert person.wiring.status("openclaw") == "wired"
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "unchanged"
    assert person.config.read_bytes() == tuned
    outcome = person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample
    assert any("had been edited" in note for note in outcome.notes)


@posix
@pytest.mark.parametrize("behaviour", ['sys.exit("Unrecognized key: headers")', "sys.exit(0)"])
def test_a_writer_that_refuses_leaves_everything_as_it_was(person: Person, sample: bytes, behaviour: str) -> None:
    person.has(sample)
    person.install(behaviour)
    with pytest.raises(Refused, match=r"Unrecognized key: headers|does not hold the change"):
        person.wiring.wire(person.adapter, ENDPOINT)
    assert person.config.read_bytes() == sample
    assert not person.record.exists()


@posix
def test_a_validator_that_objects_afterwards_has_everything_put_back(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.install()
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "wired"
    wired, record = person.config.read_bytes(), person.record.read_bytes()
    program = person.home / "bin" / "openclaw"
    program.write_text(
        program.read_text().replace('elif what == "config get":', 'elif what == "config get":\n    1 / 0')
    )
    with pytest.raises(Refused, match=r"does not read agents\.defaults\.model\.primary as written"):
        person.wiring.wire(person.adapter, replace(ENDPOINT, base_url="http://127.0.0.1:31000"))
    assert person.config.read_bytes() == wired
    assert person.record.read_bytes() == record
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample


@posix
def test_a_writer_that_dies_half_way_is_reported_with_the_place_of_the_copy(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.install("config.write_text('{'); sys.exit('killed')")
    with pytest.raises(Refused, match=r"killed; .* is not as it was before") as failure:
        person.wiring.wire(person.adapter, ENDPOINT)
    copy = Path(str(failure.value).rpartition("its copy: ")[2])
    assert copy.read_bytes() == sample


@posix
def test_a_program_that_does_not_run_is_passed_by(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.install()
    (person.home / "bin" / "openclaw").write_text("#!/bin/sh\necho 'Node 20 is too old' >&2\nexit 1\n")
    outcome = person.wiring.wire(person.adapter, ENDPOINT)
    assert outcome.done == "wired"
    assert any("Node 20 is too old" in note for note in outcome.notes)
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample


@posix
def test_a_file_that_holds_the_gateways_key_is_not_readable_by_others(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, replace(ENDPOINT, api_key="sk-proxy-key"))
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o600
    person.wiring.unwire("openclaw")
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o644
    person.wiring.wire(person.adapter, ENDPOINT)
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o644


@posix
def test_a_configuration_that_was_not_there_is_gone_again(person: Person) -> None:
    person.install()
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "wired"
    assert person.wiring.unwire("openclaw").done == "unwired"
    assert not person.config.exists()


def test_without_openclaw_there_is_nothing_to_wire(person: Person) -> None:
    assert person.wiring.wire(person.adapter, ENDPOINT).done == "absent"
    assert person.wiring.unwire("openclaw").done == "not_wired"


def test_a_broken_record_stops_everything_and_says_so(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    wired = person.config.read_bytes()
    person.record.write_text(json.dumps({"version": 99}))
    with pytest.raises(Unreadable, match="another version"):
        person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == wired


def test_a_configuration_broken_since_is_left_alone_and_the_copy_is_named(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    wired = person.config.read_bytes()
    person.config.write_text("{ agents: ")
    with pytest.raises(Unreadable, match="put back ") as failure:
        person.wiring.unwire("openclaw")
    assert Path(str(failure.value).rpartition("put back ")[2]).read_bytes() == sample
    assert person.config.read_text() == "{ agents: "
    person.config.write_bytes(wired)
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample


def test_a_claw_that_was_removed_is_nothing_to_undo(person: Person, sample: bytes) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    person.config.unlink()
    assert person.wiring.status("openclaw") == "absent"
    assert person.wiring.unwire("openclaw").done == "not_wired"
