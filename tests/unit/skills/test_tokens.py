# ruff: noqa: E501
"""Terms: one per idea, in any language, and none for words without a subject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.skills.tokens import terms


@pytest.mark.parametrize(
    "text",
    ["", "hello", "Thanks, that was great!", "ok", "yes please go ahead", "Good morning, how are you?", "你好", "谢谢，继续吧",
     "好的，没问题", "こんにちは", "ありがとうございます", "안녕하세요", "감사합니다", "Hallo, wie geht es dir?", "Merci",
     "Buenos días", "Olá", "Спасибо!", "?!…", "👍🎉", "   \n\t"],
)  # fmt: skip
def test_courtesies_have_no_terms(text: str) -> None:
    assert terms(text) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [("debugging", "debugged"), ("queries", "query"), ("Summarize", "summaries"), ("analyse", "analyzing"),
     ("translation", "translate"), ("résumé", "resume"), ("ＡＰＩ", "api"), ("Straße", "STRASSE"), ("user's", "user")],
)  # fmt: skip
def test_forms_of_one_word_are_one_term(a: str, b: str) -> None:
    assert terms(a) == terms(b) != []


@pytest.mark.parametrize(
    ("foreign", "english"),
    [("请帮我调试这个程序", "debug program"), ("メールの返信を書いてください", "email reply write"), ("코드를 리뷰해 주세요", "code review"),
     ("Übersetze den Vertrag", "translate contract"), ("Traduis cette lettre", "translate letter"),
     ("отладь код", "debug code"), ("總結會議記錄", "summarize minutes")],
)  # fmt: skip
def test_words_of_many_languages_meet_in_one_concept(foreign: str, english: str) -> None:
    assert set(terms(english)) <= set(terms(foreign))


def test_an_english_text_is_not_read_as_another_language() -> None:
    assert "fold" not in " ".join(terms("what is a good pasta recipe for the family"))


def test_identifiers_are_split_into_words() -> None:
    assert terms("getUserName parse_json c++ C#") == ["user", "name", "pars", "json", "c++", "c#"]


def test_unknown_words_of_unspaced_scripts_are_pairs() -> None:
    assert terms("量子纠缠") == ["量子", "子纠", "纠缠"]


@given(st.text(max_size=300))
def test_any_text_has_terms_and_none_is_empty(text: str) -> None:
    assert all(term and not term.isspace() for term in terms(text))


def test_a_turn_of_phrase_is_not_about_its_words() -> None:
    assert "row" in terms("insert a row into the table")
    assert "row" not in terms("Run it twenty times in a row.")
    assert terms("By the way, what's the point?") == []
