"""How each vendor's program is called as a plain model: arguments, environment, files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from metaclaw.providers import PROVIDERS

INSTRUCTIONS = "instructions.md"
_MODEL = re.compile(r"^[A-Za-z0-9][\w.:/@\[\]-]{0,199}$")
# Nothing of these reaches the program: keys that would be used in place of the subscription, addresses that could lead
# back to MetaClaw itself, and MetaClaw's own settings.
_OTHERS = re.compile(
    r"^(METACLAW_|ANTHROPIC_|OPENAI_|CLAUDECODE$|CLAUDE_CODE_(?!OAUTH_TOKEN$)|CODEX_(?!HOME$|ACCESS_TOKEN$)|GEMINI_"
    r"|GOOGLE_(?!CLOUD_PROJECT|CLOUD_ACCESS_TOKEN$)|CODE_ASSIST_|AWS_BEARER_TOKEN)|_API_KEY$"
)


@dataclass(frozen=True, slots=True)
class Program:
    """One vendor's program.

    `arguments` gets the private folder and the model (may be empty); `files` are put into that folder, of which
    `work` is the program's working folder.
    """

    name: str
    title: str
    arguments: Callable[[Path, str], list[str]]
    environment: Callable[[Path, str], dict[str, str]]
    files: Mapping[str, str]
    login: str
    install: str


def _claude_arguments(folder: Path, model: str) -> list[str]:
    return [
        "-p",
        *("--output-format", "stream-json"),
        "--verbose",
        "--include-partial-messages",
        *("--tools", ""),
        "--strict-mcp-config",
        "--disable-slash-commands",
        *("--setting-sources", ""),
        "--no-session-persistence",
        *("--system-prompt-file", str(folder / INSTRUCTIONS)),
        *(("--model", model) if model else ()),
    ]


def _claude_environment(folder: Path, token: str) -> dict[str, str]:
    environment = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    return environment | ({"CLAUDE_CODE_OAUTH_TOKEN": token} if token else {})


_CODEX_OFF = (
    "shell_tool", "unified_exec", "shell_snapshot", "view_image", "image_generation", "multi_agent", "apps", "plugins",
    "hooks", "goals", "skill_search", "tool_suggest", "memories",
)  # fmt: skip


def _codex_arguments(folder: Path, model: str) -> list[str]:
    settings = [
        f"model_instructions_file={json.dumps(str(folder / INSTRUCTIONS))}",
        'web_search="disabled"',
        "project_doc_max_bytes=0",
        "include_environment_context=false",
        "skills.include_instructions=false",
        *(f"features.{name}=false" for name in _CODEX_OFF),
    ]
    return [
        "exec",
        "--json",
        "--ephemeral",
        "--skip-git-repo-check",
        "--ignore-user-config",
        "--ignore-rules",
        *("--sandbox", "read-only"),
        *("--color", "never"),
        *(part for setting in settings for part in ("-c", setting)),
        *(("-m", model) if model else ()),
        "-",
    ]


def _codex_environment(folder: Path, token: str) -> dict[str, str]:
    return {"CODEX_API_KEY" if token.startswith("sk-") else "CODEX_ACCESS_TOKEN": token} if token else {}


_GEMINI_SETTINGS = {
    "tools": {"core": []},
    "hooksConfig": {"enabled": False},
    "skills": {"enabled": False},
    "experimental": {"enableAgents": False},
    "context": {"fileName": []},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
_GEMINI_POLICY = """[[rule]]
toolName = "*"
decision = "deny"
priority = 999
"""
_GEMINI_FILES = MappingProxyType(
    {"work/.gemini/settings.json": json.dumps(_GEMINI_SETTINGS), "policy.toml": _GEMINI_POLICY}
)


def _gemini_arguments(folder: Path, model: str) -> list[str]:
    return [
        *("--output-format", "stream-json"),
        *("--policy", str(folder / "policy.toml")),
        *("-e", "none"),
        *("--allowed-mcp-server-names", "none"),
        *(("-m", model) if model else ()),
    ]


def _gemini_environment(folder: Path, token: str) -> dict[str, str]:
    environment = {
        "GEMINI_SYSTEM_MD": str(folder / INSTRUCTIONS),
        "GOOGLE_GENAI_USE_GCA": "true",
        # The working folder is ours and holds our settings alone; without this they are not read.
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "NO_BROWSER": "true",
    }
    return environment | ({"GOOGLE_CLOUD_ACCESS_TOKEN": token} if token else {})


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        "claude": Program(
            "claude", "Claude Code", _claude_arguments, _claude_environment, {},
            "run `claude setup-token`, then `metaclaw auth paste-token --provider anthropic`",
            "npm install -g @anthropic-ai/claude-code",
        ),
        "codex": Program(
            "codex", "Codex", _codex_arguments, _codex_environment, {},
            "run `codex login`, or `metaclaw auth paste-token --provider openai-codex`",
            "npm install -g @openai/codex",
        ),
        "gemini": Program(
            "gemini", "Gemini CLI", _gemini_arguments, _gemini_environment, _GEMINI_FILES,
            "run `gemini` once and sign in, or `metaclaw auth paste-token --provider gemini`",
            "npm install -g @google/gemini-cli",
        ),
    }
)  # fmt: skip


def program_for(provider: str) -> Program | None:
    """The program that answers for a provider's subscribers, if its vendor has one."""
    return PROGRAMS.get(PROVIDERS[provider].vendor_cli)


def usable_model(model: str) -> bool:
    """Whether a model name can stand among arguments; one that looks like a flag can't."""
    return not model or bool(_MODEL.match(model))


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment a program inherits: all but keys, addresses and MetaClaw's own settings."""
    return {name: value for name, value in environ.items() if not _OTHERS.search(name.upper())}
