"""How entries come into a results folder."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cclab import _core
from cclab.errors import StoreError
from cclab.store import disk
from cclab.store.folder import PLAN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from cclab.plan import Plan, Run
    from cclab.store.folder import Store


@dataclass(frozen=True)
class Sealed:
    """A run that is over, measured, and listed in its entry's manifest."""

    run: Run
    digest: str
    """SHA-256 of the manifest, and so of all that the entry holds."""
    bytes: int
    """Of all files of the entry."""
    metrics: str
    """As `_core.measure` gives them."""


class Writer:
    """This process's corner of a store: `tmp/UNIQUE`, held by a lock while it lives.

    The kernel drops the lock when the process dies, however it dies, and the next writer then
    removes what it left. Corners are made and swept under one store-wide lock, so that a new
    corner is never taken for an abandoned one.
    """

    def __init__(self, store: Store) -> None:
        """A writer into `store`, not yet open."""
        self.store = store
        self._corner: Path | None = None
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Makes the folder if need be and removes what dead writers left.

        Raises `StoreError` if the folder cannot be written.
        """
        tmp = self.store.path / "tmp"
        with self._telling():
            try:
                self.store.runs.mkdir(parents=True, exist_ok=True)
                tmp.mkdir(exist_ok=True)
                with disk.locked(tmp / "lock"):
                    _sweep(tmp)
                    corner = Path(tempfile.mkdtemp(prefix="writer-", dir=tmp))
                    self._held.enter_context(disk.locked(corner / "lock"))
            except OSError:
                self._held.close()
                raise
        self._corner = corner
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes the corner and what is unfinished in it.

        All entries have their names on the disk then. Raises `StoreError` if it cannot be written.
        """
        if self._corner is not None:
            shutil.rmtree(self._corner, ignore_errors=True)
        self._held.close()
        self._corner = None
        if kind is None:
            with self._telling():
                disk.sync(self.store.runs)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """An empty folder to make entries in, each called by its run's id; gone afterwards.

        What the system refuses meanwhile is a `StoreError`.
        """
        with self._telling():
            folder = Path(tempfile.mkdtemp(prefix="work-", dir=self._inside(".")))
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def land(self, workspace: Path, sealed: Sequence[Sealed]) -> None:
        """Makes the entries of `sealed`, which are in `workspace`, entries of the store.

        All that they hold is on the disk before the first of them has its name. The names are
        flushed with the next entries, or when the writer closes: a machine that fails in between
        makes these runs again. If another process saved the same run meanwhile, its entry stays: it
        holds the same bytes. The catalog is told of them. Raises `StoreError` if they cannot be
        written.
        """
        if not sealed:
            return
        # Its libraries take longer to load than many commands run.
        from cclab.catalog import Catalog

        self.install(workspace, [one.run.id for one in sealed])
        with self._telling():
            Catalog(self.store).add(sealed, workspace)

    def install(self, workspace: Path, runs: Sequence[str]) -> None:
        """Makes the sealed folders of `runs` in `workspace` entries; see `land`."""
        with self._telling():
            made = [workspace / run for run in runs]
            _core.sync([*made])
            for folder in made:
                self._install(folder, folder.name)

    def save_plan(self, plan: Plan, *, passing: bool = False) -> None:
        """Replaces the folder's plan by `plan` in one step, and keeps it among all plans.

        A `passing` one, which grows when the sweep goes on, is not kept.
        """
        text = plan.to_json().encode()
        with self._telling():
            self.store.plans.mkdir(exist_ok=True)
            kept = [] if passing else [self.store.place_of(plan)]
            for place in (*kept, self.store.path / PLAN):
                work = self._inside(PLAN)
                work.write_bytes(text)
                disk.sync(work)
                work.replace(place)
                disk.sync(place.parent)

    def set_aside(self, run_id: str) -> None:
        """Moves what is in the place of the entry of `run_id` out of the way, into `aside`.

        Another process may be doing the same. Raises `StoreError` if it cannot be moved.
        """
        with self._telling():
            self.store.aside.mkdir(exist_ok=True)
            place = Path(tempfile.mkdtemp(prefix=f"{run_id}-", dir=self.store.aside))
            try:
                self.store.entry(run_id).rename(place / "entry")
            except FileNotFoundError:
                place.rmdir()
                return
            for folder in (place, self.store.aside, self.store.runs):
                disk.sync(folder)

    def _install(self, work: Path, run_id: str) -> None:
        """Renames `work` to its final name; a damaged entry there makes way first."""
        target = self.store.entry(run_id)
        while True:
            try:
                work.rename(target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
            else:
                return
            if self.store.sound(run_id, contents=True):
                return
            self.set_aside(run_id)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What the system refuses is told as the store's fault."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            why = disk.reason(error)
            raise StoreError(f"cannot write to {self.store.path}: {why}") from error

    def _inside(self, name: str) -> Path:
        assert self._corner is not None, "the writer is used outside its context"
        return self._corner / name


def _sweep(tmp: Path) -> None:
    """Removes the corners whose process is gone. The caller holds the store-wide lock."""
    for corner in sorted(tmp.iterdir()):
        if not corner.is_dir():
            continue
        try:
            with disk.locked(corner / "lock", wait=False):
                shutil.rmtree(corner, ignore_errors=True)
        except BlockingIOError:
            continue
