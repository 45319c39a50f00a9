"""Values are compared as JSON means them, and shown without secrets."""

from __future__ import annotations

from hypothesis import given

from metaclaw_adapters.values import ABSENT, describe, differences, dotted, get, put, same, strings, with_value
from tests.unit.adapters.json5_texts import configurations


def test_numbers_are_equal_by_value_but_never_to_truth() -> None:
    assert same({"a": [1, None]}, {"a": [1.0, None]})
    assert not same(1, True)
    assert not same(0, False)
    assert same(float("nan"), float("nan"))
    assert not same(None, ABSENT)


def test_keys_are_written_as_people_write_them() -> None:
    assert dotted(("models", "providers", "a.b", "api")) == 'models.providers["a.b"].api'
    assert dotted(()) == "(everything)"


def test_secrets_are_hidden_wherever_they_stand() -> None:
    shown = " ".join(describe({}, {"apiKey": "sk-1", "p": {"token": "t-2", "list": [{"api_key": "sk-3"}], "max": 4}}))
    assert "4" in shown
    assert not any(secret in shown for secret in ("sk-1", "t-2", "sk-3"))


def test_strings_are_found_with_their_place() -> None:
    assert list(strings({"a": ["x", {"b": "y"}], "c": 1})) == [(("a", "0"), "x"), (("a", "1", "b"), "y")]


@given(configurations(), configurations())
def test_the_differences_applied_to_one_tree_give_the_other(one: dict[str, object], other: dict[str, object]) -> None:
    made: object = one
    for keys, _, new in differences(one, other):
        made = with_value(made, keys, new)
    assert same(made, other)


@given(configurations())
def test_setting_a_value_leaves_the_tree_it_came_from_alone(tree: dict[str, object]) -> None:
    kept = put(tree, (), tree)
    made = put(tree, ("agents", "defaults", "model"), "new")
    assert same(tree, kept)
    assert get(made, ("agents", "defaults", "model")) == "new"
