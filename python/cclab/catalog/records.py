"""The files of a catalog. What cannot be read is as if it were not there."""

from __future__ import annotations

import contextlib
import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from cclab.catalog.frames import RECORD, Made, empty_records
from cclab.store import disk, parquet
from cclab.store.folder import DIGITS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TABLES = ("runs", "flows", "groups", "traffic", "probes")
"""The tables of a catalog, each a file of its name."""

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
    """The records in those of `parts` that are as they were written."""
    found = [empty_records()]
    for part in parts:
        content = _sound(part)
        if content is not None:
            with contextlib.suppress(PolarsError):  # of other columns, by another version
                found.append(pl.read_parquet(content).select(*RECORD).cast(pl.Schema(RECORD)))
    return pl.concat(found)


def torn_parts(folder: Path) -> list[Path]:
    """The parts that are not as they were written."""
    return [part for part in parts_of(folder) if part.exists() and _sound(part) is None]


def _sound(part: Path) -> bytes | None:
    """What is in `part`; None if its name is not the hash of that, or another process has settled
    it. Parquet tells of few flipped bits, and polars reads other numbers or ends the process."""
    try:
        content = part.read_bytes()
    except OSError:
        return None
    return content if _name_of(content) == part.stem else None


def _name_of(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def write_part(folder: Path, records: pl.DataFrame, scratch: Path) -> None:
    """Adds a part. Its name is the hash of what is in it.

    It is not flushed to the disk: what one that is torn or gone told is measured again.
    """
    content = parquet.encoded(records)
    name = _name_of(content)
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    work = scratch / f"part-{name}"
    work.write_bytes(content)
    work.replace(folder / "parts" / f"{name}.parquet")


def write_settled(folder: Path, tables: Made, scratch: Path) -> None:
    """Replaces the settled tables, each in one step.

    While they are replaced, the SHA-256 of the old ones and of the new ones hold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = _digest(tables["runs"])
    works = {name: scratch / f"{name}.parquet" for name in tables}
    for name, frame in tables.items():
        works[name].write_bytes(parquet.encoded(frame, of=mark))
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
        return pl.read_parquet_metadata(file).get(parquet.OF) if _is_whole(folder, table) else None
    except parquet.UNREADABLE:
        return None


def read_settled(
    folder: Path, table: str, only: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """A settled table, or the columns `only` of it; None if it is not as it was written."""
    try:
        if not _is_whole(folder, table):
            return None
        return pl.read_parquet(table_file(folder, table), columns=None if only is None else [*only])
    except parquet.UNREADABLE:
        return None


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
