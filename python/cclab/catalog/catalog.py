"""The tables of a results folder, and how they are kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from cclab import _core
from cclab.catalog import records
from cclab.catalog.frames import RECORD, Made, Tables, empty_records, expand, stack
from cclab.errors import StoreError
from cclab.store import disk, unpacked
from cclab.store.packs import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from cclab.store import Sealed, Store

Told = Callable[[int], None]
"""Hears how many entries are to be measured."""

_KNOWN = ["run", "manifest_sha256", "metrics_version"]


class Catalog:
    """What is known of the runs in a store."""

    def __init__(self, store: Store) -> None:
        """The catalog of `store`; nothing is read or written yet."""
        self.store = store
        self.folder = store.path / "catalog"

    def add(self, sealed: Sequence[Sealed], scratch: Path) -> None:
        """Adds a part about runs whose entries have just come into the store.

        `scratch` is a folder of the caller's own on the same file system. Raises `OSError` if the
        part cannot be written.
        """
        if sealed:
            rows = [_row(one.run, one.digest, one.bytes, one.metrics) for one in sealed]
            records.write_part(self.folder, _frame(rows), scratch)

    def metrics(self, runs: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The metrics of those of `runs` that the catalog knows, whose entries are there."""
        wanted = pl.DataFrame(
            {"run": sorted(set(runs) & self.store.ids())}, schema={"run": pl.String}
        )
        found = self._current(*_KNOWN, "metrics").join(wanted, on="run", how="semi")
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        return {run: decode(text) for run, text in found.select("run", "metrics").iter_rows()}

    def tables(self, told: Told | None = None) -> Tables:
        """The tables of every run in the store; what the catalog lacks is read from the entries.

        The catalog is settled first if it lacks something and the store can be written.
        """
        if not self.is_settled():
            try:
                self.settle(told)
            except StoreError:  # it can only be read, or its disk is full
                made = self._combined(records.read_parts(records.parts_of(self.folder)), told)
                return Tables(**{name: frame.lazy() for name, frame in made.items()})
        files = {name: records.table_file(self.folder, name) for name in records.TABLES}
        return Tables(**{name: pl.scan_parquet(file) for name, file in files.items()})

    def settle(self, told: Told | None = None) -> None:
        """Makes the settled tables those of the runs in the store, and removes the parts.

        Nothing is written if they are. Entries that no row is of are measured; `told` hears how
        many that are. Raises `StoreError` if the store cannot be written.
        """
        if self.is_settled():
            return
        with self._alone() as scratch:
            if not self.is_settled():
                self._settle(scratch, told)

    def renew(self, told: Told | None = None) -> None:
        """As `settle`, after a look whether every row is of the entry that is now in the store.

        An entry that was replaced by another sound one, as by hand, is measured again. Raises
        `StoreError` if the store cannot be written.
        """
        if not self.is_settled() or self.differing():
            with self._alone() as scratch:
                self._settle(scratch, told, anew=True)

    def is_settled(self) -> bool:
        """Whether the settled tables are of the very runs in the store."""
        marks = {records.settled_mark(self.folder, table) for table in records.TABLES}
        if None in marks or len(marks) > 1 or records.parts_of(self.folder):
            return False
        known = records.read_settled(self.folder, "runs", _KNOWN)
        return known is not None and self._covers(known)

    def differing(self) -> list[str]:
        """The settled tables that are there and are not what their runs' entries make them."""
        there = [t for t in records.TABLES if records.table_file(self.folder, t).exists()]
        kept = records.read_settled(self.folder, "runs")
        if kept is None:
            return there
        stale = self._of_entries(kept).height < kept.height
        made = expand(kept.select(*RECORD))
        return [
            table
            for table in there
            if (stale and table == "runs")
            or (found := records.read_settled(self.folder, table)) is None
            or not found.equals(made[table])
        ]

    def torn_parts(self) -> list[Path]:
        """What writers added, and is not as they wrote it."""
        return records.torn_parts(self.folder)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Path]:
        """A folder to work in, while no other process settles the catalog."""
        lock = self.store.path / "tmp" / "catalog-lock"
        with self.store.writer() as writer, writer.workspace() as scratch, disk.alone(lock):
            yield scratch

    def _settle(self, scratch: Path, told: Told | None, *, anew: bool = False) -> None:
        parts = records.parts_of(self.folder)
        tables = self._combined(records.read_parts(parts), told, anew=anew)
        records.write_settled(self.folder, tables, scratch)
        for part in parts:
            part.unlink(missing_ok=True)

    def _combined(self, added: pl.DataFrame, told: Told | None, *, anew: bool = False) -> Made:
        """The settled tables with what `added` and the entries know beside.

        If `anew`, no row is taken over without a look at its entry.
        """
        ids = self.store.ids()
        kept = records.read_settled(self.folder, "runs")
        kept = empty_records() if kept is None else kept
        both = _counting(pl.concat([added, kept.select(*RECORD)]), ids)
        certain = self._one_each(self._of_entries(both) if anew else both)
        lacking = sorted(ids - set(certain["run"]))
        if lacking and told is not None:
            told(len(lacking))
        known = pl.concat([certain, self._measured(lacking)])
        fresh = known.join(kept, on=_KNOWN, how="anti")
        if not anew and known.height == kept.height + fresh.height:
            grown = self._grown(kept, fresh)
            if grown is not None:
                return grown
        return expand(known)

    def _grown(self, kept: pl.DataFrame, fresh: pl.DataFrame) -> Made | None:
        """The settled tables with the runs in `fresh`; None if they must be made anew."""
        marks = {records.settled_mark(self.folder, table) for table in records.TABLES}
        if None in marks or len(marks) > 1:
            return None
        new, grown = expand(fresh), {}
        for name, frame in new.items():
            before = kept if name == "runs" else records.read_settled(self.folder, name)
            both = None if before is None else stack(before, frame, name)
            if both is None:
                return None
            grown[name] = both
        return grown

    def _current(self, *only: str) -> pl.DataFrame:
        """The columns `only` of the records that count, of whatever file."""
        added = records.read_parts(records.parts_of(self.folder))
        kept = records.read_settled(self.folder, "runs", only)
        frames = [added.select(only), *([] if kept is None else [kept.select(only)])]
        return self._one_each(_counting(pl.concat(frames), None))

    def _one_each(self, found: pl.DataFrame) -> pl.DataFrame:
        """One record per run: where they are of several entries, that of the entry in the store."""
        found = found.unique(_KNOWN, maintain_order=True)
        doubted = found.filter(pl.col("run").is_duplicated())
        if not doubted.height:
            return found
        right = [
            run
            for run in doubted.select("run", "manifest_sha256").iter_rows()
            if run[1] == self._digest(run[0])
        ]
        seen = pl.DataFrame(right, {"run": pl.String, "manifest_sha256": pl.String}, orient="row")
        chosen = doubted.join(seen.unique(), on=["run", "manifest_sha256"], how="semi")
        return pl.concat([found.filter(~pl.col("run").is_duplicated()), chosen])

    def _of_entries(self, found: pl.DataFrame) -> pl.DataFrame:
        """The rows that are not of another entry than that in the store."""
        digests = {run: self._digest(run) for run in found["run"].unique()}
        rows = found.select("run", "manifest_sha256").iter_rows()
        return found.filter([digests[run] in (None, digest) for run, digest in rows])

    def _covers(self, known: pl.DataFrame) -> bool:
        """Whether `known` is of all runs that can be measured: damaged entries have no row."""
        ids = self.store.ids()
        return _counting(known, ids).height == known.height and all(
            self._record(run) is None for run in ids - set(known["run"])
        )

    def _measured(self, runs: list[str]) -> pl.DataFrame:
        """The records of `runs` from their entries; of none that cannot be read.

        Compacted ones are read pack by pack: to look for each takes a look at its whole pack.
        """
        found: dict[str, dict[str, Any]] = {}
        for _ in self.store.looks():
            lacking = [run for run in runs if run not in found]
            packed = self._packed(lacking)
            with ThreadPoolExecutor() as pool:
                rows = [*pool.map(self._record, [run for run in lacking if run not in packed])]
                for pack in sorted({*packed.values()}):
                    rows += pool.map(lambda one: _record_of(*one), self._in_pack(pack, packed))
            found |= {row["run"]: row for row in rows if row is not None}
        return _frame(sorted(found.values(), key=itemgetter("run")))

    def _packed(self, runs: list[str]) -> dict[str, Path]:
        """The packs of those of `runs` that have no folder of their own."""
        held = self.store.packed()
        loose = self.store.loose() if held else set()
        return {run: held[run].pack for run in runs if run in held and run not in loose}

    def _in_pack(
        self, pack: Path, wanted: Container[str]
    ) -> Iterator[tuple[str, dict[str, bytes]]]:
        """The runs in `pack` that are `wanted` and sound, with their files."""
        packs = self.store.packs
        for run, files in () if packs is None else packs.each(pack):
            if run in wanted and files is not None:
                yield run, files

    def _record(self, run: str) -> dict[str, Any] | None:
        with contextlib.suppress(OSError):
            return self.store.read(run, lambda entry: _record_in(entry, run))
        return None

    def _digest(self, run: str) -> str | None:
        for _ in self.store.looks():
            try:
                return hashlib.sha256((self.store.entry(run) / MANIFEST).read_bytes()).hexdigest()
            except FileNotFoundError:
                packed = self.store.packed().get(run)
                if packed is not None:
                    return packed.manifest_sha256
            except OSError:
                return None
        return None


def _record_of(run: str, files: dict[str, bytes]) -> dict[str, Any] | None:
    """The record of a run from its files; None if they cannot be read."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="cclab-") as folder:
        unpacked.put(Path(folder), files)
        return _record_in(Path(folder), run)
    return None


def _record_in(entry: Path, run: str) -> dict[str, Any] | None:
    """The record of a run from the folder of its entry; None if that cannot be read."""
    try:
        manifest = (entry / MANIFEST).read_bytes()
        listed = json.loads(manifest)["files"].values()
        size = len(manifest) + sum(file["bytes"] for file in listed)
        asked = msgspec.json.decode((entry / "run.json").read_bytes(), type=_Asked)
        metrics = _core.measure(str(entry))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, _core.RunError):
        return None
    digest = hashlib.sha256(manifest).hexdigest()
    return _row(asked, digest, size, metrics) if asked.id == run else None


class _Asked(msgspec.Struct):
    """What `run.json` of an entry says."""

    id: str
    scenario: dict[str, Any]
    seed: int
    backend: str
    version: str


def _row(run: Any, digest: str, size: int, metrics: str) -> dict[str, Any]:
    return {
        "run": run.id,
        "backend": run.backend,
        "version": run.version,
        "seed": run.seed,
        "manifest_sha256": digest,
        "bytes": size,
        "metrics_version": _core.METRICS_VERSION,
        # In one order of keys, whoever wrote it.
        "scenario": msgspec.json.encode(run.scenario, order="deterministic").decode(),
        "metrics": metrics,
    }


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=RECORD)


def _counting(found: pl.DataFrame, ids: set[str] | None) -> pl.DataFrame:
    """The rows of this version's metrics, and of runs that are there."""
    found = found.filter(pl.col("metrics_version") == _core.METRICS_VERSION)
    if ids is None:
        return found
    there = pl.DataFrame({"run": list(ids)}, schema={"run": pl.String})
    return found.join(there, on="run", how="semi")
