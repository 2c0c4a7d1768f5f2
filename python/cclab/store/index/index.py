"""How the index of a results folder is kept."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from cclab import _core
from cclab.errors import RunError, StoreError
from cclab.late import late
from cclab.store import disk, planned
from cclab.store.index import file
from cclab.store.index.tables import KEYS, Asked, MixedError, made_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import polars as pl

    from cclab.store import Store
    from cclab.store.folder import Told
    from cclab.store.index import frames
else:
    frames = late("cclab.store.index.frames")

Listener = Callable[[int], None]
"""Hears how many runs are to be read."""

FORM = "cclab-index/1"

_AT_A_TIME = 5000
"""Runs whose cells are held in memory at once."""


@dataclass(frozen=True)
class Tables:
    """The index's tables, each sorted by run and the place within it; read when they are used."""

    runs: pl.LazyFrame
    """One row per run."""
    flows: pl.LazyFrame
    """One row per flow and run."""
    groups: pl.LazyFrame
    """One row per group of flows and run."""
    traffic: pl.LazyFrame
    """One row per source of cross traffic and run."""
    probes: pl.LazyFrame
    """One row per probe and run."""


class Index:
    """What is known of all runs in a store, without opening their files."""

    def __init__(self, store: Store) -> None:
        """The index of `store`; nothing is read or written yet."""
        self.store = store
        self.path = store.path / "index.sqlite"

    def tables(self, heard: Listener | None = None) -> Tables:
        """The tables of every run in the store that can be read."""
        connection = self.connection(heard)
        return Tables(**{table: frames.frame(connection, table) for table in KEYS})

    def connection(self, heard: Listener | None = None) -> sqlite3.Connection:
        """The database, to be read; made anew first if it is not of the runs in the store.

        Where the store cannot be written, it is made in memory.
        """
        current = self._current()
        if current is not None:
            return current
        try:
            self._write(heard)
        except StoreError:  # it can only be read, or its disk is full
            return file.in_memory(self._made(heard))
        written = self._current()
        # What another process changed meanwhile is for the next look.
        return file.in_memory(self._made(heard)) if written is None else written

    def refresh(self, heard: Listener | None = None) -> None:
        """Makes the file that of the runs in the store, if it is not.

        `heard` hears how many are to be read. Raises `StoreError` if the store cannot be written.
        """
        if self._current() is None:
            self._write(heard)

    def renew(self) -> None:
        """As `refresh`, after a look whether every row is of the file that the run has now.

        Raises `StoreError` if the store cannot be written.
        """
        told = self.store.told(self.store.ids(), whole=True)
        if self.differing({run: one.sha256 for run, one in told.items() if one is not None}):
            self.path.unlink(missing_ok=True)
        self.refresh()

    def differing(self, digests: Mapping[str, str]) -> list[str]:
        """The name of the file, if it is there and not of the runs with these digests."""
        if not self.path.exists():
            return []
        current = self._current()
        if current is not None:
            rows = dict(current.execute("SELECT run, sha256 FROM runs"))
            if all(digests.get(run) == sha256 for run, sha256 in rows.items()):
                return []
        return [self.path.name]

    def _current(self) -> sqlite3.Connection | None:
        """The database, if it is of the runs and plans in the store."""
        connection = file.opened(self.path)
        if connection is None or dict(connection.execute("SELECT * FROM about")) != self._about():
            return None
        known, ids = _runs_of(connection), self.store.ids()
        return connection if known <= ids and not any(self._records(ids - known)) else None

    def _write(self, heard: Listener | None) -> None:
        lock = self.store.path / "tmp" / "index-lock"
        with self.store.writer() as writer, writer.workspace() as scratch, disk.alone(lock):
            if self._current() is not None:
                return
            work = scratch / self.path.name
            work.write_bytes(self._made(heard))
            disk.sync(work)
            work.replace(self.path)
            disk.sync(self.store.path)

    def _made(self, heard: Listener | None) -> bytes:
        """The file of the runs in the store; what it has of them already is kept."""
        about, ids = self._about(), self.store.ids()
        before = file.opened(self.path)
        lacking = ids
        if before is not None:
            with contextlib.closing(before):
                known, was = _runs_of(before), dict(before.execute("SELECT * FROM about"))
            alike = all(was.get(key) == about[key] for key in ("form", "metrics"))
            lacking = ids - known if alike and known <= ids else ids
        if lacking and heard is not None:
            heard(len(lacking))
        plans, plan_of = self._plans(ids)
        kept = self.path if len(lacking) < len(ids) else None
        # Where nobody holds the lock, another file may have come into its place meanwhile.
        with contextlib.suppress(MixedError, sqlite3.DatabaseError):
            parts = map(made_of, self._parts(lacking))
            return file.built(parts, kept, plan_of, plans, about)
        return file.built([made_of(self._records(ids))], None, plan_of, plans, about)

    def _parts(self, runs: Iterable[str]) -> Iterator[Iterator[tuple[str, Asked, Told, str]]]:
        """The records of `runs`, so many at a time as fit into memory; at least one part."""
        every = sorted(runs)
        for start in range(0, max(len(every), 1), _AT_A_TIME):
            yield self._records(every[start : start + _AT_A_TIME])

    def _records(self, runs: Iterable[str]) -> Iterator[tuple[str, Asked, Told, str]]:
        """Of those of `runs` that are as they were sealed: what was asked, what the file says, and
        the metrics by the definitions at hand."""
        decode = msgspec.json.Decoder(Asked).decode
        for run, told in sorted(self.store.told(sorted(runs), whole=True).items()):
            if told is None:
                continue
            with contextlib.suppress(msgspec.DecodeError, RunError):
                asked = decode(told.asked)
                if asked.id == run:
                    current = told.metrics_version == _core.METRICS_VERSION
                    yield (
                        run,
                        asked,
                        told,
                        (told.metrics if current else self.store.trace(run).measured()),
                    )

    def _about(self) -> dict[str, str]:
        """What the index is of, beside the runs."""
        plans = hashlib.sha256()
        for text in planned.marks(self.store):
            plans.update(text.encode())
        return {"form": FORM, "metrics": _core.METRICS_VERSION, "plans": plans.hexdigest()}

    def _plans(self, ids: set[str]) -> tuple[list[tuple[Any, ...]], dict[str, str]]:
        """The rows of the plans, and the plan of each run."""
        rows = [
            (
                str(place.relative_to(self.store.path)),
                plan.name,
                plan.title,
                len(plan.points),
                len(plan.runs),
                len(plan.runs & ids),
            )
            for place, plan in planned.planned(self.store).items()
        ]
        return rows, planned.contents(self.store)


def _runs_of(connection: sqlite3.Connection) -> set[str]:
    return {run for (run,) in connection.execute("SELECT run FROM runs")}
