"""docs/memory.md names every endpoint and every setting."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from metaclaw_sidecar.settings import LlmSettings, Settings

TEXT = (Path(__file__).parents[4] / "docs" / "memory.md").read_text(encoding="utf-8")
IN_THE_LLM_FILE_ONLY = {"LLM_HEADERS", "LLM_COMMAND"}


async def test_every_endpoint_is_described(client: httpx.AsyncClient) -> None:
    written = {re.sub(r"\{\w+\}", "{}", path) for path in re.findall(r"(?<![\w.])/[a-z_]+(?:/[a-z_{}]+)*", TEXT)}
    paths = (await client.get("/openapi.json")).json()["paths"]
    assert {re.sub(r"\{\w+\}", "{}", path) for path in paths} - written == set()


def test_every_setting_is_described() -> None:
    names = {name.upper() for name in Settings.model_fields if name != "llm"}
    names |= {f"LLM_{name.upper()}" for name in LlmSettings.model_fields} - IN_THE_LLM_FILE_ONLY
    table = TEXT[TEXT.index("## Settings") :]
    assert {name for name in names if f"`{name}`" not in table} == set()
