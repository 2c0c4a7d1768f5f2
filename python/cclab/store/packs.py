"""Compacted entries: the files of many runs in one Parquet file, byte for byte.

    DIR/packs/PREFIX.parquet    run, file, bytes, sha256, content: every file of the runs whose ids
                                begin with PREFIX, manifest.json too, sorted by run and file

A pack holds the files as they were, so what is unpacked has the bytes that its manifest lists,
whichever version of a library wrote them. Prefixes are one digit long, or as long as it takes to
keep a pack small: which packs there are, and their bytes, depends on the runs in them alone.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from cclab.store import disk, moving, parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cclab.store.folder import State

MANIFEST = "manifest.json"

MOST_BYTES = 128 << 20
"""A pack with more of them is split by the next digit: it must fit into memory."""

_SCHEMA = {
    "run": pl.String,
    "file": pl.String,
    "bytes": pl.UInt64,
    "sha256": pl.String,
    "content": pl.Binary,
}
_ROWS = 256
"""In a row group: to read a run is to read few of them."""

_RUN_ID = "^[0-9a-f]{20}$"
_SHA256 = "^[0-9a-f]{64}$"
_LONGEST_PREFIX = 16


@dataclass(frozen=True)
class Packed:
    """A run in a pack."""

    pack: Path
    manifest_sha256: str
    bytes: int
    """Of all of its files, the manifest's too."""


class Packs:
    """The packs of a store."""

    def __init__(self, folder: Path) -> None:
        """The packs in `folder`, which need not be there."""
        self.folder = folder
        self._known: tuple[moving.Stamp, dict[str, Packed], list[Path]] = ((), {}, [])

    def runs(self) -> Mapping[str, Packed]:
        """The runs in the packs, by id."""
        return self._read()[0]

    def by_pack(self) -> dict[Path, dict[str, Packed]]:
        """The runs of each pack; of one that cannot be read, none."""
        found: dict[Path, dict[str, Packed]] = {pack: {} for pack in self.every()}
        for run, one in self.runs().items():
            found.setdefault(one.pack, {})[run] = one
        return found

    def unreadable(self) -> list[Path]:
        """The packs that cannot be read: the runs in them are lost."""
        return self._read()[1]

    def states(self, ids: Sequence[str], *, contents: bool) -> list[State]:
        """What there is of each of `ids`; with `contents`, every file of theirs is read."""
        held = self.runs()
        if not contents:
            return ["sound" if run in held else "absent" for run in ids]
        wanted = {held[run].pack for run in ids if run in held}
        sound = {
            run for pack in sorted(wanted) for run, files in self.each(pack) if files is not None
        }
        return ["sound" if run in sound else "damaged" if run in held else "absent" for run in ids]

    def files(self, run_id: str) -> dict[str, bytes] | None:
        """The files of a run by name, as its manifest lists them; None if they are not there.

        They are not if one is missing or has another SHA-256.
        """
        packed = self.runs().get(run_id)
        if packed is None:
            return None
        try:
            rows = pl.scan_parquet(packed.pack).filter(pl.col("run") == run_id).collect()
        except parquet.UNREADABLE:
            return None
        return _checked(run_id, dict(rows.select("file", "content").iter_rows()))

    def each(self, pack: Path) -> Iterator[tuple[str, dict[str, bytes] | None]]:
        """The runs in `pack`, in order, with their files as `files` gives them."""
        for run, files in self.as_they_are(pack):
            yield run, _checked(run, files)

    def as_they_are(self, pack: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
        """The runs in `pack`, in order, with their files, unchecked."""
        try:
            rows = pl.read_parquet(pack, columns=["run", "file", "content"])
        except parquet.UNREADABLE:
            return
        for run, files in itertools.groupby(rows.iter_rows(), key=lambda row: str(row[0])):
            yield run, {name: content for _, name, content in files}

    def every(self) -> list[Path]:
        """The packs, by name."""
        return sorted(self.folder.glob("*.parquet"))

    def _read(self) -> tuple[dict[str, Packed], list[Path]]:
        """What the packs hold; read again if one has changed."""
        stamp = moving.stamp(self.folder)
        if stamp == self._known[0]:
            return self._known[1:]
        found: dict[str, Packed] = {}
        unreadable = []
        for name, *_ in stamp:
            pack = self.folder / name
            try:
                found |= _held_by(pack)
            except FileNotFoundError:
                continue
            except parquet.UNREADABLE:
                unreadable.append(pack)
        # Of what has gone meanwhile, the stamp is no more: the next look is a new one.
        self._known = (stamp, found, unreadable)
        return found, unreadable


def _held_by(pack: Path) -> dict[str, Packed]:
    """The runs in `pack`. What both are told by become names of folders: nothing else counts."""
    rows = pl.scan_parquet(pack).select("run", "file", "bytes", "sha256")
    whole = pl.col("bytes").sum().alias("bytes")
    manifest = pl.col("sha256").filter(pl.col("file") == MANIFEST).first()
    held = rows.group_by("run").agg(manifest, whole).sort("run").collect()
    named = pl.col("run").str.contains(_RUN_ID) & pl.col("sha256").str.contains(_SHA256)
    return {run: Packed(pack, digest, size) for run, digest, size in held.filter(named).iter_rows()}


def write(pack: Path, runs: Iterable[tuple[str, dict[str, bytes]]], scratch: Path) -> None:
    """Makes `pack` one of `runs` and their files, in one step, after reading it back.

    `runs` are in order. Raises `OSError` if it cannot be written or is read back otherwise.
    """
    rows = [
        (run, name, len(content), hashlib.sha256(content).hexdigest(), content)
        for run, files in runs
        for name, content in sorted(files.items())
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    work = scratch / pack.name
    work.write_bytes(parquet.encoded(frame, row_group_size=_ROWS))
    disk.sync(work)
    if not pl.read_parquet(work).equals(frame):
        raise OSError(f"{work} is not read back as it was written")
    pack.parent.mkdir(exist_ok=True)
    disk.sync(pack.parent.parent)
    work.replace(pack)
    disk.sync(pack.parent)


def partition(sizes: Mapping[str, int]) -> dict[str, list[str]]:
    """The runs of each pack by its prefix, where `sizes` are the bytes of each run by its id."""
    found: dict[str, list[str]] = {}

    def divide(runs: list[str], digits: int) -> None:
        parts: dict[str, list[str]] = {}
        for run in runs:
            parts.setdefault(run[:digits], []).append(run)
        for prefix, members in parts.items():
            total = sum(sizes[run] for run in members)
            if total > MOST_BYTES and len(members) > 1 and digits < _LONGEST_PREFIX:
                divide(members, digits + 1)
            else:
                found[prefix] = members

    divide(sorted(sizes), 1)
    return found


def listed(manifest: bytes, run_id: str) -> dict[str, tuple[int, str]] | None:
    """The length and SHA-256 of each file that a manifest of `run_id` lists; None if it is none.

    One that lists what is no name of a file in a folder is none: it may come from anywhere.
    """
    try:
        document = json.loads(manifest)
        files = {n: (f["bytes"], f["sha256"]) for n, f in document["files"].items()}
        return files if document["run"] == run_id and all(map(is_name, files)) else None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def is_name(name: str) -> bool:
    """Whether `name` is that of a file in a folder, and leads nowhere else."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _checked(run_id: str, files: dict[str, bytes]) -> dict[str, bytes] | None:
    """`files`, if they are those that the manifest among them lists."""
    names = listed(files.get(MANIFEST, b""), run_id)
    if names is None or set(files) != {*names, MANIFEST}:
        return None
    for name, (size, digest) in names.items():
        if len(files[name]) != size or hashlib.sha256(files[name]).hexdigest() != digest:
            return None
    return files
