"""Twenty kinds of secrets: none reaches the store's file, and an old row that holds one is redacted when it is read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from metaclaw_sidecar.service import Said

from .conversation import conversation

HEX = "0123456789abcdef"
ALNUM = "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8kL0n"
SECRETS = {
    "AWS key id": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub token": "ghp_" + ALNUM[:36],
    "GitHub fine-grained": "github_pat_" + ALNUM + ALNUM[:20],
    "GitLab token": "glpat-" + ALNUM[:20],
    "OpenAI key": "sk-proj-" + ALNUM,
    "Anthropic key": "sk-ant-api03-" + ALNUM,
    "Google key": "AIza" + ALNUM[:35],
    "Google OAuth": "ya29." + ALNUM,
    "Slack token": "xoxb-123456789012-" + ALNUM[:24],
    "Stripe key": "sk_live_" + ALNUM[:24],
    "Twilio key": "SK" + HEX * 2,
    "SendGrid key": "SG." + ALNUM[:22] + "." + ALNUM + ALNUM[:3],
    "npm token": "npm_" + ALNUM[:36],
    "PyPI token": "pypi-AgEIcHlwaS5vcmc" + ALNUM,
    "Hugging Face token": "hf_" + ALNUM[:34],
    "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + ALNUM,
    "Telegram bot": "123456789:AA" + ALNUM[:33],
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n" + ALNUM + "\n-----END RSA PRIVATE KEY-----",
    "URL with password": "postgres://shop:" + ALNUM[:12] + "@db.example.com/shop",
    "named password": "password: " + ALNUM[:12] + "!",
    "card number": "5425 2334 3010 9903",
    "bearer": "Authorization: Bearer " + ALNUM,
}


def secret_part(text: str) -> str:
    """What must not be found anywhere."""
    for lead in ("postgres://shop:", "password: ", "Authorization: Bearer "):
        text = text.removeprefix(lead)
    return text.split("@db.")[0].splitlines()[1 if text.startswith("-----") else 0]


def in_files(folder: Path, text: str) -> list[str]:
    """The files that hold a text."""
    return [file.name for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def test_no_secret_reaches_the_disk_or_a_fact(tmp_path: Path) -> None:
    assert len(SECRETS) >= 20
    script = [
        {"invented": True, "when": "here it is", "quote": "here it is", "content": f"The user's {name} is {value}."}
        for name, value in SECRETS.items()
    ]
    async with conversation(tmp_path, script) as talk:
        for name, value in SECRETS.items():
            said = Said(f"my {name}, here it is:\n{value}\nkeep it", f"I noted {value} as your {name}")
            await talk.service.intake.buffer_turn(talk.scope, "s1", said)
        await talk.service.intake.flush_session(talk.scope, "s1", final=True, wait=60)
        held = await talk.held()
    leaked = {name: in_files(tmp_path / "memory", secret_part(value)) for name, value in SECRETS.items()}
    assert {name: files for name, files in leaked.items() if files} == {}
    assert not held


@pytest.mark.parametrize("name", sorted(SECRETS))
async def test_a_secret_in_an_old_row_is_redacted_when_it_is_read(tmp_path: Path, name: str) -> None:
    value = SECRETS[name]
    async with conversation(tmp_path, [{"quote": "I like figs", "content": "The user likes figs."}]) as talk:
        await talk.say("I like figs")
    with sqlite3.connect(tmp_path / "memory" / "memory.sqlite3") as db:
        db.execute("UPDATE memories SET content = content || ' ' || ?", (value,))
        db.execute("UPDATE turns SET prompt = prompt || ' ' || ?", (value,))
    async with conversation(tmp_path, []) as talk:
        found = await talk.service.recall.search(talk.scope, "figs", limit=10)
        block = await talk.service.recall.retrieve(talk.scope, "figs", min_score=0.0)
        assert found.results
        assert secret_part(value) not in str(found.results) + block.rendered_prompt + str(await talk.held())
