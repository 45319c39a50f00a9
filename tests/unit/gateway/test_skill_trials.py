"""Skills under test in real turns: some sessions get them, the others are noted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metaclaw.skills import Document, Library
from metaclaw.skills.lifecycle import Move
from tests.scripted_upstream import ScriptedUpstream
from tests.unit.gateway.conftest import RunningGateway, until

NAME = "zanzibar-export"
OLD, NEW = "Freeze the batch number first.", "Freeze the batch number, then wait a minute."
ASKED = "How do I run the export to the Zanzibar ledger?"


def skill(body: str) -> Document:
    return Document(NAME, "Use for the export to the Zanzibar ledger.", f"# Export\n\n{body}", "automation")


@pytest.fixture
def library(home: Path) -> Library:
    library = Library(home / "skills")
    library.propose(skill(OLD), Move(1.0, NAME, "", "trial", "evolver", "said so"), "Learn")
    return library


def recalled(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream, **evolve: Any
) -> tuple[str, list[Any]]:
    """What the upstream got for the question, and what the journal says was recalled."""
    one = gateway(skills={"evolve": evolve})
    until(lambda: one.services.skills is not None and one.services.skills.ready)
    one.chat([{"role": "user", "content": ASKED}], {"x-session-id": "s"})
    sent = json.loads(upstream.calls()[-1].body)["messages"][-1]["content"]
    items = [item for item in one.turns("s")[0]["recalled"] if item["name"] == NAME]
    return sent, items


def test_a_session_with_the_skill_on_trial_gets_it_and_is_noted_so(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream, library: Library
) -> None:
    sent, items = recalled(gateway, upstream, trial_share=1.0)
    assert OLD in sent and [(item["arm"], item.get("withheld")) for item in items] == [("treated", None)]
    assert items[0]["version"] == library.get(NAME).digest[:12] and items[0]["tokens"] > 0


def test_a_session_without_it_is_noted_as_well(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream, library: Library
) -> None:
    sent, items = recalled(gateway, upstream, trial_share=0.0)
    assert sent == ASKED
    assert [(item["arm"], item["withheld"], item["tokens"]) for item in items] == [("control", True, 0)]


def test_an_amendment_on_trial_is_tried_against_the_version_before_it(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream, library: Library
) -> None:
    library.decide(NAME, Move(2.0, NAME, "", "active", "trial", "helps"))
    library.propose(skill(NEW), Move(3.0, NAME, "", "trial", "evolver", "better"), "Amend")
    sent, items = recalled(gateway, upstream, trial_share=0.0)
    assert OLD in sent and NEW not in sent
    assert [(item["arm"], item.get("withheld")) for item in items] == [("control", None)]
    assert items[0]["version"] == library.get(NAME).digest[:12]


def test_a_proven_skill_keeps_a_small_share_of_sessions_without_it(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream, library: Library
) -> None:
    library.decide(NAME, Move(2.0, NAME, "", "active", "trial", "helps"))
    assert OLD in recalled(gateway, upstream, control_share=0.0)[0]


def test_what_waits_for_a_person_is_not_recalled(
    gateway: Callable[..., RunningGateway], upstream: ScriptedUpstream, home: Path
) -> None:
    library = Library(home / "skills")
    library.propose(skill(OLD), Move(1.0, NAME, "", "proposed", "evolver", "from a page"), "Learn")
    sent, items = recalled(gateway, upstream, trial_share=1.0)
    assert OLD not in sent and items == []
