"""Build the plugin as people get it: `metaclaw-plugin.zip`, the same as an npm tarball, and their checksums.

    python extensions/metaclaw-openclaw/pack.py --node NODE [--out dist] [--without-wheel]

The same source gives the same bytes. The wheel of MetaClaw itself is put in, so that set-up needs no index for it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STATIC = ("openclaw.plugin.json", "README.md", "LICENSE")
DATE = (2020, 2, 2, 0, 0, 0)
DATE_SECONDS = 1580601600  # the same in seconds since the epoch


def compiled(node: str, into: Path) -> None:
    """Compile the TypeScript."""
    tsc = HERE / "node_modules" / "typescript" / "bin" / "tsc"
    command = [node, str(tsc), "-p", str(HERE / "tsconfig.build.json"), "--outDir", str(into)]
    subprocess.run(command, check=True, cwd=HERE)


def wheel(into: Path) -> None:
    """Build the wheel of MetaClaw itself."""
    flags = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *flags, "--wheel-dir", str(into), str(ROOT)], check=True)


def constraints() -> bytes:
    """The versions MetaClaw was tested with, for pip."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    kept = [line.removesuffix(" \\").rstrip() for line in lines if line and not line.startswith((" ", "#"))]
    return ("\n".join(kept) + "\n").encode()


def package_json(source: dict[str, object]) -> bytes:
    """The package's own description, without what only its developers need."""
    kept = {name: value for name, value in source.items() if name not in ("devDependencies", "scripts")}
    return (json.dumps(kept, indent=2) + "\n").encode()


def contents(node: str, with_wheel: bool) -> dict[str, bytes]:
    """Every file of the package by its path, in order."""
    description = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    files = {"package.json": package_json(description)}
    files |= {name: (HERE / name).read_bytes() for name in STATIC}
    files |= {f"memory-slot/{path.name}": path.read_bytes() for path in (HERE / "memory-slot").iterdir()}
    with tempfile.TemporaryDirectory() as folder:
        compiled(node, Path(folder) / "dist")
        if with_wheel:
            wheel(Path(folder) / "wheels")
            files["wheels/constraints.txt"] = constraints()
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return dict(sorted(files.items()))


def write_zip(path: Path, files: dict[str, bytes]) -> None:
    """One folder, so that it can be unzipped right into OpenClaw's extensions."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"metaclaw-openclaw/{name}", DATE)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o100644 << 16, 3
            archive.writestr(entry, data)


def write_tarball(path: Path, files: dict[str, bytes]) -> None:
    """What `npm pack` would make."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = len(data), DATE_SECONDS, 0o644
            archive.addfile(entry, io.BytesIO(data))
    path.write_bytes(gzip.compress(plain.getvalue(), compresslevel=9, mtime=DATE_SECONDS))


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--node", default=shutil.which("node") or "node")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--without-wheel", action="store_true")
    given = parser.parse_args()
    files = contents(given.node, not given.without_wheel)
    version = json.loads(files["openclaw.plugin.json"])["version"]
    given.out.mkdir(parents=True, exist_ok=True)
    archives = (given.out / "metaclaw-plugin.zip", given.out / f"metaclaw-metaclaw-openclaw-{version}.tgz")
    write_zip(archives[0], files)
    write_tarball(archives[1], files)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in archives)
    (given.out / "metaclaw-plugin.sha256").write_text(sums, encoding="utf-8")
    sys.stdout.write(sums)


if __name__ == "__main__":
    main()
