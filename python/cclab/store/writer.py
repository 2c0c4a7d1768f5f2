"""How runs come into a results folder."""

from __future__ import annotations

import contextlib
import errno
import filecmp
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cclab import _core, whole
from cclab.errors import RemovedError, StoreError
from cclab.store import disk, made
from cclab.store.folder import ENDING, INDEX, PLAN
from cclab.store.index.file import runs_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from cclab.plan import Plan
    from cclab.store.folder import Store


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
        self._standing_on: tuple[Path, ...] = ()
        """What is there as long as nobody removes the folder of an open writer."""
        self._held = contextlib.ExitStack()
        self._indexed: tuple[tuple[int, int, int] | None, set[str]] = (None, set())
        """The index as it was last seen, and the runs that it has rows of."""

    def __enter__(self) -> Self:
        """Makes the folder if need be and removes what dead writers left.

        Raises `StoreError` if the folder cannot be written, or is of another version.
        """
        tmp = self.store.path / "tmp"
        self.store.check_version()
        with self._telling():
            try:
                _make(self.store.runs)
                _make(tmp)
                # What is swept there is nobody else's.
                if tmp.is_symlink():
                    raise NotADirectoryError(errno.ENOTDIR, f"{tmp.name} is a link, and no folder")
                with disk.locked(tmp / "lock"):
                    _sweep(tmp)
                    corner = Path(tempfile.mkdtemp(prefix="writer-", dir=tmp))
                    self._held.enter_context(disk.locked(corner / "lock"))
            except OSError:
                self._held.close()
                raise
        self._corner = corner
        self._standing_on = (self.store.runs, corner)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes the corner and what is unfinished in it.

        All runs have their names on the disk then. Raises `StoreError` if it cannot be written.
        """
        self._standing_on = self._standing_on[:1]
        if self._corner is not None:
            shutil.rmtree(self._corner, ignore_errors=True)
        self._held.close()
        self._corner = None
        if kind is None:
            with self._telling():
                whole.sync(self.store.runs)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """An empty folder to make runs in, each called by its id; gone afterwards.

        What the system refuses meanwhile is a `StoreError`.
        """
        with self._telling():
            folder = Path(tempfile.mkdtemp(prefix="work-", dir=self._inside(".")))
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def land(self, workspace: Path, runs: Sequence[str]) -> None:
        """Makes the sealed `runs`, which are in `workspace`, runs of the store.

        All that they hold is on the disk before the first of them has its name. The names are
        flushed with the next ones, or when the writer closes: a machine that fails in between
        makes these runs again. If another process saved the same run meanwhile, its file stays: it
        holds the same bytes. Raises `StoreError` if they cannot be written.
        """
        if not runs:
            return
        with self._telling():
            self._forget(runs)
            files = [workspace / f"{run}{ENDING}" for run in runs]
            captured = [folder for run in runs if (folder := workspace / run).is_dir()]
            _core.sync([*files, *captured])
            for run in runs:
                self._install(workspace, run)

    def save_plan(self, plan: Plan, *, passing: bool = False) -> None:
        """Replaces the folder's plan by `plan` in one step, and keeps it among all plans.

        Of a `passing` one, which grows when the sweep goes on, what it was at first is kept.
        """
        text = plan.to_json().encode()
        kept = plan.first.to_json().encode() if passing else text
        places = {self.store.place_of_text(kept): kept, self.store.path / PLAN: text}
        with self._telling():
            _make(self.store.plans)
            for place, saved in places.items():
                work = self._inside(PLAN)
                work.write_bytes(saved)
                whole.sync(work)
                self.make_way(place)
                work.replace(place)
                whole.sync(place.parent)

    def make_way(self, place: Path) -> None:
        """Moves a folder that stands in the place of a file out of the way, into `aside`."""
        if place.is_dir() and not place.is_symlink():
            _make(self.store.aside)
            aside = Path(tempfile.mkdtemp(prefix=f"{place.name}-", dir=self.store.aside))
            place.rename(aside / place.name)
            whole.sync(aside)

    def set_aside(self, run_id: str) -> None:
        """Moves what is in the place of the run `run_id` out of the way, into `aside`.

        Another process may be doing the same. Raises `StoreError` if it cannot be moved.
        """
        file, captures = self.store.file(run_id), self.store.captures / run_id
        with self._telling():
            self._forget([run_id])
            _make(self.store.aside)
            place = Path(tempfile.mkdtemp(prefix=f"{run_id}-", dir=self.store.aside))
            moved = [_moved(file, place / file.name), _moved(captures, place / "captures")]
            if not any(moved):
                place.rmdir()
                return
            for folder in (place, self.store.aside, self.store.runs):
                whole.sync(folder)

    def _forget(self, runs: Sequence[str]) -> None:
        """Removes what may be of the files that one of `runs` had before: the index if it has a row
        of it, and the stamp of the report, in which runs have their ids alone. Both are made again
        of what is there."""
        (self.store.report / made.FILE).unlink(missing_ok=True)
        index = self.store.path / INDEX
        try:
            stamp = index.stat()
        except OSError:
            return
        changed = (stamp.st_ino, stamp.st_mtime_ns, stamp.st_size)
        if changed != self._indexed[0]:
            self._indexed = changed, runs_in(index)
        if not self._indexed[1].isdisjoint(runs):
            index.unlink(missing_ok=True)

    def _install(self, workspace: Path, run_id: str) -> None:
        """Renames a sealed run to its final name; a damaged one there makes way first."""
        work, target = workspace / f"{run_id}{ENDING}", self.store.file(run_id)
        if target.exists():
            if self.store.sound(run_id, contents=True):
                return
            self.set_aside(run_id)
        if (workspace / run_id).is_dir():
            self._place_captures(workspace / run_id, self.store.captures / run_id)
        work.rename(target)

    def _place_captures(self, work: Path, target: Path) -> None:
        """Renames the folder `work` to `target`, before the run's file that lists what is in it.

        Of a writer that was killed in between, or is about to go on, the very same may be there.
        """
        _make(target.parent)
        while True:
            try:
                work.rename(target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
                if _same(work, target):
                    return
                self.set_aside(target.name)
            else:
                whole.sync(target.parent)
                return

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What the system refuses is told as the store's fault."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            if not all(place.exists() for place in self._standing_on):
                raise RemovedError(self.store.path, self._runs_left()) from error
            why = disk.reason(error)
            raise StoreError(f"cannot write to {self.store.path}: {why}") from error

    def _runs_left(self) -> int:
        """How many runs are still in the store."""
        try:
            return self.store.count()
        except StoreError:
            return 0

    def _inside(self, name: str) -> Path:
        assert self._corner is not None, "the writer is used outside its context"
        return self._corner / name


def _make(folder: Path) -> None:
    """Makes `folder`, if it is not there. Raises `StoreError` if something else is in its place."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise StoreError(f"{folder} is no folder, as it has to be: move it elsewhere") from error


def _moved(source: Path, target: Path) -> bool:
    """Whether there was something at `source`, which is at `target` now."""
    try:
        source.rename(target)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _same(a: Path, b: Path) -> bool:
    """Whether two folders hold the same files."""
    names = sorted(file.name for file in a.iterdir())
    if not b.is_dir() or names != sorted(file.name for file in b.iterdir()):
        return False
    _, differing, failed = filecmp.cmpfiles(a, b, names, shallow=False)
    return not (differing or failed)


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
