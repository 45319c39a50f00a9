"""Who sells model calls: where, in which wire protocols, with which key; and what a base URL means.

ProviderError
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from metaclaw import base_url
from metaclaw.base_url import BaseUrl

if TYPE_CHECKING:
    from metaclaw.config.models import Fallback, Llm, Openrouter, WireProtocol
    from metaclaw.gateway.upstream.base import WireName

Auth = Literal["bearer", "x-api-key", "both"]
Bases = Mapping["WireName", str]

ANTHROPIC_VERSION = "2023-06-01"


class ProviderError(Exception):
    """The configured address can't be used; the message says which key and what to do."""


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """One provider.

    `base_urls` holds its address per wire protocol it sells natively, preferred first; empty means that litellm
    is the way in. `other_sites` are its further addresses (regions, plans). `partial` names protocols it sells
    for some of its models only: used when `llm.protocol` names them. `one_base` says that any address serves
    all its protocols.
    """

    name: str
    title: str
    base_urls: Bases
    key_env: tuple[str, ...] = ()
    other_sites: tuple[Bases, ...] = ()
    partial: frozenset[WireName] = frozenset()
    one_base: bool = False
    needs_key: bool = True
    auth: Auth = "bearer"
    litellm_prefix: str = "openai"
    vendor_cli: str = ""
    model_hint: str = ""
    sites: tuple[Bases, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sites", (self.base_urls, *self.other_sites) if self.base_urls else ())


def _openai_like(base: str, messages: str = "", *, responses: bool = False) -> Bases:
    bases: dict[WireName, str] = {"chat": base}
    if messages:
        bases["messages"] = messages
    if responses:
        bases["responses"] = base
    return MappingProxyType(bases)


def _local(base: str) -> Bases:
    return MappingProxyType({"chat": base, "messages": base, "responses": base})


_ARK = "https://ark.cn-beijing.volces.com/api"
_TABLE = (
    ProviderInfo(
        "kimi",
        "Kimi (Moonshot AI)",
        _openai_like("https://api.moonshot.cn/v1", "https://api.moonshot.cn/anthropic", responses=True),
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        other_sites=(
            _openai_like("https://api.moonshot.ai/v1", "https://api.moonshot.ai/anthropic", responses=True),
            _openai_like("https://api.kimi.com/coding/v1", "https://api.kimi.com/coding"),
        ),
        model_hint="kimi-k2.5",
    ),
    ProviderInfo(
        "qwen",
        "Qwen (Alibaba Cloud Model Studio)",
        _openai_like(
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "https://dashscope.aliyuncs.com/apps/anthropic",
            responses=True,
        ),
        ("DASHSCOPE_API_KEY",),
        other_sites=(
            _openai_like(
                "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
                "https://dashscope-intl.aliyuncs.com/apps/anthropic",
                responses=True,
            ),
            _openai_like(
                "https://coding.dashscope.aliyuncs.com/v1", "https://coding.dashscope.aliyuncs.com/apps/anthropic"
            ),
        ),
        partial=frozenset({"responses"}),
        model_hint="qwen3-max",
    ),
    ProviderInfo(
        "openai",
        "OpenAI",
        _openai_like("https://api.openai.com/v1", responses=True),
        ("OPENAI_API_KEY",),
        model_hint="gpt-5.2",
    ),
    ProviderInfo(
        "anthropic",
        "Anthropic",
        MappingProxyType({"messages": "https://api.anthropic.com"}),
        ("ANTHROPIC_API_KEY",),
        auth="x-api-key",
        litellm_prefix="anthropic",
        vendor_cli="claude",
        model_hint="claude-sonnet-4-5",
    ),
    ProviderInfo(
        "gemini",
        "Google Gemini",
        _openai_like("https://generativelanguage.googleapis.com/v1beta/openai"),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        vendor_cli="gemini",
        model_hint="gemini-2.5-pro",
    ),
    ProviderInfo(
        "minimax",
        "MiniMax",
        _openai_like("https://api.minimax.chat/v1", "https://api.minimax.chat/anthropic", responses=True),
        ("MINIMAX_API_KEY",),
        other_sites=(
            _openai_like("https://api.minimaxi.com/v1", "https://api.minimaxi.com/anthropic", responses=True),
            _openai_like("https://api.minimax.io/v1", "https://api.minimax.io/anthropic", responses=True),
        ),
        partial=frozenset({"responses"}),
        model_hint="MiniMax-M2.7",
    ),
    ProviderInfo(
        "novita",
        "Novita AI",
        _openai_like("https://api.novita.ai/v3/openai", "https://api.novita.ai/anthropic"),
        ("NOVITA_API_KEY",),
        other_sites=(_openai_like("https://api.novita.ai/openai", "https://api.novita.ai/anthropic"),),
        partial=frozenset({"messages"}),
        model_hint="moonshotai/kimi-k2.5",
    ),
    ProviderInfo(
        "openrouter",
        "OpenRouter",
        _openai_like("https://openrouter.ai/api/v1", "https://openrouter.ai/api", responses=True),
        ("OPENROUTER_API_KEY",),
        other_sites=(_openai_like("https://eu.openrouter.ai/api/v1", "https://eu.openrouter.ai/api", responses=True),),
        model_hint="moonshotai/kimi-k2.5",
    ),
    ProviderInfo(
        "volcengine",
        "Volcengine Ark (Doubao)",
        _openai_like(f"{_ARK}/v3", f"{_ARK}/compatible", responses=True),
        ("ARK_API_KEY", "VOLCENGINE_API_KEY"),
        other_sites=(_openai_like(f"{_ARK}/coding/v3", f"{_ARK}/coding"),),
        partial=frozenset({"responses"}),
        model_hint="doubao-seed-2-0-pro",
    ),
    ProviderInfo(
        "bedrock",
        "Amazon Bedrock",
        MappingProxyType({}),
        ("AWS_BEARER_TOKEN_BEDROCK",),
        needs_key=False,  # the machine's own AWS credentials do
        litellm_prefix="bedrock",
        model_hint="anthropic.claude-sonnet-4-5-20250929-v1:0",
    ),
    ProviderInfo(
        "ollama",
        "Ollama (this machine)",
        _local("http://127.0.0.1:11434"),
        ("OLLAMA_API_KEY",),
        one_base=True,
        needs_key=False,
        model_hint="qwen3-coder",
    ),
    ProviderInfo(
        "lmstudio",
        "LM Studio (this machine)",
        _local("http://127.0.0.1:1234"),
        ("LM_API_TOKEN",),
        one_base=True,
        needs_key=False,
    ),
    ProviderInfo("custom", "Another server", MappingProxyType({}), needs_key=False, auth="both"),
    ProviderInfo(
        "openai-codex",
        "OpenAI, by ChatGPT subscription (Codex)",
        MappingProxyType({"responses": "https://api.openai.com/v1", "chat": "https://api.openai.com/v1"}),
        ("OPENAI_API_KEY",),
        vendor_cli="codex",
        model_hint="gpt-5.2-codex",
    ),
)
PROVIDERS: Mapping[str, ProviderInfo] = MappingProxyType({info.name: info for info in _TABLE})


def provider_of(llm: Llm | Fallback) -> ProviderInfo:
    """The provider behind this upstream; a `custom` address that is a known provider's counts as that provider."""
    info = PROVIDERS[llm.provider]
    if info.name == "custom" and llm.api_base:
        address = _given(llm)
        return next((known for known in _TABLE if not known.one_base and _site(known, address)), info)
    return info


def _given(llm: Llm | Fallback) -> BaseUrl:
    try:
        address = base_url.parse(llm.api_base)
    except base_url.BaseUrlError as error:
        raise ProviderError(f"llm.api_base: {error}") from None
    # A user in the URL and a key are two ways to say who asks; HTTP clients refuse both at once.
    return address.without_user() if llm.api_key.get_secret_value() else address


def _site(info: ProviderInfo, address: BaseUrl) -> Bases | None:
    """The provider's own address that this one is, or None when it is somewhere else."""
    host, path = address.place
    for site in info.sites:
        places = [base_url.parse(base).place for base in site.values()]
        if (host, path) in places or (not path and any(host == known for known, _ in places)):
            return site
    return None


def protocol_bases(llm: Llm | Fallback) -> dict[WireName, BaseUrl]:
    """The address of each wire protocol this upstream speaks, preferred first; empty: litellm is the way in."""
    info = provider_of(llm)
    forced = _forced(llm)
    if not llm.api_base:
        return _own_bases(info, info.base_urls, forced)
    address = _given(llm)
    if info.name == "bedrock" and not _bedrock_speaks_chat(address):
        return {}
    site = _site(info, address)
    if forced is not None and (site is None or forced not in site):
        return {forced: address}
    if site is not None:
        return _own_bases(info, site, forced)
    if info.one_base and not address.exact:
        return dict.fromkeys(info.base_urls, address)
    default: WireName = "messages" if info.name == "anthropic" else "chat"
    return {address.wire or default: address}


def _forced(llm: Llm | Fallback) -> WireName | None:
    protocol: WireProtocol = getattr(llm, "protocol", "auto")  # a fallback has none
    return None if protocol == "auto" else protocol


def _own_bases(info: ProviderInfo, site: Bases, forced: WireName | None) -> dict[WireName, BaseUrl]:
    if forced is not None and site:
        return {forced: base_url.parse(site.get(forced) or next(iter(site.values())))}
    return {wire: base_url.parse(base) for wire, base in site.items() if wire not in info.partial}


def _bedrock_speaks_chat(address: BaseUrl) -> bool:
    """Bedrock's OpenAI-compatible address; its other one speaks Bedrock's own protocol, which litellm knows."""
    host, path = address.place
    return "bedrock-mantle" in host or "openai" in path.split("/") or address.wire == "chat"


def endpoints(llm: Llm | Fallback) -> list[tuple[WireName, str]]:
    """Whole URLs by wire: the protocols spoken natively, preferred first, then what goes with them.

    Empty when litellm is the way in (see `routed_model`). Raises ProviderError when nothing is configured.
    """
    bases = protocol_bases(llm)
    found: dict[WireName, str] = {wire: address.join(wire) for wire, address in bases.items()}
    if chat := bases.get("chat") or bases.get("responses"):
        beside: tuple[WireName, ...] = ("completions", "embeddings", "models")
        found |= {wire: chat.join(wire) for wire in beside}
    if messages := bases.get("messages"):
        found["count_tokens"] = messages.join("count_tokens")
        found.setdefault("models", messages.join("models"))
    if not found:
        routed_model(llm, "any")
    return list(found.items())


def routed_model(llm: Llm | Fallback, model: str = "") -> str:
    """The model as litellm names it, for an upstream that speaks none of the wire protocols. Raises ProviderError."""
    model = llm.model_id or model
    prefix = PROVIDERS[llm.provider].litellm_prefix
    if llm.provider == "custom":
        if "/" not in model:
            raise ProviderError(
                "no model is configured: run `metaclaw setup`, set a provider's key such as OPENAI_API_KEY, "
                "or give a server's address in llm.api_base"
            )
        return model
    return model if model.startswith(f"{prefix}/") else f"{prefix}/{model}"


def auth_headers(llm: Llm | Fallback, wire: WireName) -> dict[str, str]:
    """The header that carries the key to this upstream; nothing without a key."""
    key = llm.api_key.get_secret_value()
    if not key:
        return {}
    style = provider_of(llm).auth
    headers = {"authorization": f"Bearer {key}"}
    if style == "bearer" or wire not in ("messages", "count_tokens", "models"):
        return headers
    return {"x-api-key": key} | (headers if style == "both" else {})


def extra_headers(llm: Llm | Fallback, wire: WireName, openrouter: Openrouter | None = None) -> dict[str, str]:
    """Headers this upstream wants besides the key; a header the client sent itself wins."""
    info = provider_of(llm)
    headers: dict[str, str] = {}
    if wire in ("messages", "count_tokens") or info.name == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
    if info.name == "openrouter" and openrouter is not None:
        headers |= {"x-title": openrouter.app_name} if openrouter.app_name else {}
        headers |= {"http-referer": openrouter.app_url} if openrouter.app_url else {}
    return headers


def body_defaults(llm: Llm | Fallback, openrouter: Openrouter | None = None) -> dict[str, Any]:
    """Top-level body fields this upstream is given when the client's body doesn't have them; mostly none."""
    if openrouter is None or provider_of(llm).name != "openrouter":
        return {}
    fallbacks = [name.strip() for name in openrouter.fallback_models.split(",") if name.strip()]
    fields: dict[str, Any] = {}
    if fallbacks:
        fields["models"] = [name for name in (llm.model_id, *fallbacks) if name]
        fields |= {"route": openrouter.route} if openrouter.route else {}
    if openrouter.data_policy:
        fields["provider"] = {"data_collection": openrouter.data_policy}
    return fields


def missing(llm: Llm) -> str:
    """What keeps model calls from being answered, in one line; empty when nothing does."""
    provider = PROVIDERS[llm.provider]
    if llm.auth_method == "oauth_token":
        if provider.vendor_cli:
            return ""
        return f"llm.provider {llm.provider} has no subscription program; choose one with `metaclaw setup`"
    try:
        endpoints(llm)
    except ProviderError as error:
        return str(error)
    if llm.auth_method == "passthrough" or not provider.needs_key or llm.api_key.get_secret_value():
        return ""
    named = f", or set {provider.key_env[0]}" if provider.key_env else ""
    return f"no API key for {provider.title}: run `metaclaw setup`{named}"
