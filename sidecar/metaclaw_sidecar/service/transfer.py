"""Files in and out of the store, while others go on reading and writing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..store import corpus
from ..transfer import ExportFormat, Imported, ImportFormat, export, take_in
from .access import Access

_IN_MEMORY = 1 << 22  # bytes of a file that is kept off the disk


class Transfer:
    """Exports and imports."""

    def __init__(self, access: Access, scope_id: str) -> None:
        """`scope_id` is where memories go that name none."""
        self._access = access
        self._default = scope_id

    async def export(self, form: ExportFormat, scope_ids: Sequence[str], *, raw: bool) -> IO[bytes]:
        """A file, at its beginning, that is gone when it is closed. No scopes: all of them."""

        def write() -> IO[bytes]:
            with self._access.database.reading() as db:
                wanted = scope_ids or corpus.scopes(db)
                out: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - its reader closes it
                export(self._access.database, out, form, wanted, raw=raw)
            out.seek(0)
            return out

        return await self._access.run_long(write)

    async def take_in(self, source: bytes | Path, form: ImportFormat, *, into: str, dry_run: bool) -> Imported:
        """Import a file's content, or a file or folder of this machine. Raises Refused."""

        def take() -> Imported:
            with _as_path(source) as path:
                database = self._access.database
                return take_in(database, path, form, into=into, default=self._default, dry_run=dry_run)

        done = await self._access.run_long(take)
        await self._access.indexed()
        return done


@contextmanager
def _as_path(source: bytes | Path) -> Iterator[Path]:
    if isinstance(source, Path):
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "import"
        path.write_bytes(source)
        yield path
