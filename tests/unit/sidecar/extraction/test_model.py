"""The extracting model, asked through litellm in a process of its own."""

from __future__ import annotations

import json

import pytest

from metaclaw_sidecar.errors import ExtractionError
from metaclaw_sidecar.extraction import LeanExtractor, Model
from metaclaw_sidecar.extraction.model import parse
from metaclaw_sidecar.records import Turn
from metaclaw_sidecar.settings import LlmSettings
from tests.scripted_upstream import Reply, ScriptedUpstream

TURN = Turn(
    "turn_00000000000000", "ann", "s1", 0, "ich wohne seit gestern in Lyon", "Schön!", 1_772_445_600.0, "claimed"
)


def extractor(upstream: ScriptedUpstream) -> tuple[LeanExtractor, Model]:
    model = Model(LlmSettings(model="openai/m", api_base=upstream.base_url, api_key="sk-test"))  # type: ignore[arg-type]
    return LeanExtractor(model), model


async def test_a_batch_is_one_call_and_its_facts_are_founded_on_quotes() -> None:
    fact = {
        "turn": 1, "said_by": "user", "quote": "Ich wohne seit gestern in Lyon", "kind": "semantic", "subject": "user",
        "content": "Der Nutzer wohnt in Lyon.", "change": "new", "known": None, "valid_from": "2026-03-01",
    }  # fmt: skip
    with ScriptedUpstream() as upstream:
        upstream.rule(".", "<think>hm</think>" + json.dumps({"facts": [fact], "summary": "Umzug."}), where="all")
        lean, model = extractor(upstream)
        drawn = await lean.extract([TURN], [], "")
        assert [(one.content, one.valid_from) for one in drawn.facts] == [
            ("Der Nutzer wohnt in Lyon.", 1_772_323_200.0)
        ]
        assert drawn.summary == "Umzug."
        (call,) = upstream.calls("chat")
        asked = call.json()
        assert asked["response_format"]["type"] == "json_schema"
        assert "2026-03-02 10:00 Monday UTC" in asked["messages"][1]["content"]
        assert model.calls == 1
        assert model.tokens > 0


async def test_a_cut_off_answer_is_a_failure_and_the_next_try_has_more_room() -> None:
    with ScriptedUpstream() as upstream:
        upstream.rule(".", Reply(text='{"facts": []', finish="length"), where="all")
        lean, _ = extractor(upstream)
        with pytest.raises(ExtractionError, match="truncated: the answer was cut off at 8192 tokens"):
            await lean.extract([TURN], [], "", attempt=2)
        assert upstream.calls("chat")[0].json()["max_tokens"] == 8192


async def test_a_wrong_key_is_a_failure_that_is_not_tried_again_and_is_not_told() -> None:
    with ScriptedUpstream(api_key="other") as upstream:
        lean, _ = extractor(upstream)
        with pytest.raises(ExtractionError, match="refused") as failed:
            await lean.extract([TURN], [], "")
        assert failed.value.permanent
        assert "sk-test" not in str(failed.value)


@pytest.mark.parametrize("text", ["", "no", '{"facts": [', "[1, 2", "```json\n{\n```"])
def test_what_is_not_whole_json_is_no_answer(text: str) -> None:
    with pytest.raises(ExtractionError):
        parse(text)


def test_what_models_put_around_json_is_taken_off() -> None:
    assert parse('<think>a {b}</think>\n```json\n{"facts": []}\n```') == {"facts": []}


@pytest.mark.parametrize("value", ["[]", "{}", '{"facts": "none"}'])
async def test_json_of_another_shape_is_a_failure(value: str) -> None:
    from metaclaw_sidecar.extraction.extractor import read

    with pytest.raises(ExtractionError, match="no list of facts"):
        read(json.loads(value), [TURN], [])


def test_one_wrong_fact_does_not_cost_the_others() -> None:
    from metaclaw_sidecar.extraction.extractor import read

    good = {"turn": 1, "quote": "in Lyon", "kind": "semantic", "content": "Der Nutzer wohnt in Lyon."}
    odd = [
        None,
        {},
        good | {"turn": 9},
        good | {"kind": "working_summary"},
        good | {"quote": "in Rom"},
        good | {"content": ""},
    ]
    drawn = read({"facts": [*odd, good]}, [TURN], [])
    assert len(drawn.facts) == 1
    assert drawn.refused == {"shape": 4, "unfounded": 1, "length": 1}
