"""Supersession, contradiction, restating, taking back, visits, and facts learned late."""

from __future__ import annotations

from pathlib import Path

from .conversation import conversation

PARIS = {"quote": "I live in Paris", "content": "The user lives in Paris."}
BERLIN = {
    "quote": "I moved to Berlin", "content": "The user lives in Berlin.",
    "change": "replaces", "about": "lives in Paris",
}  # fmt: skip


async def test_a_fact_that_replaces_another_is_recalled_and_the_history_shows_both_with_dates(tmp_path: Path) -> None:
    async with conversation(tmp_path, [PARIS, BERLIN]) as talk:
        await talk.say("I live in Paris", on="2026-01-10T09:00:00Z")
        await talk.say("I moved to Berlin", on="2026-05-20T09:00:00Z")
        assert list(await talk.held()) == ["The user lives in Berlin."]
        now = (await talk.held())["The user lives in Berlin."]
        old = (await talk.held("superseded"))["The user lives in Paris."]
        assert old["superseded_by"] == now["memory_id"]
        assert (old["valid_from"][:10], old["superseded_at"][:10]) == ("2026-01-10", "2026-05-20")
        assert now["valid_from"][:10] == "2026-05-20"
        history = await talk.service.curation.history(talk.scope, now["memory_id"])
        assert [one["content"] for one in history["supersedes"]] == ["The user lives in Paris."]
        found = await talk.service.recall.search(talk.scope, "where does the user live", limit=5, kind="memory")
        assert [one["content"] for one in found.results] == ["The user lives in Berlin."]


async def test_a_fact_said_twice_is_one_memory_and_surer(tmp_path: Path) -> None:
    again = {
        "quote": "still live in Paris", "content": "The user still lives in Paris.",
        "change": "restates", "about": "lives in Paris",
    }  # fmt: skip
    async with conversation(tmp_path, [PARIS, again]) as talk:
        await talk.say("I live in Paris")
        first = (await talk.held())["The user lives in Paris."]
        await talk.say("you know I still live in Paris", session="s2")
        await talk.say("I live in Paris", session="s3")  # a model that calls it new does not make it two
        held = await talk.held()
        assert list(held) == ["The user lives in Paris."]
        now = held["The user lives in Paris."]
        assert now["reinforcement_score"] == 2
        assert now["confidence"] > first["confidence"]
        assert len((await talk.service.curation.get(talk.scope, now["memory_id"]))["sources"]) == 3


async def test_a_visit_does_not_end_where_somebody_lives_whatever_the_model_says(tmp_path: Path) -> None:
    visit = {
        "quote": "I visited Berlin", "content": "The user visited Berlin.",
        "change": "replaces", "about": "lives in Paris",
    }  # fmt: skip
    reise = {
        "quote": "Reise nach Rom", "content": "Der Nutzer war auf einer Reise nach Rom.",
        "change": "replaces", "about": "lives in Paris",
    }  # fmt: skip
    async with conversation(tmp_path, [PARIS, visit, reise]) as talk:
        await talk.say("I live in Paris")
        await talk.say("I visited Berlin last week", "Das war eine Reise nach Rom")
        assert set(await talk.held()) == {
            "The user lives in Paris.", "The user visited Berlin.", "Der Nutzer war auf einer Reise nach Rom.",
        }  # fmt: skip
        assert not await talk.held("superseded")


async def test_no_longer_replaces_and_a_mistake_is_taken_back(tmp_path: Path) -> None:
    dog = {"quote": "I have a dog", "content": "The user has a dog."}
    gone = {
        "quote": "no longer eat meat", "content": "The user no longer eats meat.",
        "change": "replaces", "about": "loves steak",
    }  # fmt: skip
    steak = {"quote": "I love steak", "content": "The user loves steak.", "kind": "preference"}
    back = {
        "quote": "I never had a dog", "content": "The user never had a dog.",
        "change": "retracts", "about": "has a dog",
    }  # fmt: skip
    async with conversation(tmp_path, [dog, steak, gone, back]) as talk:
        await talk.say("I have a dog", "I love steak")
        await talk.say("I no longer eat meat", "I never had a dog, that was my brother", on="2026-04-01T08:00:00Z")
        assert list(await talk.held()) == ["The user no longer eats meat."]
        old = await talk.held("superseded")
        assert set(old) == {"The user has a dog.", "The user loves steak."}
        taken = old["The user has a dog."]
        assert taken["superseded_by"] == ""
        assert taken["superseded_at"][:10] == "2026-04-01"
        history = await talk.service.curation.history(talk.scope, taken["memory_id"])
        assert [one["reason"] for one in history["versions"]] == ["created", "retracted"]
        block = await talk.service.recall.retrieve(talk.scope, "do I have a dog", min_score=0.05)
        assert "I have a dog\n" not in [unit["content"] for unit in block.units]
        assert {one["reason"] for one in block.left_out} >= {"outdated"}  # what was said then is not said unasked


async def test_contradictions_follow_each_other_and_only_the_last_is_recalled(tmp_path: Path) -> None:
    names = ["Rust", "Go", "Zig"]
    script = [
        {"quote": f"language is {name}", "content": f"The user's favourite language is {name}.", "kind": "preference",
         "change": "replaces", "about": "favourite language"}
        for name in names
    ]  # fmt: skip
    async with conversation(tmp_path, script) as talk:
        for day, name in enumerate(names, 1):
            await talk.say(f"My favourite language is {name}", on=f"2026-03-0{day}T10:00:00Z")
        held = await talk.held()
        assert list(held) == ["The user's favourite language is Zig."]
        only = held["The user's favourite language is Zig."]
        older = (await talk.service.curation.get(talk.scope, only["memory_id"]))["supersedes"]
        assert len(older) == 2


async def test_what_is_learned_late_does_not_replace_what_is_newer(tmp_path: Path) -> None:
    late = {**PARIS, "change": "replaces", "about": "lives in Berlin", "valid_from": "2019-01-01"}
    async with conversation(tmp_path, [{**BERLIN, "change": "new"}, late]) as talk:
        await talk.say("I moved to Berlin", on="2026-05-20T09:00:00Z")
        await talk.say("I live in Paris, I mean in 2019 that was", on="2026-05-21T09:00:00Z")
        assert list(await talk.held()) == ["The user lives in Berlin."]
        assert list(await talk.held("superseded")) == ["The user lives in Paris."]
