"""From a folder per run to some hundred files, and back.

Compacted, the files of a run stand in a pack, byte for byte, and what its tables hold stands in
the data sets `DIR/tables/TABLE/PREFIX.parquet`, with a column `run`, for whatever reads Parquet.
Entries with packet captures, and large ones, stay as they are. A run is at every moment in a pack
that has been read back, or in its folder, or in both: then the folder counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PolarsError

from cclab import _core
from cclab.store import disk, moving, packs, parquet, unpacked
from cclab.store.folder import DIGITS
from cclab.store.packs import MANIFEST, Packs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cclab.store.folder import Store

SMALL = 4 << 20
"""Entries with more bytes stay as they are: they are few, and files of their own suit them."""


@dataclass(frozen=True)
class Compacted:
    """What became of the entries of a store."""

    moved: int
    """Runs that are now compacted, or loose again."""
    kept: int
    """Entries that stayed as they were: with packet captures, large, or damaged."""


def compact(store: Store, told: Callable[[str], None] = lambda what: None) -> Compacted:
    """Compacts the small entries of `store`. Raises `StoreError` if it cannot be written.

    A process that is killed on the way leaves nothing undone that the next one does not do.
    """
    with _alone(store) as scratch:
        return _compact(store, scratch, told)


def unpack(store: Store, told: Callable[[str], None] = lambda what: None) -> Compacted:
    """Makes every compacted run of `store` a folder again, with the bytes that it had.

    Damaged ones are left out, their packs set aside: `cclab run` does them again. Raises
    `StoreError` if the store cannot be written.
    """
    with _alone(store) as scratch:
        held = Packs(store.path / "packs")
        moved, damaged = _rescue(store, held, scratch)
        for pack in held.every():
            told(pack.name)
            made, torn = _placed(store, _homeless(store, held.each(pack)), scratch)
            moved, damaged = moved + made, damaged + torn
            if torn:
                _set_aside(store, pack)
        for name in ("packs", "tables"):
            _remove(store.path / name, scratch)
        return Compacted(moved, damaged)


def without(store: Store, runs: set[str], scratch: Path) -> None:
    """Takes `runs` out of the packs and tables. The caller has the store for itself."""
    held = Packs(store.path / "packs")
    _rescue(store, held, scratch)
    sizes = {run: one.bytes for run, one in held.runs().items() if run not in runs}
    _rewrite(store, held, sizes, {}, scratch, lambda what: None)


def _compact(store: Store, scratch: Path, told: Callable[[str], None]) -> Compacted:
    held = Packs(store.path / "packs")
    _, kept = _rescue(store, held, scratch)
    loose: dict[str, int] = {}
    for run in sorted(store.loose()):
        size = _size_if_small(store.entry(run), run)
        if size is None:
            kept += 1
        else:
            loose[run] = size
    states = _core.check_entries(store.runs, [*loose], True)
    damaged = {run for run, state in zip(loose, states, strict=True) if state != "sound"}
    sound = {run: size for run, size in loose.items() if run not in damaged}
    sizes = {run: one.bytes for run, one in held.runs().items()} | sound
    _rewrite(store, held, sizes, sound, scratch, told)
    for run in sound:
        _remove(store.entry(run), scratch)
    disk.sync(store.runs)
    return Compacted(len(sound), kept + len(damaged))


def _rescue(store: Store, held: Packs, scratch: Path) -> tuple[int, int]:
    """Makes folders of what can be read in packs that cannot be read whole, which go aside.

    Gives how many runs were rescued, and how many are lost.
    """
    rescued = lost = 0
    for pack, within in held.by_pack().items():
        if within and [*within] == [run for run, _ in held.as_they_are(pack)]:
            continue
        read = ((run, held.files(run)) for run in within)
        moved, damaged = _placed(store, _homeless(store, read), scratch)
        rescued, lost = rescued + moved, lost + damaged
        _set_aside(store, pack)
    return rescued, lost


def _homeless(
    store: Store, packed: Iterable[tuple[str, dict[str, bytes] | None]]
) -> Iterator[tuple[str, dict[str, bytes] | None]]:
    """Those of the `packed` runs that have no folder. A sound one counts; one that is not makes
    way for the packed copy."""
    for run, files in packed:
        entry = store.entry(run)
        if files is not None and entry.exists() and not store.sound(run, contents=True):
            _set_aside(store, entry)
        if not entry.exists():
            yield run, files


def _set_aside(store: Store, damaged: Path) -> None:
    """Moves a pack or an entry out of the way, into `aside`."""
    store.aside.mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f"{damaged.stem}-", dir=store.aside))
    damaged.rename(place / damaged.name)
    for folder in (place, store.aside, damaged.parent):
        disk.sync(folder)


def _rewrite(
    store: Store,
    held: Packs,
    sizes: dict[str, int],
    loose: dict[str, int],
    scratch: Path,
    told: Callable[[str], None],
) -> None:
    """Makes the packs and tables those of the runs in `sizes`; those in `loose` are folders."""
    before = held.every()
    parts = packs.partition(sizes)
    known = dict(held.runs())
    for prefix, runs in parts.items():
        digests = {
            run: _digest(store.entry(run)) if run in loose else known[run].manifest_sha256
            for run in runs
        }
        pack = held.folder / f"{prefix}.parquet"
        within = {run: one.manifest_sha256 for run, one in known.items() if one.pack == pack}
        mark = _mark(digests)
        # A folder beside a packed run is there because that was damaged: the folder counts.
        same = within == digests and not loose.keys() & within.keys()
        if same and not _stale(store, pack, mark):
            continue
        told(pack.name)
        work = scratch / f"pack-{prefix}"
        work.mkdir()
        files = _files_of(store, held, runs, loose, known)
        if not same:
            packs.write(pack, files.items(), work)
        _write_tables(store, prefix, mark, files, work)
        shutil.rmtree(work, ignore_errors=True)
    for pack in before:
        if pack.stem not in parts:
            pack.unlink(missing_ok=True)
    for table in (store.path / "tables").glob("*/*.parquet"):
        if table.stem not in parts:
            table.unlink(missing_ok=True)


def _files_of(
    store: Store,
    held: Packs,
    runs: Sequence[str],
    loose: dict[str, int],
    known: dict[str, packs.Packed],
) -> dict[str, dict[str, bytes]]:
    """The files of `runs`, in order, from their folders or the packs that they are in now."""
    wanted = {run for run in runs if run not in loose}
    found: dict[str, dict[str, bytes]] = {}
    for pack in sorted({known[run].pack for run in wanted}):
        found |= {run: files for run, files in held.as_they_are(pack) if run in wanted}
    for run in set(runs) - wanted:
        found[run] = {file.name: file.read_bytes() for file in store.entry(run).iterdir()}
    return {run: found[run] for run in runs}


def _write_tables(
    store: Store, prefix: str, mark: str, files: dict[str, dict[str, bytes]], scratch: Path
) -> None:
    """Writes the part of each table that holds what the runs in `files` recorded."""
    every = {name for of_run in files.values() for name in of_run}
    names = sorted(n for n in every if n.endswith(".parquet") and packs.is_name(n))
    for name in names:
        single = scratch / f"of-{name}"
        single.mkdir()
        of_runs = {run: of_run[name] for run, of_run in files.items() if name in of_run}
        frame = _together(of_runs, single)
        shutil.rmtree(single)
        work = scratch / name
        work.write_bytes(parquet.encoded(frame, of=mark))
        disk.sync(work)
        folder = store.path / "tables" / name.removesuffix(".parquet")
        folder.mkdir(parents=True, exist_ok=True)
        work.replace(folder / f"{prefix}.parquet")
        disk.sync(folder)
    for folder in (store.path / "tables").glob("*/"):
        if f"{folder.name}.parquet" not in names:
            (folder / f"{prefix}.parquet").unlink(missing_ok=True)


def _together(of_runs: dict[str, bytes], scratch: Path) -> pl.DataFrame:
    """The rows of a table of several runs, with a column `run` in front."""
    files = []
    for run, content in of_runs.items():
        files.append(scratch / f"{run}.parquet")
        files[-1].write_bytes(content)
    try:
        rows = pl.scan_parquet(files, glob=False, include_file_paths="run").collect()
    except PolarsError:  # one of them is no table, or of other columns
        return _one_by_one(of_runs)
    stem = pl.col("run").str.extract(r"([^/]+)\.parquet$")
    return rows.select(stem.alias("run"), pl.exclude("run"))


def _one_by_one(of_runs: dict[str, bytes]) -> pl.DataFrame:
    """The same where not all are alike: columns that some lack are null there."""
    frames = [pl.DataFrame(schema={"run": pl.String})]
    for run, content in of_runs.items():
        with contextlib.suppress(PolarsError):  # no table: its bytes are in the pack all the same
            rows = pl.read_parquet(content)
            frames.append(rows.select(pl.lit(run).alias("run"), *rows.columns))
    return pl.concat(frames, how="diagonal_relaxed")


def stale_tables(store: Store) -> list[Path]:
    """The tables of `store` that cannot be read, are lacking, or are not of the runs in the packs.

    Those of a pack that cannot be read are left out: it is not known what they should be.
    """
    held = Packs(store.path / "packs")
    within: dict[Path, dict[str, str]] = {pack: {} for pack in held.every()}
    for run, one in held.runs().items():
        within.setdefault(one.pack, {})[run] = one.manifest_sha256
    wrong = [t for pack, digests in within.items() for t in _stale(store, pack, _mark(digests))]
    stems = {pack.stem for pack in within}
    tables = sorted((store.path / "tables").glob("*/*.parquet"))
    return sorted([*wrong, *(table for table in tables if table.stem not in stems)])


def _stale(store: Store, pack: Path, mark: str) -> list[Path]:
    """The tables of the runs in `pack` that are not of the entries `mark` stands for."""
    try:
        names = pl.scan_parquet(pack).select(pl.col("file").unique()).collect()["file"]
    except parquet.UNREADABLE:
        return []
    tables = [Path(name).stem for name in names if name.endswith(".parquet")]
    parts = [store.path / "tables" / table / pack.name for table in tables]
    return [part for part in parts if not _is_of(part, mark)]


def _is_of(table: Path, mark: str) -> bool:
    """Whether a table can be read, and is of the entries `mark` stands for."""
    try:
        right = pl.read_parquet_metadata(table).get(parquet.OF) == mark
        return right and pl.read_parquet(table).width > 0
    except parquet.UNREADABLE:
        return False


def _mark(digests: dict[str, str]) -> str:
    """What tells these entries, by the SHA-256 of their manifests, from others."""
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()[:DIGITS]


def _placed(
    store: Store, runs: Iterable[tuple[str, dict[str, bytes] | None]], scratch: Path
) -> tuple[int, int]:
    """Makes folders of `runs`, those without files left out; how many of both there were."""
    made = []
    damaged = 0
    for run, files in runs:
        if files is None:
            damaged += 1
            continue
        made.append(scratch / run)
        made[-1].mkdir()
        unpacked.put(made[-1], files)
    _core.sync([*made])
    for folder in made:
        folder.rename(store.entry(folder.name))
    disk.sync(store.runs)
    return len(made), damaged


def _size_if_small(entry: Path, run_id: str) -> int | None:
    """The bytes of an entry; None if it is to stay as it is."""
    try:
        manifest = (entry / MANIFEST).read_bytes()
        names = packs.listed(manifest, run_id)
        if names is None or {*names, MANIFEST} != {file.name for file in entry.iterdir()}:
            return None
    except OSError:
        return None
    size = len(manifest) + sum(size for size, _ in names.values())
    captured = any(name.endswith(".pcapng") for name in names)
    return None if captured or size > SMALL else size


def _digest(entry: Path) -> str:
    return hashlib.sha256((entry / MANIFEST).read_bytes()).hexdigest()


def _remove(folder: Path, scratch: Path) -> None:
    """Removes a folder so that it is there as a whole or not at all."""
    grave = scratch / f"gone-{folder.name}"
    with contextlib.suppress(FileNotFoundError):
        folder.rename(grave)
        shutil.rmtree(grave, ignore_errors=True)


@contextlib.contextmanager
def _alone(store: Store) -> Iterator[Path]:
    """A folder to work in, while no other process compacts or unpacks."""
    with store.writer() as writer, writer.workspace() as scratch, moving.alone(store.path):
        yield scratch
