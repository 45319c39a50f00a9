"""One pair of servers for each protocol that a provider may speak."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.contract.translated.serving import Provider, Served, served


@pytest.fixture(scope="session")
def _servers() -> Iterator[dict[str, Served]]:
    with served("chat") as chat, served("messages") as messages, served("responses") as responses:
        yield {"chat": chat, "messages": messages, "responses": responses}


@pytest.fixture
def provider_of(_servers: dict[str, Served]) -> Callable[[str], Served]:
    """The provider that speaks a protocol, with the gateway in front of it."""

    def fresh(wire: str) -> Served:
        server = _servers[wire]
        server.provider.__dict__.update(Provider().__dict__)
        server.failures.clear()
        server.over.clear()
        return server

    return fresh


@pytest.fixture
def chat_provider(provider_of: Callable[[str], Served]) -> Served:
    """Speaks chat completions."""
    return provider_of("chat")


@pytest.fixture
def messages_provider(provider_of: Callable[[str], Served]) -> Served:
    """Speaks Anthropic messages."""
    return provider_of("messages")


@pytest.fixture
def responses_provider(provider_of: Callable[[str], Served]) -> Served:
    """Speaks OpenAI responses."""
    return provider_of("responses")
