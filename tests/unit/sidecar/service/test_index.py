"""The index follows the store: what is written is found, what is gone is not, at once."""

from __future__ import annotations

import asyncio

from metaclaw_sidecar.service import NewMemory, Said, Service


async def contents(service: Service, query: str, scope: str = "ann") -> list[str]:
    found = await service.recall.search(scope, query, limit=200, mode="keyword", min_score=0.01)
    return [one["content"] for one in found.results]


async def test_what_is_stored_is_found_when_storing_returns(service: Service) -> None:
    for number in range(30):
        await service.curation.store("ann", NewMemory(f"Crate number {number} holds apples"))
        assert f"Crate number {number} holds apples" in await contents(service, f"crate number {number} apples")


async def test_what_is_forgotten_is_not_found_when_forgetting_returns(service: Service) -> None:
    stored = [await service.curation.store("ann", NewMemory(f"Crate number {n} holds apples")) for n in range(10)]
    for left, one in enumerate(reversed(stored)):
        await service.curation.forget("ann", one.memory_id, with_history=False)
        assert len(await contents(service, "crate apples")) == 9 - left


async def test_an_edit_is_found_by_its_new_words_only(service: Service) -> None:
    stored = await service.curation.store("ann", NewMemory("The ladder is in the shed"))
    await service.curation.change("ann", stored.memory_id, {"content": "The ladder is in the attic"})
    assert await contents(service, "attic") == ["The ladder is in the attic"]
    assert await contents(service, "shed") == []


async def test_many_at_once_end_in_what_the_store_holds(service: Service) -> None:
    async def one(number: int) -> None:
        stored = await service.curation.store("ann", NewMemory(f"Bottle {number} is green"))
        if number % 2:
            await service.curation.forget("ann", stored.memory_id, with_history=False)
        await service.intake.buffer_turn("ann", "s", Said(f"bottle {number} was opened", ""))

    await asyncio.gather(*(one(number) for number in range(40)))
    found = await contents(service, "bottle")
    assert sorted(text for text in found if "green" in text) == sorted(f"Bottle {n} is green" for n in range(0, 40, 2))
