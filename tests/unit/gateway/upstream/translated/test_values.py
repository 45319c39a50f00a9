"""Small rules: token counts, seals, model names, tool call deltas of odd servers."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.gateway.upstream.translated import usage
from metaclaw.gateway.upstream.translated.chat.tool_calls import ToolCalls
from metaclaw.gateway.upstream.translated.events import Grew, Opened
from metaclaw.gateway.upstream.translated.models import claude_version, default_max_tokens, thinks_adaptively
from metaclaw.gateway.upstream.translated.parts import Origin, Proof
from metaclaw.gateway.upstream.translated.seals import seal, unseal, worn
from metaclaw.gateway.upstream.translated.usage import Usage

_COUNT = st.integers(0, 10**7)


@given(st.builds(Usage, _COUNT, _COUNT, _COUNT, _COUNT))
def test_token_counts_survive_every_dialect(counted: Usage) -> None:
    assert usage.read_chat(usage.write_chat(counted)) == counted
    assert usage.read_messages(usage.write_messages(counted)) == counted
    assert usage.read_responses(usage.write_responses(counted)) == counted


@pytest.mark.parametrize(
    ("told", "cached", "fresh"),
    [
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 4}, 6, 4),
        ({"prompt_tokens": 10, "cached_tokens": 6}, 6, 4),
        ({"prompt_tokens": 10, "prompt_tokens_details": None}, 0, 10),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, 10, 0),
        ({"prompt_tokens": "many"}, 0, 0),
    ],
)
def test_cached_tokens_are_found_where_each_provider_puts_them(
    told: dict[str, object], cached: int, fresh: int
) -> None:
    counted = usage.read_chat(told)
    assert (counted.cached, counted.fresh) == (cached, fresh)


@given(st.builds(Proof, st.sampled_from(get_args(Origin)), st.text(min_size=1), st.text(), st.booleans()))
def test_a_proof_comes_back_from_every_client(proof: Proof) -> None:
    for native in get_args(Origin):
        again = unseal(seal(proof), native=native)
        assert again == proof
    assert unseal(worn(Proof("messages", "sig"), "messages"), native="messages") == Proof("messages", "sig")


@pytest.mark.parametrize("text", ["mclaw1.", "mclaw1.chat.!!", "mclaw1.chat.e30", "mclaw1.other.e30="])
def test_a_damaged_seal_is_no_proof(text: str) -> None:
    found = unseal(text, native="messages")
    assert found is None or found.value == ""


@pytest.mark.parametrize(
    ("model", "version", "adaptive", "limit"),
    [
        ("claude-opus-4-6", (4, 6), True, 32_000),
        ("anthropic/claude-opus-4.5", (4, 5), False, 32_000),
        ("claude-sonnet-4-20250514", (4, 0), False, 32_000),
        ("claude-3-5-haiku-20241022", (3, 5), False, 8192),
        ("claude-3-opus-20240229", (3, 0), False, 4096),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", (3, 7), False, 32_000),
        ("claude-opus-5", (5, 0), True, 32_000),
        ("kimi-k2.5", (0, 0), False, 8192),
    ],
)
def test_a_models_name_tells_what_it_accepts(model: str, version: tuple[int, int], adaptive: bool, limit: int) -> None:
    assert claude_version(model) == version
    assert thinks_adaptively(model) is adaptive
    assert default_max_tokens(model) == limit


def test_servers_that_give_every_call_the_index_0_are_understood() -> None:
    calls = ToolCalls()
    first = calls.delta({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}, 0)
    second = calls.delta({"index": 0, "id": "b", "function": {"name": "y", "arguments": "{}"}}, 1)
    assert first == [Opened(0, "tool", "a", "x"), Grew(0, "{}")]
    assert second == [Opened(1, "tool", "b", "y"), Grew(1, "{}")]


def test_servers_without_an_index_or_with_a_late_name_are_understood() -> None:
    calls = ToolCalls()
    assert calls.delta({"id": "a", "function": {"arguments": '{"q"'}}, 0) == []
    assert calls.delta({"function": {"name": "x", "arguments": ":1}"}}, 1) == [
        Opened(0, "tool", "a", "x"),
        Grew(0, '{"q"'),
        Grew(0, ":1}"),
    ]
    assert calls.delta({"id": "b", "function": {"name": "y"}}, 1) == [Opened(1, "tool", "b", "y")]


def test_servers_that_repeat_id_and_name_in_every_delta_are_understood() -> None:
    calls = ToolCalls()
    calls.delta({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{"}}, 0)
    assert calls.delta({"index": 0, "id": "a", "function": {"name": "x", "arguments": "}"}}, 1) == [Grew(0, "}")]
