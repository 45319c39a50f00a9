"""Index terms."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw_sidecar.retrieval.tokens import is_greeting, query_terms, terms


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("My e-mail address is new", "email"),
        ("my email address", "e-mail"),
        ("Caroline’s sister", "Caroline's"),
        ("see src/metaclaw/app.py for it", "app.py"),
        ("the class HTTPServer", "http server"),
        ("call get_user_name first", "get_user_name"),
        ("ticket MC-481 is open", "mc-481"),
        ("我在北京养了一只猫", "北京"),
        ("我在北京养了一只猫", "猫"),
        ("東京でラーメンを食べた", "ラーメン"),
        ("저는 서울에 살아요", "서울"),
        ("l’école est fermée", "ecole"),
        ("Straße nach Köln", "STRASSE koln"),
        ("она читала книги", "книга"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("she was adopting", "adopted"),
    ],
)
def test_a_query_meets_the_text_it_means(text: str, query: str) -> None:
    assert set(query_terms(query)) & set(terms(text))


@pytest.mark.parametrize(
    "text", ["hello", "Hi!", "Thanks a lot", "你好", "こんにちは", "안녕하세요", "Bonjour", "", "?!", "🙂"]
)
def test_a_greeting_asks_for_nothing(text: str) -> None:
    assert is_greeting(text)


@pytest.mark.parametrize("text", ["good morning routine", "who am I?", "hello world program", "the tag of the release"])
def test_a_question_is_no_greeting(text: str) -> None:
    assert not is_greeting(text)


def test_function_words_ask_for_nothing_and_content_words_of_other_languages_stay() -> None:
    assert query_terms("what is the") == []
    assert query_terms("the war and my son") == ["war", "son"]


@given(st.text(st.characters()))
def test_any_text_has_terms_without_blanks(text: str) -> None:
    assert all(term and not term.isspace() for term in terms(text))
    assert set(query_terms(text)) <= set(terms(text))


def test_threads_stem_without_disturbing_each_other() -> None:
    words = [f"running{c}{d}ness nationalizations{c}{d}s" for c in "abcdefgh" for d in "kmnprt"]
    texts = [" ".join(words[n:] + words[:n]) for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(terms, texts))
    assert together == [terms(text) for text in texts]
