"""The files of a catalog. What cannot be read is as if it were not there."""

from __future__ import annotations

import contextlib
import hashlib
import io
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from cclab.catalog.frames import RECORD, Made, empty_records
from cclab.store import disk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TABLES = ("runs", "flows", "traffic")
"""The tables of a catalog, each a file of its name."""

_OF = "cclab.of"
"""The key under which a file says of which runs it is."""

_UNREADABLE = (OSError, PolarsError)
_DIGITS = 20
_DIGESTS = "digests.json"


def table_file(folder: Path, table: str) -> Path:
    """Where the settled table is."""
    return folder / f"{table}.parquet"


def parts_of(folder: Path) -> list[Path]:
    """The parts that writers have added, in the order of their names."""
    try:
        return sorted((folder / "parts").glob("*.parquet"))
    except OSError:
        return []


def read_parts(parts: Sequence[Path]) -> pl.DataFrame:
    """The records in those of `parts` that can be read."""
    found = [empty_records()]
    for part in parts:
        with contextlib.suppress(*_UNREADABLE):  # torn, or settled by another process
            found.append(pl.read_parquet(part).select(*RECORD).cast(pl.Schema(RECORD)))
    return pl.concat(found)


def write_part(folder: Path, records: pl.DataFrame, scratch: Path) -> None:
    """Adds a part. Its name is a hash of what it is of, so that equal ones are one.

    It is not flushed to the disk: one that is torn or gone is made again of the entries.
    """
    name = _digest(records)[:_DIGITS]
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    work = scratch / f"part-{name}"
    _write(records, work)
    work.replace(folder / "parts" / f"{name}.parquet")


def write_settled(folder: Path, tables: Made, scratch: Path) -> None:
    """Replaces the settled tables, each in one step.

    While they are replaced, the SHA-256 of the old ones and of the new ones hold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = _digest(tables["runs"])
    works = {name: scratch / f"{name}.parquet" for name in tables}
    for name, frame in tables.items():
        _write(frame, works[name], {_OF: mark})
        disk.sync(works[name])
    new = {name: [_sha256(work)] for name, work in works.items()}
    old = _listed(folder)
    _list(folder, {name: new[name] + old.get(name, []) for name in sorted(new)}, scratch)
    for name, work in works.items():
        work.replace(table_file(folder, name))
    disk.sync(folder)
    _list(folder, dict(sorted(new.items())), scratch)
    disk.sync(folder)


def settled_mark(folder: Path, table: str) -> str | None:
    """Of which runs a settled table is; None if there is none that is as it was written."""
    try:
        file = table_file(folder, table)
        return pl.read_parquet_metadata(file).get(_OF) if _is_whole(folder, table) else None
    except _UNREADABLE:
        return None


def read_settled(
    folder: Path, table: str, only: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """A settled table, or the columns `only` of it; None if it is not as it was written."""
    try:
        if not _is_whole(folder, table):
            return None
        return pl.read_parquet(table_file(folder, table), columns=None if only is None else [*only])
    except _UNREADABLE:
        return None


def _write(frame: pl.DataFrame, work: Path, metadata: dict[str, str] | None = None) -> None:
    """Writes `frame`. Raises `OSError` if the disk is full, which polars would call by another
    name."""
    memory = io.BytesIO()
    frame.write_parquet(memory, compression="zstd", metadata=metadata)
    work.write_bytes(memory.getbuffer())


def _is_whole(folder: Path, table: str) -> bool:
    """Whether a settled table has the SHA-256 that is listed: Parquet alone does not tell."""
    file = table_file(folder, table)
    found = file.stat()
    stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
    return _known_sha256(file, stamp) in _listed(folder).get(table, [])


@lru_cache(maxsize=32)
def _known_sha256(file: Path, stamp: tuple[int, int, int]) -> str:
    """The SHA-256 of `file`, which has not changed while `stamp` has not."""
    return _sha256(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _listed(folder: Path) -> dict[str, list[str]]:
    """The SHA-256 that each settled table can have; more than one while they are replaced."""
    try:
        return msgspec.json.decode((folder / _DIGESTS).read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.DecodeError):
        return {}


def _list(folder: Path, digests: dict[str, list[str]], scratch: Path) -> None:
    work = scratch / _DIGESTS
    work.write_bytes(msgspec.json.encode(digests) + b"\n")
    disk.sync(work)
    work.replace(folder / _DIGESTS)


def _digest(records: pl.DataFrame) -> str:
    """What tells these records from others: the runs, their entries, and who measured them."""
    known = records.select("run", "manifest_sha256", "metrics_version").sort("run")
    lines = (" ".join(row) for row in known.iter_rows())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
