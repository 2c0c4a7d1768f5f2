"""How the index of a results folder is kept."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from cclab import _core, whole
from cclab.errors import StoreError
from cclab.store import disk, planned
from cclab.store.folder import INDEX
from cclab.store.index import file
from cclab.store.index.tables import Asked, MixedError, made_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cclab.store import Store
    from cclab.store.folder import Told

Listener = Callable[[int], None]
"""Hears how many runs are to be read."""

FORM = "cclab-index/2"

_AT_A_TIME = 5000
"""Runs whose cells are held in memory at once."""


class Index:
    """What is known of all runs in a store, without opening their files."""

    def __init__(self, store: Store) -> None:
        """The index of `store`; nothing is read or written yet."""
        self.store = store
        self.path = store.path / INDEX

    def connection(self, heard: Listener | None = None) -> sqlite3.Connection:
        """The database, to be read; made anew first if it is not of the runs in the store.

        Where the store cannot be written, it is made in memory.
        """
        current = self._current()
        if current is not None:
            return current
        heard = _once(heard)
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
            self._write(None, anew=True)
        else:
            self.refresh()

    def differing(self, digests: Mapping[str, str]) -> list[str]:
        """The name of the file, if it is there and not of the runs with these digests."""
        if not os.path.lexists(self.path):
            return []
        current = self._current()
        if current is not None:
            rows = dict(current.execute("SELECT run, sha256 FROM runs"))
            if all(digests.get(run) == sha256 for run, sha256 in rows.items()):
                return []
        return [self.path.name]

    def unread(self, connection: sqlite3.Connection) -> list[str]:
        """The runs of the store that have no row, since their files are not as they were written or
        say nothing that can be read."""
        [(known,)] = connection.execute("SELECT value FROM about WHERE key = ?", (file.RUNS,))
        if known == self.store.names_digest():
            return []
        return sorted(self.store.ids() - file.runs_of(connection))

    def _current(self) -> sqlite3.Connection | None:
        """The database, if it is of the runs and plans in the store."""
        with ThreadPoolExecutor(2) as pool:
            # Three long looks, none of which needs the others.
            names, about = pool.submit(self.store.names_digest), pool.submit(self._about)
            connection = file.opened(self.path)
        if connection is None:
            return None
        was = dict(connection.execute("SELECT * FROM about"))
        known = was.pop(file.RUNS, None)
        if was != about.result():
            return None
        # Where names are others, some may be of what is no run that can be read.
        return connection if known == names.result() or self._has_all(connection) else None

    def _has_all(self, connection: sqlite3.Connection) -> bool:
        """Whether each run that can be read has its row, and no other."""
        known, ids = file.runs_of(connection), self.store.ids()
        return known <= ids and not any(self._records(ids - known))

    def _write(self, heard: Listener | None, *, anew: bool = False) -> None:
        lock = self.store.path / "tmp" / "index-lock"
        with self.store.writer() as writer, writer.workspace() as scratch, disk.alone(lock):
            if self._current() is not None and not anew:
                return
            work = scratch / self.path.name
            work.write_bytes(self._made(heard, anew=anew))
            whole.sync(work)
            writer.make_way(self.path)
            work.replace(self.path)
            whole.sync(self.store.path)

    def _made(self, heard: Listener | None, *, anew: bool = False) -> bytes:
        """The file of the runs in the store; what it has of them already is kept, unless `anew`."""
        about, ids = self._about(), self.store.ids()
        before, lacking = None if anew else file.opened(self.path), ids
        if before is not None:
            known, was = file.runs_of(before), dict(before.execute("SELECT * FROM about"))
            alike = all(was.get(key) == about[key] for key in ("form", "metrics"))
            lacking = ids - known if alike and known <= ids else ids
        if lacking and heard is not None:
            heard(len(lacking))
        plans, plan_of = self._plans(ids)
        kept = before if len(lacking) < len(ids) else None
        try:
            with contextlib.suppress(MixedError):
                parts = map(made_of, self._parts(lacking))
                return file.built(parts, kept, plan_of, plans, about)
            return file.built([made_of(self._records(ids))], None, plan_of, plans, about)
        except sqlite3.Error as error:
            raise StoreError(f"the index of {self.store.path} cannot be made: {error}") from error

    def _parts(self, runs: Iterable[str]) -> Iterator[Iterator[tuple[str, Asked, Told, str]]]:
        """The records of `runs`, so many at a time as fit into memory; at least one part."""
        every = sorted(runs)
        for start in range(0, max(len(every), 1), _AT_A_TIME):
            yield self._records(every[start : start + _AT_A_TIME])

    def _records(self, runs: Iterable[str]) -> Iterator[tuple[str, Asked, Told, str]]:
        """Of those of `runs` that are as they were sealed: what was asked, what the file says, and
        the metrics by the definitions at hand."""
        decode = msgspec.json.Decoder(Asked).decode
        every = self.store.told(sorted(runs), whole=True)
        again = self.store.measured_again(every)
        for run, told in sorted(every.items()):
            if told is None:
                continue
            metrics = again.get(run, told.metrics)
            if not isinstance(metrics, str):
                continue
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                asked = decode(told.asked)
                if asked.id == run:
                    yield run, asked, told, metrics

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


def _once(heard: Listener | None) -> Listener | None:
    """`heard`, which hears the first time alone: what could not be written is made once more."""
    waiting = [heard] if heard is not None else []

    def hear(runs: int) -> None:
        while waiting:
            waiting.pop()(runs)

    return hear
