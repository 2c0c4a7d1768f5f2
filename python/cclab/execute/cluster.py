"""The workers of a Dask cluster: they execute, measure and seal; this process saves.

Runs go out and sealed files come back, so that workers need no folder in common with this
machine, and the store is written as it is by a sweep on this machine: the same bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cclab import _core, shown, versions
from cclab.errors import InputError, RunError
from cclab.execute.backends import backend as backend_called
from cclab.execute.crew import Done, check_disk, work
from cclab.plan.outdated import outdated
from cclab.store.folder import ENDING

try:
    import distributed
except ImportError:
    raise InputError(
        "a cluster needs the package dask.distributed; please install it: "
        "pip install 'cclab[cluster]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cclab._core import Progress
    from cclab.execute.address import Scheduler
    from cclab.execute.backends import Backend
    from cclab.plan import Run
    from cclab.store import Writer

_CONNECT_S = 10
"""A scheduler that does not answer for so long is not there."""

_COUNT_S = 1.0
"""How often the workers are counted."""

_ANY = 1 << 30
"""More threads than any worker has."""

_RETRIES = 5
"""Times that a batch is given out again when its worker refuses it, such as one of another version
that came late. How many deaths of workers it survives is Dask's `allowed-failures`."""

_TRIES = 3
"""Workers that may fail at a batch before it is the batch's fault, and its runs have failed."""

_LOOK_S = 0.1
"""How often a worker looks whether its batch is still wanted."""


@dataclass(frozen=True)
class _Parcel:
    """A batch that is over, on its way from a worker."""

    sealed: list[str]
    """The runs' ids."""
    files: dict[str, bytes]
    """The runs' files and their captures, by their paths in a workspace."""
    done: Done


@dataclass(frozen=True)
class _Broken:
    """What a worker says that could not work, such as one whose disk is full."""

    worker: str
    """Its address."""
    why: str


class Cluster:
    """The workers of a Dask scheduler."""

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
        self._lost: dict[str, str] = {}
        """Workers that failed at what another one did, by address, and what they said. They get
        nothing more."""

    @property
    def lost(self) -> tuple[str, ...]:
        """The workers that get nothing more, each with why."""
        return tuple(f"worker {worker}: {why}" for worker, why in self._lost.items())

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
                threads = self._client.nthreads()
                threads_here = sum(min(threads[worker], most) for worker in self._fit(threads))
                self._slots = max(1, min(threads_here, self.threads // 2))
        return self._slots

    @property
    def _connected(self) -> bool:
        return bool(self._client.status == "running")

    @classmethod
    @contextlib.contextmanager
    def at(cls, scheduler: Scheduler, backend: Backend, runs: list[Run]) -> Iterator[Self]:
        """The cluster of `scheduler`, once it is known that it can do `runs`.

        Raises `InputError` if there is none, or a worker cannot do them.
        """
        address = scheduler.address
        # What it logs of a lost connection is told here in a sentence. Each of its loggers has a
        # level of its own.
        for name in [*logging.root.manager.loggerDict, "tornado.application", "asyncio"]:
            if name.startswith(("distributed", "tornado", "asyncio")):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        if scheduler.certificate is None and address.startswith("tls://"):
            _check_credentials(address)
        try:
            client = client_of(scheduler)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no Dask scheduler answers at {shown.quoted(address)}, or it has other "
                f"credentials than this process ({error}); "
                "`cclab cluster local` starts one on this machine"
            ) from error
        try:
            told = client.run(_able, backend.name, _samples(runs))
            if not told:
                raise InputError(f"the Dask scheduler at {address} has no workers yet")
            for worker, lack in told.items():
                if lack is not None:
                    raise InputError(f"worker {worker}: {lack}")
            yield cls(client, backend)
        finally:
            # A scheduler that is gone cannot be told that this process goes, too: it may be amid
            # another attempt to reach it, and what is wrong was told.
            with contextlib.suppress(OSError, ValueError):
                client.close()

    def task(
        self, batch: Sequence[Run], progresses: Sequence[Progress], writer: Writer
    ) -> Callable[[], Done]:
        """What has a worker execute `batch`, and `writer` save what succeeds."""
        del progresses  # A worker tells when it is done, and `stop` ends what is under way.
        return functools.partial(self._do, batch, writer)

    def _do(self, batch: Sequence[Run], writer: Writer) -> Done:
        parcel = self._parcel(batch)
        if isinstance(parcel, str):
            return Done(0.0, 0.0, [(run, parcel) for run in batch])
        with writer.workspace() as folder:
            for name, content in parcel.files.items():
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(content)
            writer.land(folder, parcel.sealed)
        return parcel.done

    def stop(self) -> None:
        """Waits for no batch any more: workers end those that they have begun."""
        with self._lock:
            self._stopped = True
            for over in self._awaited:
                over.set()

    def _parcel(self, batch: Sequence[Run]) -> _Parcel | str:
        """What a worker made of `batch`, or why none did it.

        If one fails where another does not, it was to blame, and is given nothing more.
        """
        broken: dict[str, str] = {}
        while True:
            made = self._made(batch, broken)
            if not isinstance(made, _Broken):
                if isinstance(made, _Parcel):
                    self._lost |= broken
                return made
            broken[made.worker] = made.why
            if len(broken) == _TRIES or not self._fit(self._client.nthreads(), broken):
                return f"worker {made.worker}: {made.why}"

    def _fit(self, workers: Iterable[str], broken: Iterable[str] = ()) -> list[str]:
        """Those of `workers` that can be given a batch at which `broken` failed.

        Without others, those that are lost must do: they may be well again.
        """
        others = [worker for worker in workers if worker not in broken]
        return [worker for worker in others if worker not in self._lost] or others

    def _made(self, batch: Sequence[Run], broken: Iterable[str]) -> _Parcel | _Broken | str:
        """What a worker, none of those that are lost or in `broken`, made of `batch`, or why none
        did it."""
        try:
            fit = None
            if self._lost or broken:
                fit = self._fit(self._client.nthreads(), broken)
            future = self._client.submit(
                _work,
                self._backend.name,
                [*batch],
                pure=False,
                retries=_RETRIES,
                workers=fit,
                allow_other_workers=fit is not None,  # Should they die meanwhile.
            )
            try:
                self._await(future)
                if not future.done():
                    return "cancelled"
                made: _Parcel | _Broken = future.result()
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
        return made

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


def security(certificate: str, key: str) -> distributed.Security:
    """What lets those alone speak to each other who have the key, encrypted (TLS)."""
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=certificate,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_scheduler_cert=certificate,
        tls_scheduler_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )


def _check_credentials(address: str) -> None:
    """Raises `InputError` if Dask's configuration has none for `address`."""
    if distributed.Security().get_connection_args("client").get("ssl_context") is None:
        raise InputError(
            f"{address} is reached with credentials, and Dask's configuration has none: name the "
            "file of `cclab cluster local`, or set distributed.comm.tls.ca-file and .client"
        )


def client_of(scheduler: Scheduler) -> distributed.Client:
    """A client of `scheduler`. Raises `OSError` or `ValueError` if it does not answer."""
    own = {}
    if scheduler.certificate is not None and scheduler.key is not None:
        own = {"security": security(scheduler.certificate, scheduler.key)}
    return distributed.Client(scheduler.address, timeout=_CONNECT_S, set_as_default=False, **own)


def _samples(runs: list[Run]) -> list[Run]:
    """One run of each scenario: what a backend needs does not depend on the seed."""
    return list({id(run.scenario): run for run in runs}.values())


def _able(backend: str, runs: list[Run]) -> str | None:
    """On a worker: why it cannot do `runs`; None if it can."""
    try:
        _check_versions(runs)
        backend_called(backend).check(runs)
    except InputError as error:
        return str(error)
    return None


def _check_versions(runs: list[Run]) -> None:
    """On a worker: raises `InputError` if it would give other results under the same ids."""
    for run, here in outdated(runs).values():
        theirs, ours = versions.apart(run.version, here)
        raise InputError(f"it has {ours}, and not {theirs}: install the same cclab")


def _work(backend: str, batch: list[Run]) -> _Parcel | _Broken:
    """On a worker, which may have come after the others were asked: executes `batch`.

    What the system refuses, such as to write to a full disk, is the worker's fault.
    """
    worker = distributed.get_worker()
    progresses = [_core.Progress() for _ in batch]
    try:
        _check_versions(batch)
        with (
            _while_wanted(worker, progresses),
            tempfile.TemporaryDirectory(prefix="cclab-") as place,
        ):
            folder = Path(place)
            mine = backend_called(backend)
            sealed, done = work(mine, batch, folder, progresses)
            if mine.in_thread:
                check_disk(done.failed)
            # What failed has left its folder, too.
            made = [
                *(folder / f"{run}{ENDING}" for run in sealed),
                *(file for run in sealed for file in (folder / run).glob("*")),
            ]
            files = {str(file.relative_to(folder)): file.read_bytes() for file in made}
    except InputError as error:
        raise InputError(f"worker {worker.address}: {error}") from error
    except OSError as error:
        return _Broken(worker.address, f"{type(error).__name__}: {error}")
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
