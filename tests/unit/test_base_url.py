"""A base URL works in every form people write it in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw import base_url


@pytest.mark.parametrize(
    ("given_base", "chat"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("192.168.1.7:1234", "http://192.168.1.7:1234/v1/chat/completions"),
        ("api.example.com", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/paas/v4", "https://api.example.com/paas/v4/chat/completions"),
        ("https://api.example.com/v3/openai", "https://api.example.com/v3/openai/chat/completions"),
        ("https://api.example.com/v1beta/openai/", "https://api.example.com/v1beta/openai/chat/completions"),
        ("https://api.example.com/v1/chat/completions", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/chat/completions", "https://api.example.com/chat/completions"),
        ("  https://api.example.com//v1  ", "https://api.example.com/v1/chat/completions"),
        ("https://e.example.com/d/gpt?api-version=1", "https://e.example.com/d/gpt/chat/completions?api-version=1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_chat_completions_is_found_from_any_form_of_base(given_base: str, chat: str) -> None:
    assert base_url.parse(given_base).join("chat") == chat


@pytest.mark.parametrize(
    ("given_base", "messages"),
    [
        ("https://api.example.com", "https://api.example.com/v1/messages"),
        ("https://api.example.com/v1", "https://api.example.com/v1/messages"),
        ("https://api.example.com/anthropic", "https://api.example.com/anthropic/v1/messages"),
        ("https://api.example.com/anthropic/v1/", "https://api.example.com/anthropic/v1/messages"),
        ("https://api.example.com/v1/messages", "https://api.example.com/v1/messages"),
        ("https://api.example.com/api/coding", "https://api.example.com/api/coding/v1/messages"),
    ],
)
def test_messages_follows_a_version(given_base: str, messages: str) -> None:
    assert base_url.parse(given_base).join("messages") == messages
    assert base_url.parse(given_base).join("count_tokens") == messages + "/count_tokens"


@pytest.mark.parametrize(
    ("given_base", "wire"),
    [
        ("https://h.example.com/v1/responses", "responses"),
        ("https://h.example.com/v1/messages", "messages"),
        ("https://h.example.com/v1/embeddings", "chat"),
        ("https://h.example.com/anthropic", "messages"),
        ("https://h.example.com/v1/models", None),
        ("https://h.example.com/v1", None),
    ],
)
def test_an_address_can_give_its_protocol_away(given_base: str, wire: str | None) -> None:
    assert base_url.parse(given_base).wire == wire


@pytest.mark.parametrize("text", ["", "ftp://example.com", "https://", "http://[::1", "http://host:port", "http://h:0"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(base_url.BaseUrlError, match=r"https://api\.example\.com/v1"):
        base_url.parse(text)


@given(st.text(max_size=60))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        address = base_url.parse(text)
    except base_url.BaseUrlError:
        return
    assert address.join("chat").startswith(("http://", "https://"))


@given(st.lists(st.sampled_from(["a", "openai", "v1", "v3", "api", "anthropic"]), max_size=4))
def test_a_whole_endpoint_given_as_base_stays_as_it_is(parts: list[str]) -> None:
    whole = "/".join(["https://api.example.com", *parts, "chat/completions"])
    assert base_url.parse(whole).join("chat") == whole


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "localhost", "http://[::1]:3/x", "ollama.localhost:1"])
def test_loopback_is_recognised(url: str) -> None:
    assert base_url.is_loopback(url)


@pytest.mark.parametrize("url", ["https://api.example.com", "10.0.0.1", "http://localhost.example.com", ""])
def test_other_hosts_are_not_loopback(url: str) -> None:
    assert not base_url.is_loopback(url)
