"""The buffer and its jobs, with a model that is a small program."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from metaclaw_sidecar.service import Said, Service

from .conftest import opened

# Answers with one fact for each turn; a turn that says `fail` makes it answer with prose.
MODEL = r"""
import json, re, sys
asked = json.load(sys.stdin)
text = asked["messages"][-1]["content"]
turns = [json.loads(line) for line in text.rpartition("Turns:\n")[2].splitlines()]
if any("fail" in turn["user"] for turn in turns):
    print(json.dumps({"text": "I would rather not.", "usage": {}}))
    sys.exit()
facts = [
    {"turn": turn["turn"], "said_by": "user", "quote": turn["user"], "kind": "semantic", "subject": "user",
     "content": "The user said: " + turn["user"], "change": "new", "known": None}
    for turn in turns
]
answer = {"facts": facts, "summary": "They spoke of %d things." % len(facts)}
print(json.dumps({"text": json.dumps(answer), "usage": {"prompt": 10, "completion": 5}}))
"""


def model(folder: Path) -> str:
    """A settings file that names the program."""
    program, settings = folder / "model.py", folder / "llm.json"
    program.write_text(MODEL, encoding="utf-8")
    settings.write_text(json.dumps({"command": [sys.executable, str(program)]}), encoding="utf-8")
    settings.chmod(0o600)
    return str(settings)


async def test_turns_become_facts_and_a_summary_with_their_sources(tmp_path: Path) -> None:
    async with opened(tmp_path, llm_file=model(tmp_path), flush_every="2") as service:
        for text in ("I moved to Lyon", "I work at a bakery"):
            last = await service.intake.buffer_turn("ann", "s1", Said(text, "I see."))
        assert last.flushed
        flushed = await service.intake.flush_session("ann", "s1", final=True, wait=30)
        assert (flushed.state, flushed.added) in (("done", 2), ("nothing", 0))
        page, _ = await service.curation.page(
            "ann", memory_type="semantic", status="active", tag="", pinned=None, session_id="s1", limit=10, offset=0
        )
        assert {one["content"] for one in page} == {
            "The user said: I moved to Lyon",
            "The user said: I work at a bakery",
        }
        history = await service.curation.history("ann", page[0]["memory_id"])
        assert history["sources"][0]["prompt_text"] in page[0]["content"]
        counted = await service.statistics("ann")
        assert counted["active_by_type"] == {"semantic": 2, "working_summary": 1}
        assert counted["extraction"] == {"calls": 1, "tokens": 15, "failed": 0}


async def test_a_scope_whose_model_fails_keeps_no_other_scope_waiting(tmp_path: Path) -> None:
    async with opened(tmp_path, llm_file=model(tmp_path)) as service:
        await service.intake.buffer_turn("ann", "s1", Said("please fail", ""))
        failed = await service.intake.flush_session("ann", "s1", final=False, wait=30)
        assert failed.state == "retrying"
        assert "not the wanted JSON" in failed.error
        await service.intake.buffer_turn("ann", "s1", Said("I like figs", ""))
        behind = await service.intake.flush_session("ann", "s1", final=False, wait=0)
        assert behind.state == "retrying"  # in order: nothing of a scope overtakes what is before it
        await service.intake.buffer_turn("ben", "s1", Said("I like dates", ""))
        done = await service.intake.flush_session("ben", "s1", final=False, wait=30)
        assert (done.state, done.added) == ("done", 1)


async def test_a_caller_that_leaves_takes_nothing_with_it(service: Service) -> None:
    async def one(number: int) -> None:
        await service.intake.buffer_turn("ann", f"s{number}", Said(f"turn {number}", ""))

    tasks = [asyncio.create_task(one(number)) for number in range(200)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    kept = await service.intake.buffer_turn("ann", "last", Said("still here", ""))
    assert kept.turn_id
    scopes = await service.upkeep.scopes()
    assert scopes[0]["turns"] >= 101


async def test_a_scope_is_tidied_by_itself_after_some_sessions(tmp_path: Path) -> None:
    async with opened(tmp_path, consolidation_interval="2") as service:
        seen: list[str] = []

        async def follow() -> None:
            async for event in service.follow.events("ann", 0, idle=60):
                seen.append(event["kind"] if event else "")
                if seen[-1] == "consolidated":
                    return

        follower = asyncio.create_task(follow())
        for session in ("a", "b"):
            await service.intake.buffer_turn("ann", session, Said(f"hello from {session}", ""))
            await service.intake.flush_session("ann", session, final=True, wait=30)
        await asyncio.wait_for(follower, 30)
        assert seen.count("session_ended") == 2


async def test_a_session_ends_once_until_it_goes_on(service: Service) -> None:
    async def ended() -> int:
        await service.intake.flush_session("ann", "s1", final=True, wait=30)
        got = service.follow.events("ann", 0, idle=0.01)
        kinds = []
        async for event in got:
            if event is None:
                break
            kinds.append(event["kind"])
        return kinds.count("session_ended")

    await service.intake.buffer_turn("ann", "s1", Said("one", ""))
    assert await ended() == 1
    assert await ended() == 1
    await service.intake.buffer_turn("ann", "s1", Said("two", ""))
    assert await ended() == 2


async def test_work_that_was_left_is_taken_up_at_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path, auto_extract="false") as first:
        await first.intake.buffer_turn("ann", "s1", Said("I keep pigeons", ""))
    async with opened(tmp_path) as second:
        done = await second.intake.flush_session("ann", "s1", final=False, wait=30)
        assert (done.state, done.added, done.turns) == ("done", 1, 1)


async def test_the_last_turns_of_a_session_that_nobody_ended_are_extracted_in_the_end(service: Service) -> None:
    await service.intake.buffer_turn("ann", "old", Said("I once lived in Rome", "", at=1_700_000_000.0))
    await service.intake.buffer_turn("ann", "new", Said("I live in Bonn", ""))
    await service.intake.take_up_left()
    await service.intake.flush_session("ann", "old", final=False, wait=30)
    assert (await service.intake.buffer_of("ann", "old"))["count"] == 0
    assert (await service.intake.buffer_of("ann", "new"))["count"] == 1
