"""The plugin's own unit tests, and what it declares of OpenClaw's API against the real one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import tools

PLUGIN = tools.PLUGIN


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Node in the plugin's folder."""
    program = tools.node_bin() / "node"
    if not program.exists():
        pytest.skip(f"Node is not in {tools.folder()}: make tools")
    return subprocess.run([str(program), *arguments], cwd=PLUGIN, capture_output=True, text=True, timeout=300)


def test_its_own_tests_pass() -> None:
    done = node("--test", "test/*.test.ts")
    assert done.returncode == 0, done.stdout


@pytest.mark.openclaw
def test_openclaws_own_types_accept_it(tmp_path: Path) -> None:
    types = tools.openclaw().parent.parent / "openclaw" / "dist" / "plugin-sdk"
    compiler = PLUGIN / "node_modules" / "typescript" / "bin" / "tsc"
    if not types.exists() or not compiler.exists():
        pytest.skip("OpenClaw or the plugin's compiler is not installed: make tools")
    options = {
        "exactOptionalPropertyTypes": False,
        "lib": ["ES2024", "DOM"],
        "skipLibCheck": True,
        "paths": {"openclaw/plugin-sdk/*": [f"{types.as_posix()}/*.d.ts"]},
        "typeRoots": [(PLUGIN / "node_modules" / "@types").as_posix()],
    }
    project = tmp_path / "tsconfig.json"
    wanted = {
        "extends": (PLUGIN / "tsconfig.json").as_posix(),
        "compilerOptions": options,
        "include": [(PLUGIN / "contract").as_posix()],
    }
    project.write_text(json.dumps(wanted), encoding="utf-8")
    done = node(str(compiler), "--noEmit", "-p", str(project))
    assert done.returncode == 0, done.stdout
