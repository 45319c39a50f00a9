"""Generated configuration files: OpenClaw-like values, written as JSON5 in every style a person might use."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

names = st.text("abcdefgXYZ_$-. é", min_size=1, max_size=6)
texts = st.one_of(st.text(max_size=12), st.sampled_from(["//", "/*", "*/", "a,b", "{", "}", '"', "'", "\\", "a\nb"]))
texts = texts.filter(lambda text: not re.search("[\u2028\u2029\ud800-\udfff]", text))
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6), texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
refs = st.sampled_from(["openai/gpt-5.4", "anthropic/claude-sonnet-4-6", "mine/large", "sonnet"])
models = st.one_of(refs, st.fixed_dictionaries({}, optional={"primary": refs, "fallbacks": st.lists(refs, max_size=2)}))
catalogs = st.dictionaries(refs, st.sampled_from([{}, {"alias": "sonnet"}]), max_size=2)
policies = st.sampled_from([{}, {"allow": []}, {"allow": ["openai/*"]}, {"allow": ["metaclaw/*"]}])
providers = st.dictionaries(st.sampled_from(["openai", "mine"]), values, max_size=2)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """An OpenClaw configuration: what wiring touches may be there or not, and anything else may stand beside it."""
    config: dict[str, Any] = draw(st.dictionaries(names, values, max_size=3))
    defaults = draw(st.dictionaries(names, values, max_size=2))
    for key, choices in {"model": models, "models": catalogs, "modelPolicy": policies}.items():
        if draw(st.booleans()):
            defaults[key] = draw(choices)
    if draw(st.booleans()):
        config["agents"] = {"defaults": defaults} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        config["models"] = {"mode": "merge", "providers": draw(providers)} if draw(st.booleans()) else {}
    keys = draw(st.permutations(list(config)))
    return {key: config[key] for key in keys}


@st.composite
def written(draw: st.DrawFn, value: Any) -> bytes:
    """The value as a JSON5 text, in a style of its own."""
    newline = draw(st.sampled_from(["\n", "\r\n", ""]))
    unit = draw(st.sampled_from(["  ", "    ", "\t"]))
    head = draw(st.sampled_from(["", "// mine\n", "\ufeff", "/* a { \n b */ "]))
    return (head + _write(draw, value, newline, unit, "") + draw(st.sampled_from(["", "\n", "\n// end"]))).encode()


def _write(draw: st.DrawFn, value: Any, newline: str, unit: str, indent: str) -> str:
    if isinstance(value, dict | list) and value:
        inner = indent + unit
        before = f"{newline}{inner}" if newline else draw(st.sampled_from(["", " "]))
        comments = ["", "", "", " /* { , */"] + ([f" // it's, fine }}{newline}{inner}"] if newline else [])
        parts = []
        for item in value.items() if isinstance(value, dict) else enumerate(value):
            key = f"{_key(draw, item[0])}{draw(st.sampled_from(['', ' ']))}: " if isinstance(value, dict) else ""
            comment = draw(st.sampled_from(comments))
            parts.append(f"{before}{key}{_write(draw, item[1], newline, unit, inner)}{comment}")
        tail = draw(st.sampled_from(["", ","])) + draw(st.sampled_from(comments))
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return opening + ",".join(parts) + tail + (f"{newline}{indent}" if newline else "") + closing
    if isinstance(value, str):
        return _string(draw, value)
    return json.dumps(value)


def _key(draw: st.DrawFn, key: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", key) and key not in {"true", "false", "null"}
    return key if plain and draw(st.booleans()) else _string(draw, key)


def _string(draw: st.DrawFn, text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        body = quoted[1:-1].replace('\\"', '"').replace("'", "\\'")
        return f"'{body}'"
    return quoted
