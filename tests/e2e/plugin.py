"""The OpenClaw plugin as it is packed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import tools

PACK = tools.PLUGIN / "pack.py"


def pack(out: Path) -> Path:
    """Pack into a folder."""
    node = tools.node_bin() / "node"
    subprocess.run([sys.executable, str(PACK), "--node", str(node), "--out", str(out), "--without-wheel"], check=True)
    return out
