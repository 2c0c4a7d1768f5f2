"""The workers of a Dask cluster: they execute, measure and seal; this process saves.

Runs go out and sealed entries come back, so that workers need no folder in common with this
machine, and the store is written as it is by a sweep on this machine: the same bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cclab import _core
from cclab.backends import backend as backend_called
from cclab.backends import versions
from cclab.errors import InputError, RunError
from cclab.execute.crew import Done, work

try:
    import distributed
except ImportError:
    raise InputError(
        "a cluster needs the package dask.distributed; please install it: "
        "pip install 'cclab[cluster]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cclab._core import Progress
    from cclab.backends import Backend
    from cclab.plan import Run
    from cclab.store import Writer
    from cclab.store.writer import Sealed

_CONNECT_S = 10
"""A scheduler that does not answer for so long is not there."""

_COUNT_S = 1.0
"""How often the workers are counted."""

_ANY = 1 << 30
"""More threads than any worker has."""

_RETRIES = 5
"""Times that a batch is given out again when its worker refuses it, such as one of another version
that came late. How many deaths of workers it survives is Dask's `allowed-failures`."""

_LOOK_S = 0.1
"""How often a worker looks whether its batch is still wanted."""


@dataclass(frozen=True)
class _Parcel:
    """A batch that is over, on its way from a worker."""

    sealed: list[Sealed]
    files: dict[str, dict[str, bytes]]
    """What the entries hold: by the run's id, by the file's name."""
    done: Done


class Cluster:
    """The workers of a Dask scheduler."""

    here = False
    threads = 2048

    def __init__(self, client: distributed.Client, backend: Backend) -> None:
        """The workers that `client` reaches; see `at`."""
        self._client = client
        self._backend = backend
        self._slots = 1
        self._counted = -_COUNT_S
        self._lock = threading.Lock()
        self._stopped = False
        self._awaited: set[threading.Event] = set()
        """Of each batch under way: set when there is no more to wait for."""

    @property
    def slots(self) -> int:
        """A batch for each thread of each worker, as far as the backend can do them."""
        now = time.monotonic()
        if now - self._counted > _COUNT_S and self._connected:
            self._counted = now
            most = self._backend.most_jobs or _ANY
            # If the scheduler is lost right now, the batches under way say so.
            with contextlib.suppress(OSError):
                # `scheduler_info` tells of five workers alone in some versions of Dask:
                # https://github.com/dask/distributed/issues/9065
                found = sum(min(n, most) for n in self._client.nthreads().values())
                self._slots = max(1, min(found, self.threads // 2))
        return self._slots

    @property
    def _connected(self) -> bool:
        return bool(self._client.status == "running")

    @classmethod
    @contextlib.contextmanager
    def at(cls, address: str, backend: Backend, runs: list[Run]) -> Iterator[Self]:
        """The cluster whose scheduler is at `address`, once it is known that it can do `runs`.

        Raises `InputError` if there is none, or a worker cannot do them.
        """
        # What it logs of a lost connection is told here in a sentence. Each of its loggers has a
        # level of its own.
        for name in [*logging.root.manager.loggerDict, "tornado.application", "asyncio"]:
            if name.startswith(("distributed", "tornado", "asyncio")):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no Dask scheduler answers at {address!r} ({error}); `cclab cluster local` "
                "starts one on this machine"
            ) from error
        with client:
            told = client.run(_able, backend.name, backend.version(), _samples(runs))
            if not told:
                raise InputError(f"the Dask scheduler at {address} has no workers yet")
            for worker, lack in told.items():
                if lack is not None:
                    raise InputError(f"worker {worker}: {lack}")
            yield cls(client, backend)

    def do(self, batch: Sequence[Run], progresses: Sequence[Progress], writer: Writer) -> Done:
        """Has a worker execute `batch`, and `writer` save what succeeds."""
        del progresses  # A worker tells when it is done, and `stop` ends what is under way.
        parcel = self._parcel(batch)
        if isinstance(parcel, str):
            return Done(0.0, 0.0, [(run, parcel) for run in batch])
        with writer.workspace() as folder:
            for run_id, files in parcel.files.items():
                (folder / run_id).mkdir()
                for name, content in files.items():
                    (folder / run_id / name).write_bytes(content)
            writer.land(folder, parcel.sealed)
        return parcel.done

    def stop(self) -> None:
        """Waits for no batch any more: workers end those that they have begun."""
        with self._lock:
            self._stopped = True
            for over in self._awaited:
                over.set()

    def _parcel(self, batch: Sequence[Run]) -> _Parcel | str:
        """What a worker made of `batch`, or why none did it."""
        try:
            future = self._client.submit(
                _work,
                self._backend.name,
                self._backend.version(),
                [*batch],
                pure=False,
                retries=_RETRIES,
            )
            try:
                self._await(future)
                if not future.done():
                    return "cancelled"
                parcel: _Parcel = future.result()
            finally:
                # The scheduler drops what nobody waits for, and tells the worker that has it.
                future.release()
        except InputError:
            raise
        except distributed.KilledWorker as error:
            return f"the workers that had it were lost: {error}"
        except (Exception, asyncio.CancelledError) as error:
            if self._connected:
                return f"no worker did it: {type(error).__name__}: {error}"
            raise RunError(
                f"the Dask scheduler is gone ({type(error).__name__}); finished runs are kept, "
                "and the same command with a new scheduler goes on from there"
            ) from error
        return parcel

    def _await(self, future: distributed.Future) -> None:
        """Returns when `future` is done, or at `stop`: `future.result` would not hear of that."""
        over = threading.Event()
        with self._lock:
            if self._stopped:
                return
            self._awaited.add(over)
        future.add_done_callback(lambda _: over.set())
        over.wait()
        with self._lock:
            self._awaited.discard(over)


def _samples(runs: list[Run]) -> list[Run]:
    """One run of each scenario: what a backend needs does not depend on the seed."""
    return list({id(run.scenario): run for run in runs}.values())


def _able(backend: str, version: str, runs: list[Run]) -> str | None:
    """On a worker: why it cannot do `runs`; None if it can."""
    try:
        _check_version(backend, version)
        backend_called(backend).check(runs)
    except InputError as error:
        return str(error)
    return None


def _check_version(backend: str, version: str) -> None:
    """On a worker: raises `InputError` if it would give other results under the same ids."""
    there = versions()[backend]
    if there != version:
        raise InputError(f"it has {backend} {there}, and not {version}: install the same cclab")


def _work(backend: str, version: str, batch: list[Run]) -> _Parcel:
    """On a worker, which may have come after the others were asked: executes `batch`.

    What goes wrong with the worker, such as a full disk, is why the runs failed.
    """
    worker = distributed.get_worker()
    progresses = [_core.Progress() for _ in batch]
    try:
        _check_version(backend, version)
        with (
            _while_wanted(worker, progresses),
            tempfile.TemporaryDirectory(prefix="cclab-") as place,
        ):
            folder = Path(place)
            sealed, done = work(backend_called(backend), batch, folder, progresses)
            folders = [folder / one.run.id for one in sealed]
            files = {
                at.name: {file.name: file.read_bytes() for file in at.iterdir()} for at in folders
            }
    except InputError as error:
        raise InputError(f"worker {worker.address}: {error}") from error
    except Exception as error:
        why = f"worker {worker.address}: {type(error).__name__}: {error}"
        return _Parcel([], {}, Done(0.0, 0.0, [(run, why) for run in batch]))
    return _Parcel(sealed, files, done)


@contextlib.contextmanager
def _while_wanted(worker: distributed.Worker, progresses: Sequence[Progress]) -> Iterator[None]:
    """On a worker: cancels what is under way once nobody waits for this thread's task any more.

    Dask itself lets a task that has begun run to its end, and only notes that it is cancelled.
    """
    task = worker.state.tasks[worker.get_current_task()]
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            if task.state == "cancelled":
                for progress in progresses:
                    progress.cancel()
                return

    looking = threading.Thread(target=look, name="look", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
