"""The results folder: one entry per run, written whole or not at all.

    DIR/plan.json            the plan last run here
    DIR/runs/ID/             an entry: run.json, the trace, manifest.json
    DIR/tmp/                 entries being written, one folder per live process
    DIR/report/              what `cclab report` makes; can be made again

An entry's name is the content hash of what was run, and the entry holds nothing that depends
on when, where or by which process it was run: equal runs give equal bytes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cclab.errors import StoreError
from cclab.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from cclab.plan import Run

_MANIFEST = "manifest.json"
_PLAN = "plan.json"


@dataclass(frozen=True)
class Survey:
    """What a store has of a plan, every file read; each list in the plan's order."""

    sound: list[Run]
    damaged: list[Run]
    """Those that have an entry that is not as it was written."""
    absent: list[Run]

    @property
    def missing(self) -> list[Run]:
        """The runs to do: absent or damaged ones."""
        return [*self.damaged, *self.absent]


class Store:
    """A results folder. Any number of processes may use one at the same time."""

    def __init__(self, path: str | Path) -> None:
        """Names the folder `path`; nothing is read or written yet."""
        self.path = Path(path)

    @property
    def runs(self) -> Path:
        """Where the entries are."""
        return self.path / "runs"

    def entry(self, run_id: str) -> Path:
        """Where the entry of the run `run_id` is, or would be."""
        return self.runs / run_id

    def missing(self, plan: Plan) -> list[Run]:
        """The runs of `plan` that have no sound entry, in the plan's order."""
        return [run for run in plan.runs if not self.sound(run.id)]

    def survey(self, plan: Plan) -> Survey:
        """Looks at the runs of `plan`: reads every file and compares its SHA-256."""
        runs = plan.runs
        with ThreadPoolExecutor() as pool:
            sound = list(pool.map(lambda run: self.sound(run.id, contents=True), runs))
        found = Survey([], [], [])
        for run, good in zip(runs, sound, strict=True):
            there = found.damaged if self.entry(run.id).exists() else found.absent
            (found.sound if good else there).append(run)
        return found

    def sound(self, run_id: str, *, contents: bool = False) -> bool:
        """Whether the entry of `run_id` has every file at its full length.

        With `contents`, the files are read and their SHA-256 compared as well.
        """
        entry = self.entry(run_id)
        try:
            manifest = json.loads((entry / _MANIFEST).read_bytes())
            for name, listed in manifest["files"].items():
                file = entry / name
                if file.stat().st_size != listed["bytes"]:
                    return False
                if contents and _sha256(file) != listed["sha256"]:
                    return False
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return True

    def plan(self) -> Plan:
        """The plan last run in this folder.

        Raises `StoreError` if the folder holds none.
        """
        try:
            return Plan.from_json((self.path / _PLAN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            why = "there is no plan.json in it" if self.path.is_dir() else "no such folder"
            raise StoreError(f"{self.path} is not a results folder: {why}") from None
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {_reason(error)}") from error
        except (ValueError, LookupError, TypeError) as error:
            raise StoreError(
                f"{self.path / _PLAN} is damaged or of another version; run the study again"
            ) from error

    def writer(self) -> Writer:
        """A place to write entries from; use it as a context."""
        return Writer(self)


class Writer:
    """This process's corner of a store: `tmp/UNIQUE`, held by a lock while it lives.

    The kernel drops the lock when the process dies, however it dies, and the next writer then
    removes what it left. Corners are made and swept under one store-wide lock, so that a new
    corner is never taken for an abandoned one.
    """

    def __init__(self, store: Store) -> None:
        """A writer into `store`, not yet open."""
        self._store = store
        self._corner: Path | None = None
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Makes the folder if need be and removes what dead writers left.

        Raises `StoreError` if the folder cannot be written.
        """
        tmp = self._store.path / "tmp"
        try:
            self._store.runs.mkdir(parents=True, exist_ok=True)
            tmp.mkdir(exist_ok=True)
            with _locked(tmp / "lock"):
                _sweep(tmp)
                corner = Path(tempfile.mkdtemp(prefix="writer-", dir=tmp))
                self._held.enter_context(_locked(corner / "lock"))
        except OSError as error:
            self._held.close()
            raise StoreError(f"cannot write to {self._store.path}: {_reason(error)}") from error
        self._corner = corner
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Removes the corner and what is unfinished in it."""
        if self._corner is not None:
            shutil.rmtree(self._corner, ignore_errors=True)
        self._held.close()
        self._corner = None

    def save(self, run: Run, produce: Callable[[Path], None]) -> None:
        """Has `produce` write the files of `run` into an empty folder, then makes it the entry.

        If another process saved the same run meanwhile, its entry stays: it holds the same
        bytes. Raises what `produce` raises, and `StoreError` if the entry cannot be written.
        """
        work = self._inside(run.id)
        try:
            work.mkdir()
            produce(work)
            _seal(work, run.id)
            self._install(work, run.id)
        except OSError as error:
            raise StoreError(f"cannot write to {self._store.path}: {_reason(error)}") from error
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def save_plan(self, plan: Plan) -> None:
        """Replaces the folder's plan by `plan` in one step."""
        work = self._inside(_PLAN)
        try:
            work.write_text(plan.to_json(), encoding="utf-8")
            _sync(work)
            work.replace(self._store.path / _PLAN)
            _sync(self._store.path)
        except OSError as error:
            raise StoreError(f"cannot write to {self._store.path}: {_reason(error)}") from error

    def _install(self, work: Path, run_id: str) -> None:
        """Renames `work` to its final name; a damaged entry there makes way first."""
        target = self._store.entry(run_id)
        while True:
            try:
                work.rename(target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
            else:
                _sync(self._store.runs)
                return
            if self._store.sound(run_id, contents=True):
                return
            self._discard(target)

    def discard(self, run_id: str) -> None:
        """Removes the entry of `run_id`. Raises `StoreError` if it cannot be removed."""
        try:
            self._discard(self._store.entry(run_id))
        except OSError as error:
            raise StoreError(f"cannot write to {self._store.path}: {_reason(error)}") from error

    def _discard(self, target: Path) -> None:
        """Moves a damaged entry out of the way; another process may be doing the same."""
        grave = Path(tempfile.mkdtemp(prefix="damaged-", dir=self._inside(".")))
        with contextlib.suppress(FileNotFoundError):
            target.rename(grave / "entry")
        if (grave / "entry").is_dir():
            shutil.rmtree(grave, ignore_errors=True)

    def _inside(self, name: str) -> Path:
        assert self._corner is not None, "the writer is used outside its context"
        return self._corner / name


def _seal(work: Path, run_id: str) -> None:
    """Flushes every file of an entry to the disk and lists them in its manifest."""
    files = {}
    for file in sorted(work.iterdir()):
        _sync(file)
        files[file.name] = {"bytes": file.stat().st_size, "sha256": _sha256(file)}
    manifest = work / _MANIFEST
    document = {"schema": "cclab-entry/1", "run": run_id, "files": files}
    manifest.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    _sync(manifest)
    _sync(work)


def _sweep(tmp: Path) -> None:
    """Removes the corners whose process is gone. The caller holds the store-wide lock."""
    for corner in sorted(tmp.iterdir()):
        if not corner.is_dir():
            continue
        try:
            with _locked(corner / "lock", wait=False):
                shutil.rmtree(corner, ignore_errors=True)
        except BlockingIOError:
            continue


@contextlib.contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Holds an exclusive lock on `path`; without `wait`, raises `BlockingIOError` if taken."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def _sync(path: Path) -> None:
    """Waits until `path`, a file or a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _reason(error: OSError) -> str:
    """What the system says, without the number."""
    return error.strerror or str(error)
