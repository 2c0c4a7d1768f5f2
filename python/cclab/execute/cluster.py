"""The workers of a Dask cluster: they execute, measure and seal; this process saves.

Runs go out and sealed entries come back, so that workers need no folder in common with this
machine, and the store is written as it is by a sweep on this machine: the same bytes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import tempfile
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
"""Times that a batch is given to another worker when its own is lost."""


_SCHEDULER_LOST = (OSError, concurrent.futures.CancelledError, asyncio.CancelledError)
"""What waiting for a result ends with when its scheduler has died."""


@dataclass(frozen=True)
class _Parcel:
    """A batch that is over, on its way from a worker."""

    sealed: list[Sealed]
    files: dict[str, dict[str, bytes]]
    """What the entries hold: by the run's id, by the file's name."""
    done: Done


class Cluster:
    """The workers of a Dask scheduler."""

    threads = 2048

    def __init__(self, client: distributed.Client, backend: Backend) -> None:
        """The workers that `client` reaches; see `at`."""
        self._client = client
        self._backend = backend
        self._slots = 1
        self._counted = -_COUNT_S

    @property
    def slots(self) -> int:
        """A batch for each thread of each worker, as far as the backend can do them."""
        now = time.monotonic()
        if now - self._counted > _COUNT_S:
            self._counted = now
            most = self._backend.most_jobs
            threads = self._client.scheduler_info()["workers"].values()
            found = sum(min(worker["nthreads"], most or _ANY) for worker in threads)
            self._slots = max(1, min(found, self.threads // 2))
        return self._slots

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
        del progresses  # A worker tells when it is done.
        future = self._client.submit(
            _work,
            self._backend.name,
            self._backend.version(),
            [*batch],
            pure=False,
            retries=_RETRIES,
        )
        try:
            parcel: _Parcel = future.result()
        except distributed.KilledWorker as error:
            why = f"the workers that had it were lost: {error}"
            return Done(0.0, 0.0, [(run, why) for run in batch])
        except _SCHEDULER_LOST as error:
            raise RunError(
                f"the Dask scheduler is gone ({type(error).__name__}); finished runs are kept, "
                "and the same command with a new scheduler goes on from there"
            ) from error
        finally:
            future.release()
        with writer.workspace() as folder:
            for run_id, files in parcel.files.items():
                (folder / run_id).mkdir()
                for name, content in files.items():
                    (folder / run_id / name).write_bytes(content)
            writer.land(folder, parcel.sealed)
        return parcel.done


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
    """On a worker, which may have come after the others were asked: executes `batch`."""
    _check_version(backend, version)
    with tempfile.TemporaryDirectory(prefix="cclab-") as place:
        folder = Path(place)
        progresses = [_core.Progress() for _ in batch]
        sealed, done = work(backend_called(backend), batch, folder, progresses)
        files = {
            one.run.id: {file.name: file.read_bytes() for file in (folder / one.run.id).iterdir()}
            for one in sealed
        }
    return _Parcel(sealed, files, done)
