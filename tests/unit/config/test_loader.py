"""The effective configuration: who wins, what it says when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from metaclaw.config import ConfigError, Secrets, expand, home, load
from metaclaw.config.document import parse_document
from metaclaw.config.loader import resolve
from metaclaw.config.schema import OLD_NAMES, RETIRED, find, keys, variable

PUBLIC_KEYS = """
mode claw_type llm.auth_method llm.provider llm.model_id llm.api_base llm.api_key proxy.port proxy.host proxy.api_key
skills.enabled skills.dir skills.retrieval_mode skills.top_k skills.task_specific_top_k skills.auto_evolve
skills.evolution_every_n_turns rl.enabled rl.backend rl.model rl.api_key rl.tinker_api_key rl.base_url
rl.tinker_base_url rl.prm_url rl.prm_model rl.prm_api_key rl.lora_rank rl.batch_size rl.resume_from_ckpt
rl.evolver_api_base rl.evolver_api_key rl.evolver_model rl.manual_train_trigger opd.enabled opd.teacher_url
opd.teacher_model opd.teacher_api_key opd.kl_penalty_coef memory.enabled memory.top_k memory.max_tokens
memory.retrieval_mode memory.consolidation_interval memory.store_path memory.sidecar_url memory.scope
memory.auto_extract memory.auto_consolidate memory.flush_every memory.auto_upgrade_enabled
memory.auto_upgrade_interval_seconds memory.auto_upgrade_require_review max_context_tokens context_window
scheduler.enabled scheduler.sleep_start scheduler.sleep_end scheduler.idle_threshold_minutes
scheduler.min_window_minutes scheduler.calendar.enabled scheduler.calendar.credentials_path
scheduler.calendar.token_path wechat.enabled openrouter.app_name openrouter.app_url openrouter.route
openrouter.fallback_models openrouter.data_policy openclaw_env_data_dir configure_openclaw
"""


@pytest.mark.parametrize("name", PUBLIC_KEYS.split())
def test_every_key_of_the_public_documentation_is_known(name: str) -> None:
    assert find(name).name in keys()


def test_no_two_keys_share_a_variable() -> None:
    names = [key.variable for key in keys().values()] + [variable(old) for old in OLD_NAMES]
    assert len(names) == len(set(names))


def test_without_a_file_everything_is_at_its_default(environ: dict[str, str]) -> None:
    loaded = load(environ=environ)
    assert not loaded.exists
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.settings.proxy.port == 30000


def test_the_type_of_a_value_is_the_keys_and_not_the_texts(environ: dict[str, str], config: Path) -> None:
    config.write_text(
        "llm:\n  api_key: 0012345\n  model_id: 1e3\nproxy: {port: '30_001', api_key: 0x10}\n"
        "scheduler:\n  sleep_start: 23:00\n  sleep_end: 07:00\n  enabled: yes\nclaws: [010, on]\n"
        "wechat: {enabled: Off}\n",
        encoding="utf-8",
    )
    settings = load(environ=environ).settings
    assert settings.llm.api_key.get_secret_value() == "0012345"
    assert settings.llm.model_id == "1e3"
    assert (settings.proxy.port, settings.proxy.api_key.get_secret_value()) == (30001, "0x10")
    assert (settings.scheduler.sleep_start, settings.scheduler.sleep_end) == ("23:00", "07:00")
    assert (settings.scheduler.enabled, settings.wechat.enabled) == (True, False)
    assert settings.claws == ["010", "on"]


def test_environment_wins_over_file_and_file_over_stored_secret(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm: {api_key: from-file}\nproxy: {port: 1}\nrl: {prm_api_key: from-file}\n", encoding="utf-8")
    secrets = Secrets(environ=environ)
    for name in ("llm.api_key", "rl.prm_api_key", "rl.evolver_api_key"):
        secrets.set(name, "from-store")
    loaded = load(environ=environ | {"METACLAW_LLM_API_KEY": "from-env", "METACLAW_PROXY_PORT": " 2 "})
    assert loaded.settings.llm.api_key.get_secret_value() == "from-env"
    assert loaded.settings.rl.prm_api_key.get_secret_value() == "from-file"
    assert loaded.settings.rl.evolver_api_key.get_secret_value() == "from-store"
    assert loaded.settings.proxy.port == 2
    assert loaded.origins["llm.api_key"] == "environment"
    assert loaded.variables["proxy.port"] == "METACLAW_PROXY_PORT"
    assert loaded.origins["rl.prm_api_key"] == "file"
    assert loaded.origins["rl.evolver_api_key"] == "secrets file"


def test_an_empty_variable_or_value_counts_as_unset(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm:\nproxy:\n  port:\n  host: ~\nskills: {dir: null}\n", encoding="utf-8")
    loaded = load(environ=environ | {"METACLAW_PROXY_PORT": "", "OPENAI_API_KEY": " "})
    assert set(loaded.origins.values()) == {"default"}


def test_lists_and_fallbacks_come_from_variables_too(environ: dict[str, str]) -> None:
    loaded = load(
        environ=environ
        | {
            "METACLAW_CLAWS": "openclaw, hermes",
            "METACLAW_LLM_FALLBACKS": '[{"provider": "kimi", "model_id": "kimi-k2.5"}]',
            "METACLAW_SCHEDULER_CALENDAR_ENABLED": "true",
            "MOONSHOT_API_KEY": "sk-moon",
            "METACLAW_LLM_PROVIDER": "custom",
        }
    )
    assert loaded.settings.claw_names() == ["openclaw", "hermes"]
    assert loaded.settings.scheduler.calendar.enabled
    fallback = loaded.settings.llm.fallbacks[0]
    assert (fallback.model_id, fallback.api_key.get_secret_value()) == ("kimi-k2.5", "sk-moon")
    assert loaded.secret_values() == ["sk-moon"]


def test_old_names_and_the_old_mode_still_count(environ: dict[str, str], config: Path) -> None:
    config.write_text(
        "mode: madmax\nconfigure_openclaw: false\nrl: {tinker_api_key: 00k, tinker_base_url: https://t.example.com}\n"
        "memory: {dir: /srv/memory, use_embeddings: false, max_injected_units: 7}\n",
        encoding="utf-8",
    )
    config.chmod(0o600)
    loaded = load(environ=environ | {"METACLAW_RL_TINKER_BASE_URL": "https://e.example.com"})
    settings = loaded.settings
    assert (settings.mode, settings.configure_claws) == ("auto", False)
    assert (settings.rl.api_key.get_secret_value(), settings.rl.base_url) == ("00k", "https://e.example.com")
    assert (settings.memory.store_path, settings.memory.top_k) == ("/srv/memory", 7)
    assert loaded.origins["rl.api_key"] == "file"
    assert loaded.warnings == (f"{config}:4:28: memory.use_embeddings: has no effect any more; remove it",)


def test_a_provider_key_in_the_environment_is_used_when_none_is_set(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm: {provider: kimi, model_id: k}\n", encoding="utf-8")
    loaded = load(environ=environ | {"MOONSHOT_API_KEY": "sk-1", "OPENAI_API_KEY": "sk-2"})
    assert loaded.settings.llm.api_key.get_secret_value() == "sk-1"
    assert (loaded.origins["llm.api_key"], loaded.variables["llm.api_key"]) == ("environment", "MOONSHOT_API_KEY")


def test_with_nothing_said_the_provider_whose_key_is_there_answers(environ: dict[str, str]) -> None:
    loaded = load(environ=environ | {"ANTHROPIC_API_KEY": "sk-ant"})
    assert loaded.settings.llm.provider == "anthropic"
    assert loaded.settings.llm.api_key.get_secret_value() == "sk-ant"


def test_a_provider_key_never_goes_to_a_server_that_is_not_the_providers(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm: {api_base: https://llm.example.com/v1}\n", encoding="utf-8")
    loaded = load(environ=environ | {"OPENAI_API_KEY": "sk-2"})
    assert loaded.settings.llm.api_key.get_secret_value() == ""


def test_training_services_are_found_by_their_own_variables(environ: dict[str, str], config: Path) -> None:
    config.write_text("rl: {backend: mint}\n", encoding="utf-8")
    given = {"TINKER_API_KEY": "t", "MINT_API_KEY": "m", "MINT_BASE_URL": "https://mint.example.com"}
    settings = load(environ=environ | given).settings
    assert (settings.rl.api_key.get_secret_value(), settings.rl.base_url) == ("m", "https://mint.example.com")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("proxy:\n  prot: 1\n", ":2:3: proxy.prot: unknown key; did you mean proxy.port?"),
        ("api_key: x\n", ":1:1: api_key: unknown key; did you mean"),
        ("proxy.port: 1\n", ":1:1: proxy.port: write it nested, not with dots"),
        ("proxy:\n  port: 99999\n", ":2:9: proxy.port: must be at most 65535, not '99999'"),
        ("proxy: {port: many}\n", ":1:15: proxy.port: must be a whole number, not 'many'"),
        ("mode: fast\n", ":1:7: mode: must be one of auto, rl, skills_only, not 'fast'"),
        ("wechat: {enabled: maybe}\n", "wechat.enabled: must be true or false, not 'maybe'"),
        ("llm: {idle_timeout_seconds: .inf}\n", "llm.idle_timeout_seconds: must be a number, not '.inf'"),
        ("llm: {idle_timeout_seconds: inf}\n", "llm.idle_timeout_seconds: must be a finite number, not 'inf'"),
        ("llm: {retries: -1}\n", "llm.retries: must be at least 0, not '-1'"),
        ("proxy: 30000\n", ":1:8: proxy: is a section: put `key: value` lines under it"),
        ("claws: {a: b}\n", ":1:8: claws: must be a list"),
        ("skills: {dir: [a]}\n", ":1:15: skills.dir: must be text"),
        ("llm:\n  fallbacks:\n    - modle_id: x\n", "modle_id: unknown key; did you mean model_id?"),
        ("llm:\n  fallbacks:\n    - provider: kimi\n", ":3:7: llm.fallbacks.0.model_id: is missing"),
        ("mode: rl\nmode: auto\n", ":2:1: mode: given twice; keep one"),
        ("a: b: c\n", ":1:5: not YAML: mapping values are not allowed here"),
        ("mode: rl\n\t- x\n", ":2:1: not YAML"),
        ("mode: 'rl\n", ":2:1: not YAML: found unexpected end of stream"),
        ("- x\n", ":1:1: must be `key: value` lines"),
        ("mode: rl\n---\nmode: rl\n", ":2:1: not YAML"),
        ("mode: r\x07l\n", ":1:8: not YAML: a control character"),
        ("a: *b\n", "not YAML: found undefined alias"),
        ("a: &a [*a]\n", ""),
        ("proxy:\n  host: 0.0.0.0\n", ":2:9: proxy.host: 0.0.0.0 lets other machines in: set proxy.api_key"),
    ],
)  # fmt: skip
def test_a_fault_is_told_in_one_line_with_its_place(
    text: str, message: str, environ: dict[str, str], config: Path
) -> None:
    config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(environ=environ)
    assert str(caught.value).startswith(str(config))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert config.read_text(encoding="utf-8") == text


def test_text_in_another_encoding_is_told_with_its_place(environ: dict[str, str], config: Path) -> None:
    config.write_bytes(b"mode: rl\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r":2:6: not UTF-8"):
        load(environ=environ)


def test_several_faults_are_counted_and_all_kept(environ: dict[str, str], config: Path) -> None:
    config.write_text("proxy: {port: 0, prot: 1}\nmode: x\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="and 2 more: see `metaclaw config validate`") as caught:
        load(environ=environ)
    assert len(caught.value.problems) == 3


def test_a_fault_in_a_variable_names_the_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"^METACLAW_PROXY_PORT: proxy\.port: must be a whole number"):
        load(environ=environ | {"METACLAW_PROXY_PORT": "x"})


def test_a_variable_that_is_nearly_ours_is_warned_of(environ: dict[str, str]) -> None:
    given = {"METACLAW_PROXY_PROT": "1", "METACLAW_SIDECAR_PORT": "1", "METACLAW_TEST_TOOLS": "x"}
    (warning,) = load(environ=environ | given).warnings
    assert warning == "METACLAW_PROXY_PROT: unknown variable, without effect; did you mean METACLAW_PROXY_PORT?"


@pytest.mark.parametrize(
    "text", ["llm: {api_key: [sk-secret]}", 'llm: {api_key: "sk-secret', "llm: {retries: {sk-secret: 1}}"]
)
def test_no_message_tells_a_secret(text: str, environ: dict[str, str], config: Path) -> None:
    config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(environ=environ)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_key(host: str, environ: dict[str, str]) -> None:
    assert load(environ=environ | {"METACLAW_PROXY_HOST": host}).settings.proxy.host == host


def test_beyond_loopback_a_stored_key_is_enough_even_when_it_is_not_read(environ: dict[str, str]) -> None:
    Secrets(environ=environ).set("proxy.api_key", "sk-gate")
    given = environ | {"METACLAW_PROXY_HOST": "0.0.0.0"}
    assert load(environ=given).settings.proxy.api_key.get_secret_value() == "sk-gate"
    unread = load(environ=given, read_secrets=False)
    assert unread.settings.proxy.api_key.get_secret_value() == ""
    assert unread.stored == {"proxy.api_key": "proxy.api_key"}


def test_a_file_with_keys_that_others_may_read_is_warned_of(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm: {api_key: k}\n", encoding="utf-8")
    config.chmod(0o644)
    assert "chmod 600" in load(environ=environ).warnings[0]
    config.chmod(0o600)
    assert load(environ=environ).warnings == ()


def test_a_provider_key_pasted_by_name_is_used_when_that_provider_answers(environ: dict[str, str]) -> None:
    secrets = Secrets(environ=environ)
    secrets.set("kimi:key", "sk-kimi")
    secrets.set("anthropic:token", "tok")
    loaded = load(environ=environ | {"METACLAW_LLM_PROVIDER": "kimi", "MOONSHOT_API_KEY": "sk-env"})
    assert loaded.settings.llm.api_key.get_secret_value() == "sk-kimi"
    assert loaded.stored == {"llm.api_key": "kimi:key"}
    loaded = load(environ=environ | {"METACLAW_LLM_PROVIDER": "anthropic", "METACLAW_LLM_AUTH_METHOD": "oauth_token"})
    assert loaded.settings.llm.oauth_token.get_secret_value() == "tok"


def test_the_state_folder_moves_with_its_variable(tmp_path: Path) -> None:
    environ = {"METACLAW_HOME": str(tmp_path)}
    assert home(environ) == tmp_path
    assert home({"METACLAW_HOME": " "}) == Path.home() / ".metaclaw"
    assert expand("~/.metaclaw/skills", environ) == tmp_path / "skills"
    assert expand("skills", environ) == tmp_path / "skills"
    assert expand("~/mine", environ) == Path.home() / "mine"
    assert expand(str(tmp_path / "x"), environ) == tmp_path / "x"


def test_retired_keys_are_no_keys() -> None:
    assert not set(RETIRED) & set(keys())
    for name in RETIRED:
        with pytest.raises(ConfigError):
            find(name)


YAMLISH = st.text(st.sampled_from("ab:-{}[],&*!|>'\"#%@`?~ \n\t0.<=\ufeff\x85\u2028é😀"), max_size=40)


@examples(max_examples=300, deadline=None)
@given(st.text(max_size=30) | YAMLISH | YAMLISH.map(lambda text: f"llm:\n  {text}"))
def test_any_text_is_a_configuration_or_a_one_line_fault(text: str) -> None:
    try:
        resolve(parse_document(text, "config.yaml"), Path("config.yaml"), {"METACLAW_HOME": "/nowhere"})
    except ConfigError as error:
        assert str(error).startswith("config.yaml")
        assert str(error).splitlines() == [str(error)]
