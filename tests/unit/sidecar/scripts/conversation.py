"""Conversations told to a real service, whose extracting model answers from a script.

The model is a small program, asked as the product asks any: it gives the facts that the script holds for what the
turns say, numbers turns and known memories as the request does, and knows nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaclaw_sidecar.records import seconds
from metaclaw_sidecar.service import Said, Service
from tests.unit.sidecar.service.conftest import opened

_PROGRAM = r"""
import json, pathlib, sys
asked = json.load(sys.stdin)
script = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
text = asked["messages"][-1]["content"]
rows = lambda part: [json.loads(line) for line in part.splitlines() if line.startswith("{")]
head, _, tail = text.rpartition("Turns:\n")
turns, known = rows(tail), rows(head)
facts = []
for turn in turns:
    for fact in script:
        side = turn[fact.get("said_by", "user")]
        if fact["quote"] not in side and not fact.get("invented"):
            continue
        if fact.get("invented") and fact["when"] not in side:
            continue
        about = fact.get("about", "\0")
        number = next((one["known"] for one in known if about in one["content"]), None)
        facts.append({"said_by": "user", "kind": "semantic", "subject": "user", "change": "new", **fact,
                      "turn": turn["turn"], "known": number})
answer = {"facts": facts, "summary": ""}
print(json.dumps({"text": json.dumps(answer), "usage": {"prompt": len(text) // 4, "completion": 9}}))
"""


@dataclass(frozen=True)
class Talk:
    """A service and one scope of it."""

    service: Service
    scope: str = "ann"

    async def say(
        self, *turns: str, on: str = "2026-03-02T10:00:00Z", session: str = "s1", answer: str = "Ok."
    ) -> None:
        """Tell turns of one day, and let the model read them."""
        at = seconds(on)
        for number, text in enumerate(turns):
            await self.service.intake.buffer_turn(
                self.scope, session, Said(text, answer, at=None if at is None else at + number)
            )
        done = await self.service.intake.flush_session(self.scope, session, final=False, wait=60)
        assert done.state in ("done", "nothing"), done

    async def held(self, status: str = "active", kind: str = "") -> dict[str, dict[str, Any]]:
        """What is remembered, by its words."""
        page, _ = await self.service.curation.page(
            self.scope, memory_type=kind, status=status, tag="", pinned=None, session_id="", limit=500, offset=0
        )
        return {one["content"]: one for one in page}


@asynccontextmanager
async def conversation(folder: Path, script: Sequence[Mapping[str, Any]], **settings: str) -> AsyncIterator[Talk]:
    """A service whose model knows these facts."""
    program, facts, llm = folder / "model.py", folder / "script.json", folder / "llm.json"
    program.write_text(_PROGRAM, encoding="utf-8")
    facts.write_text(json.dumps(list(script)), encoding="utf-8")
    llm.write_text(json.dumps({"command": [sys.executable, str(program), str(facts)]}), encoding="utf-8")
    llm.chmod(0o600)
    async with opened(folder, llm_file=str(llm), **{"flush_every": "1000", **settings}) as service:
        yield Talk(service)
