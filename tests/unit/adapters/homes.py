"""A person's home with any agent's sample configuration in it, and a state folder of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metaclaw_adapters import Adapter, Endpoint, Finding, Installation, Outcome, Wiring
from metaclaw_adapters.formats import FORMATS
from metaclaw_adapters.values import Json

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "claws"
ENDPOINT = Endpoint("http://127.0.0.1:30000", model_id="big-model", model_name="Big", context_window=200_000)


@dataclass
class Home:
    """A home folder in which an adapter finds its agent, without the agent's program."""

    path: Path
    make: Callable[[dict[str, str]], Adapter]
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environ |= {"HOME": str(self.path), "USERPROFILE": str(self.path), "PATH": str(self.path / "bin")}
        self.path.mkdir(parents=True, exist_ok=True)

    @property
    def adapter(self) -> Adapter:
        return self.make(self.environ)

    @property
    def wiring(self) -> Wiring:
        return Wiring(self.path / "metaclaw", self.environ)

    def has(self, fixture: str) -> None:
        """Put a sample configuration there."""
        for source in sorted((FIXTURES / fixture).rglob("*")):
            if source.is_file():
                self.write(str(source.relative_to(FIXTURES / fixture)), source.read_bytes())

    def write(self, name: str, content: bytes | str | dict[str, Any]) -> None:
        """Put a file there; an object becomes JSON."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=2) if isinstance(content, dict) else content
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def replace(self, name: str, old: str, new: str) -> None:
        """An edit by hand."""
        text = (self.path / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def read(self, name: str, kind: str = "json5") -> Json:
        """The values in a file."""
        return FORMATS[kind].read((self.path / name).read_bytes())

    def files(self) -> dict[str, bytes]:
        """Every file of the home but ours."""
        found = sorted(path for path in self.path.rglob("*") if path.is_file())
        names = {str(path.relative_to(self.path)): path for path in found}
        return {name: path.read_bytes() for name, path in names.items() if not name.startswith("metaclaw")}

    def found(self) -> Installation:
        installation = self.adapter.detect()
        assert installation is not None
        return installation

    def wire(self, endpoint: Endpoint = ENDPOINT, *, again: bool = False) -> Outcome:
        return self.wiring.wire(self.adapter, endpoint, again=again)

    def findings(self, endpoint: Endpoint = ENDPOINT) -> list[Finding]:
        return self.adapter.findings(self.found(), endpoint)

    def bypasses(self) -> list[str]:
        """Where traffic passes us by."""
        return [finding.where for finding in self.findings() if finding.kind == "bypass"]
