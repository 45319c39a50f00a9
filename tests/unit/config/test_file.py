"""`config.yaml` as something to change."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaclaw.config import ConfigError, ConfigFile, load
from metaclaw.config.schema import Key, keys

TEXT = "# mine\nllm:\n  provider: kimi   # the best\n  model_id: 'k'\n\n# end\n"


def value_for(key: Key) -> st.SearchStrategy[str]:
    """Text a person might give for this key."""
    if key.kind == "choice":
        return st.sampled_from(key.choices)
    return {
        "bool": st.sampled_from(["true", "false", "yes", "no", "on", "off"]),
        "int": st.integers(1, 60000).map(str),
        "float": st.integers(1, 4000).map(lambda number: str(number / 4)),
        "list": st.lists(st.from_regex(r"[a-z0-9.:]{1,8}", fullmatch=True), max_size=3).map(",".join),
        "upstreams": st.just('[{"provider": "kimi", "model_id": "0012"}]'),
    }.get(key.kind, st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*keys().values()]).flatmap(lambda key: st.tuples(st.just(key), value_for(key))))
def test_what_is_set_is_what_counts(environ: dict[str, str], tmp_path: Path, case: tuple[Key, str]) -> None:
    key, text = case
    if key.name in ("proxy.host", "skills.min_score") or (key.name == "llm.retries" and int(text) > 10):
        return
    path = tmp_path / "config.yaml"
    path.write_text(TEXT, encoding="utf-8")
    file = ConfigFile(path, environ)
    try:
        file.set(key.name, text)
    except ConfigError as error:
        assert "must be at most" in str(error) or "must be less than" in str(error)
        return
    loaded = load(path, environ)
    found = loaded.value(key.name)
    if key.kind in ("text", "secret"):
        assert (found.get_secret_value() if key.secret else found) == text
    elif key.kind == "int":
        assert found == int(text)
    elif key.kind == "float":
        assert found == float(text)
    elif key.kind == "bool":
        assert found == (text in ("true", "yes", "on"))
    assert loaded.origins[key.name] == "file"
    if key.name not in ("llm.provider", "llm.model_id"):
        after = path.read_text(encoding="utf-8")
        assert all(line in after for line in TEXT.splitlines())
        file.unset(key.name)
        assert load(path, environ).origins[key.name] == "default"


def test_the_first_set_makes_the_file_and_folder_private(environ: dict[str, str]) -> None:
    file = ConfigFile(environ=environ)
    assert file.set("proxy.port", "40000")
    assert not file.set("proxy.port", 40000)
    assert file.path.read_text(encoding="utf-8") == "proxy:\n  port: 40000\n"
    assert file.get("proxy.port") == "40000"
    assert file.get("proxy.host") is None
    if os.name == "posix":
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_the_file_as_it_was_is_kept_beside_it(environ: dict[str, str], config: Path) -> None:
    config.write_text(TEXT, encoding="utf-8")
    ConfigFile(environ=environ).set("llm.provider", "openai")
    assert config.read_text(encoding="utf-8") == TEXT.replace("kimi", "openai")
    assert config.with_name("config.yaml.bak").read_text(encoding="utf-8") == TEXT


def test_a_secret_taken_out_leaves_no_copy(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm:\n  api_key: sk-secret\n  model_id: m\n", encoding="utf-8")
    file = ConfigFile(environ=environ)
    file.set("llm.model_id", "n")
    file.unset("llm.api_key")
    assert [entry for entry in config.parent.iterdir() if b"sk-secret" in entry.read_bytes()] == []


def test_a_key_under_its_old_name_is_changed_where_it_stands(environ: dict[str, str], config: Path) -> None:
    config.write_text("rl:\n  tinker_api_key: old\n", encoding="utf-8")
    file = ConfigFile(environ=environ)
    file.set("rl.api_key", "new")
    assert config.read_text(encoding="utf-8") == "rl:\n  tinker_api_key: new\n"
    file.unset("rl.tinker_api_key")
    assert load(environ=environ).origins["rl.api_key"] == "default"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("proxy.prot", "1", "unknown key; did you mean proxy.port?"),
        ("proxy", "1", "is a section; name one of its keys: port, host"),
        ("proxy.port", "many", "must be a whole number, not 'many'"),
        ("proxy.port", "0", "must be at least 1"),
        ("proxy.host", "0.0.0.0", "set proxy.api_key"),
        ("mode", "quick", "must be one of auto, rl, skills_only"),
        ("llm.model_id", "a\udc80", "not valid text"),
        ("llm.fallbacks", '[{"provider": "kimi"}]', "model_id: is missing"),
    ],
)
def test_what_is_not_sound_is_refused_and_nothing_is_written(
    key: str, value: str, message: str, environ: dict[str, str], config: Path
) -> None:
    config.write_text(TEXT, encoding="utf-8")
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        ConfigFile(environ=environ).set(key, value)
    assert config.read_text(encoding="utf-8") == TEXT
    assert not config.with_name("config.yaml.bak").exists()


def test_a_broken_file_is_never_overwritten(environ: dict[str, str], config: Path) -> None:
    config.write_text("llm: [\n", encoding="utf-8")
    file = ConfigFile(environ=environ)
    for act in (lambda: file.set("mode", "rl"), lambda: file.unset("mode"), lambda: file.replace("mode: rl\n")):
        with pytest.raises(ConfigError, match="not YAML"):
            act()
    assert config.read_text(encoding="utf-8") == "llm: [\n"
    assert len(file.problems()) == 1


def test_a_fault_elsewhere_does_not_stand_in_the_way_of_mending(environ: dict[str, str], config: Path) -> None:
    config.write_text("proxy:\n  port: many\nbogus: 1\n", encoding="utf-8")
    file = ConfigFile(environ=environ)
    assert file.set("mode", "rl")
    assert file.set("proxy.port", "30001")
    assert [problem.key for problem in file.problems()] == ["bogus"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_to_a_file_elsewhere_stays_a_link(environ: dict[str, str], config: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    real.write_text(TEXT, encoding="utf-8")
    config.symlink_to(real)
    ConfigFile(environ=environ).set("llm.provider", "openai")
    assert config.is_symlink()
    assert "openai" in real.read_text(encoding="utf-8")


def test_writers_at_once_lose_nothing(environ: dict[str, str]) -> None:
    wanted = {"proxy.port": "1", "skills.top_k": "2", "memory.top_k": "3", "rl.lora_rank": "4", "llm.retries": "5"}
    threads = [threading.Thread(target=ConfigFile(environ=environ).set, args=pair) for pair in wanted.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file = ConfigFile(environ=environ)
    assert {key: file.get(key) for key in wanted} == wanted


def test_aliases_of_aliases_are_refused_before_they_grow(environ: dict[str, str], config: Path) -> None:
    lines = ["a: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    config.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ConfigError, match="too many values"):
        load(environ=environ)
    config.write_text("llm: " + "[" * 5000, encoding="utf-8")
    with pytest.raises(ConfigError, match="nested too deep"):
        load(environ=environ)
