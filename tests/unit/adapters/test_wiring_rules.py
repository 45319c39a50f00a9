"""What holds for every configuration: undoing is the identity, edits survive, twice is once, a crash is repaired."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw_adapters.json5_text import edit, read
from metaclaw_adapters.values import ABSENT, same, with_value
from tests.unit.adapters.conftest import ENDPOINT, Person, posix
from tests.unit.adapters.json5_texts import configurations, values, written

CRASHED = 99
endpoints = st.builds(
    replace,
    st.just(ENDPOINT),
    model_id=st.sampled_from(["", "gpt-5.4", "org/model"]),
    protocol=st.sampled_from(["", "chat", "messages", "responses"]),
    api_key=st.sampled_from(["", "sk-proxy-key"]),
)


@contextmanager
def someone(data: bytes) -> Iterator[Person]:
    """A person with this configuration and without OpenClaw's program."""
    with tempfile.TemporaryDirectory() as folder:
        person = Person(Path(folder, "home"))
        person.has(data)
        yield person


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_wiring_and_undoing_is_the_identity_and_twice_is_once(data: st.DataObject) -> None:
    text = data.draw(configurations().flatmap(written))
    endpoint = data.draw(endpoints)
    with someone(text) as person:
        outcome = person.wiring.wire(person.adapter, endpoint)
        once = person.config.read_bytes()
        if outcome.done == "manual":
            assert once == text
            return
        assert outcome.done == "wired"
        assert person.wiring.wire(person.adapter, endpoint).done == "unchanged"
        assert person.config.read_bytes() == once
        assert person.wiring.status("openclaw") == "wired"
        assert person.wiring.unwire("openclaw").done == "unwired"
        assert person.config.read_bytes() == text
        assert not person.record.exists()


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_an_edit_elsewhere_survives_undoing_and_nothing_of_ours_does(data: st.DataObject) -> None:
    config = data.draw(configurations())
    text = data.draw(written(config))
    key = data.draw(st.sampled_from(["gateway", "logging", "mine"]))
    value = data.draw(values | st.just(ABSENT))
    with someone(text) as person:
        if person.wiring.wire(person.adapter, ENDPOINT).done == "manual":
            return
        edited = edit(person.config.read_bytes(), [((key,), value)])
        person.config.write_bytes(edited)
        person.wiring.unwire("openclaw")
        left = read(person.config.read_bytes())
        assert same(left, with_value(config, (key,), value))


@posix
@pytest.mark.parametrize("program", [False, True])
@pytest.mark.parametrize("step", range(1, 12))
def test_a_crash_after_any_step_is_repaired_by_undoing(person: Person, sample: bytes, step: int, program: bool) -> None:
    person.has(sample)
    if program:
        person.install()
    code = _crash_at(step, lambda: person.wiring.wire(person.adapter, ENDPOINT))
    assert code in (0, CRASHED)
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample
    assert not person.record.exists()
    assert [path for path in person.config.parent.iterdir() if "tmp" in path.suffix] == []


@posix
@pytest.mark.parametrize("step", range(1, 8))
def test_a_crash_while_undoing_is_repaired_by_undoing_again(person: Person, sample: bytes, step: int) -> None:
    person.has(sample)
    person.wiring.wire(person.adapter, ENDPOINT)
    assert _crash_at(step, lambda: person.wiring.unwire("openclaw")) in (0, CRASHED)
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == sample


@posix
@pytest.mark.parametrize("step", range(1, 12))
def test_wiring_again_after_a_crash_keeps_the_true_original(person: Person, limited: bytes, step: int) -> None:
    person.has(limited)
    _crash_at(step, lambda: person.wiring.wire(person.adapter, ENDPOINT))
    assert person.wiring.wire(person.adapter, ENDPOINT).done in {"wired", "unchanged"}
    assert person.wiring.status("openclaw") == "wired"
    person.wiring.unwire("openclaw")
    assert person.config.read_bytes() == limited


def _crash_at(step: int, act: Callable[[], object]) -> int:
    """Do it in a process that is gone, without any clean-up, once `step` changes have reached the disk."""
    child = os.fork()
    if child == 0:
        left = step
        real = {name: getattr(os, name) for name in ("replace", "unlink", "chmod")}

        def counted(name: str) -> Callable[..., object]:
            def call(*args: object, **options: object) -> object:
                nonlocal left
                made = real[name](*args, **options)
                left -= 1
                if left == 0:
                    os._exit(CRASHED)
                return made

            return call

        for name in real:
            setattr(os, name, counted(name))
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
