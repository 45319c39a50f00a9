"""Each provider is reached in the protocols it sells, wherever the user points it."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from metaclaw.config.models import Fallback, Llm, Openrouter, Provider
from metaclaw.providers import (
    PROVIDERS,
    ProviderError,
    auth_headers,
    body_defaults,
    endpoints,
    extra_headers,
    provider_of,
    routed_model,
)


def urls(provider: str, **fields: Any) -> dict[str, str]:
    return dict(endpoints(Llm(provider=provider, **fields)))  # type: ignore[arg-type]


def spoken(provider: str, **fields: Any) -> list[str]:
    return [wire for wire in urls(provider, **fields) if wire in ("chat", "messages", "responses")]


def test_the_table_has_every_provider_the_configuration_knows() -> None:
    assert set(PROVIDERS) == set(get_args(Provider))


def test_every_provider_with_addresses_has_a_chat_or_messages_endpoint_and_a_model_list() -> None:
    for name, info in PROVIDERS.items():
        if info.base_urls:
            found = urls(name)
            assert "models" in found
            assert all(url.startswith(("https://", "http://127.0.0.1")) for url in found.values())


@pytest.mark.parametrize(
    ("provider", "wire", "url"),
    [
        ("kimi", "chat", "https://api.moonshot.cn/v1/chat/completions"),
        ("kimi", "messages", "https://api.moonshot.cn/anthropic/v1/messages"),
        ("qwen", "chat", "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"),
        ("qwen", "messages", "https://dashscope.aliyuncs.com/apps/anthropic/v1/messages"),
        ("openai", "responses", "https://api.openai.com/v1/responses"),
        ("openai", "embeddings", "https://api.openai.com/v1/embeddings"),
        ("anthropic", "messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "count_tokens", "https://api.anthropic.com/v1/messages/count_tokens"),
        ("gemini", "chat", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"),
        ("minimax", "chat", "https://api.minimax.chat/v1/chat/completions"),
        ("novita", "chat", "https://api.novita.ai/v3/openai/chat/completions"),
        ("openrouter", "messages", "https://openrouter.ai/api/v1/messages"),
        ("openrouter", "chat", "https://openrouter.ai/api/v1/chat/completions"),
        ("volcengine", "chat", "https://ark.cn-beijing.volces.com/api/v3/chat/completions"),
        ("volcengine", "messages", "https://ark.cn-beijing.volces.com/api/compatible/v1/messages"),
        ("ollama", "messages", "http://127.0.0.1:11434/v1/messages"),
    ],
)
def test_providers_are_reached_at_their_own_addresses(provider: str, wire: str, url: str) -> None:
    assert urls(provider)[wire] == url


def test_a_protocol_sold_for_some_models_only_is_used_on_request_alone() -> None:
    assert "messages" not in urls("novita")
    assert spoken("novita", protocol="messages") == ["messages"]


def test_another_region_offers_all_its_protocols_too() -> None:
    found = urls("kimi", api_base="https://api.moonshot.ai/v1/")
    assert found["messages"] == "https://api.moonshot.ai/anthropic/v1/messages"
    assert urls("kimi", api_base="https://api.moonshot.ai") == found
    assert urls("kimi", api_base="https://api.moonshot.ai/anthropic") == found


def test_a_coding_plan_is_not_mixed_up_with_the_ordinary_address() -> None:
    found = urls("volcengine", api_base="https://ark.cn-beijing.volces.com/api/coding/v3")
    assert found["chat"] == "https://ark.cn-beijing.volces.com/api/coding/v3/chat/completions"
    assert found["messages"] == "https://ark.cn-beijing.volces.com/api/coding/v1/messages"


def test_a_known_providers_address_under_custom_counts_as_that_provider() -> None:
    llm = Llm(provider="custom", api_base="https://api.anthropic.com", api_key="sk-a")
    assert provider_of(llm).name == "anthropic"
    assert dict(endpoints(llm))["messages"] == "https://api.anthropic.com/v1/messages"
    assert auth_headers(llm, "messages") == {"x-api-key": "sk-a"}


def test_another_server_speaks_chat_unless_told_or_shown_otherwise() -> None:
    assert spoken("custom", api_base="http://localhost:8000") == ["chat"]
    assert spoken("openai", api_base="https://llm.example.com/v1") == ["chat"]
    assert spoken("custom", api_base="http://localhost:8000", protocol="messages") == ["messages"]
    assert spoken("custom", api_base="https://llm.example.com/anthropic") == ["messages"]
    assert spoken("custom", api_base="https://llm.example.com/v1/responses") == ["responses"]
    assert spoken("anthropic", api_base="https://llm.example.com") == ["messages"]


def test_a_local_server_elsewhere_speaks_all_its_protocols() -> None:
    assert urls("ollama", api_base="http://192.168.1.5:11434/v1")["messages"] == "http://192.168.1.5:11434/v1/messages"
    assert spoken("lmstudio", api_base="gpu.example.com") == ["chat", "messages", "responses"]


def test_a_forced_protocol_a_provider_does_not_list_goes_to_its_address() -> None:
    assert urls("anthropic", protocol="chat")["chat"] == "https://api.anthropic.com/v1/chat/completions"


def test_bedrock_and_other_foreign_protocols_are_routed() -> None:
    assert endpoints(Llm(provider="bedrock", model_id="us.amazon.nova-pro-v1:0")) == []
    assert (
        routed_model(Llm(provider="bedrock", model_id="us.amazon.nova-pro-v1:0")) == "bedrock/us.amazon.nova-pro-v1:0"
    )
    assert routed_model(Llm(provider="bedrock", model_id="bedrock/nova")) == "bedrock/nova"
    assert endpoints(Llm(provider="custom", model_id="vertex_ai/gemini-2.5-pro")) == []
    assert routed_model(Llm(provider="custom", model_id="vertex_ai/gemini-2.5-pro")) == "vertex_ai/gemini-2.5-pro"
    assert spoken("bedrock", api_base="https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1") == ["chat"]
    assert urls("bedrock", api_base="https://vpce.example.com") == {}


def test_nothing_configured_says_what_to_do() -> None:
    with pytest.raises(ProviderError, match="metaclaw setup"):
        endpoints(Llm())
    with pytest.raises(ProviderError, match=r"llm\.api_base"):
        endpoints(Llm(provider="custom", api_base="ftp://example.com"))


def test_a_fallback_is_read_like_the_main_upstream() -> None:
    fallback = Fallback(provider="custom", model_id="m", api_base="localhost:1", api_key="k")
    assert endpoints(fallback)[0] == ("chat", "http://localhost:1/v1/chat/completions")
    assert auth_headers(fallback, "chat") == {"authorization": "Bearer k"}


def test_the_key_travels_as_the_upstream_wants_it() -> None:
    assert auth_headers(Llm(provider="anthropic", api_key="k"), "models") == {"x-api-key": "k"}
    assert auth_headers(Llm(provider="anthropic", api_key="k"), "chat") == {"authorization": "Bearer k"}
    assert auth_headers(Llm(provider="kimi", api_key="k"), "messages") == {"authorization": "Bearer k"}
    both = auth_headers(Llm(provider="custom", api_base="localhost:1", api_key="k"), "messages")
    assert both == {"x-api-key": "k", "authorization": "Bearer k"}
    assert auth_headers(Llm(provider="ollama"), "chat") == {}


def test_a_user_in_the_base_url_stands_back_behind_a_key() -> None:
    base = "https://user:pw@llm.example.com/v1"
    assert urls("custom", api_base=base, api_key="k")["chat"] == "https://llm.example.com/v1/chat/completions"
    assert urls("custom", api_base=base)["chat"] == f"{base}/chat/completions"
    assert provider_of(Llm(provider="custom", api_base="https://user@api.anthropic.com")).name == "anthropic"


def test_openrouter_extras_are_headers_and_body_defaults() -> None:
    llm = Llm(provider="openrouter", model_id="a/b")
    extras = Openrouter(app_url="https://example.com", fallback_models="c/d, e/f", data_policy="deny")
    assert extra_headers(llm, "chat", extras) == {"x-title": "MetaClaw", "http-referer": "https://example.com"}
    assert body_defaults(llm, extras) == {
        "models": ["a/b", "c/d", "e/f"],
        "route": "fallback",
        "provider": {"data_collection": "deny"},
    }
    assert body_defaults(llm, Openrouter()) == {}
    assert body_defaults(Llm(provider="kimi"), extras) == {}


def test_messages_carries_a_protocol_version() -> None:
    assert extra_headers(Llm(provider="kimi"), "messages")["anthropic-version"]
    assert extra_headers(Llm(provider="kimi"), "chat") == {}
