"""What a study can run on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from cclab import _core, versions
from cclab.backends.linux import Linux
from cclab.backends.netns import Netns
from cclab.backends.sim import Simulator
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run

__all__ = ["BACKENDS", "Backend", "backend", "kernels", "outdated"]


class Backend(Protocol):
    """Executes runs."""

    @property
    def name(self) -> str:
        """Its name in study files."""

    @property
    def most_jobs(self) -> int | None:
        """Runs that it can do at a time; None if there is no bound."""

    @property
    def in_thread(self) -> bool:
        """Whether a run's work is done in the thread that executes it, not by other processes."""

    def seconds(self, packets: float, virtual_s: float) -> float:
        """About how many seconds of a processor a run of so many packets and so long takes."""

    def kernel(self) -> str | None:
        """What names the kernel that runs are on, part of every run's content hash; None if they
        are simulated."""

    def check(self, runs: list[Run]) -> None:
        """Raises `InputError` if this machine lacks what `runs` need."""

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Writes the trace of each of `runs` into a folder in `directory` called by the run's id.

        A run's progress is kept up to date and can cancel it. Gives for each run None, or why it
        failed or that it was cancelled.
        """


BACKENDS: dict[str, Backend] = {
    backend.name: backend for backend in (Simulator(), Linux(), Netns())
}
"""The backends, by name."""


def backend(name: str) -> Backend:
    """The backend called `name`. Raises `InputError` if there is none of that name."""
    if name in BACKENDS:
        return BACKENDS[name]
    raise InputError(f"no backend {name!r}; there are: {', '.join(BACKENDS)}")


def kernels() -> dict[str, str]:
    """What names the kernel of each backend that runs on one, by the backend's name."""
    named = {name: backend.kernel() for name, backend in BACKENDS.items()}
    return {name: kernel for name, kernel in named.items() if kernel is not None}


def outdated(runs: Iterable[Run]) -> dict[str, tuple[Run, str]]:
    """Those of `runs` that this cclab would do otherwise, by their ids; for each, the version that
    it would give them."""
    named, runs = kernels(), [*runs]  # A list: none goes while its scenario is known by its id.
    known: dict[tuple[str, int], str] = {}
    found = {}
    for run in runs:
        # Runs of one scenario share it, and it is large.
        key = (run.backend, id(run.scenario))
        if key not in known:
            known[key] = _version_here(run, named.get(run.backend))
        if run.version != known[key]:
            found[run.id] = (run, known[key])
    return found


def _version_here(run: Run, kernel: str | None) -> str:
    """The version that this cclab would give `run`; all that is at hand where it does not know the
    form of the run's scenario, which another cclab wrote."""
    try:
        return _core.determinants(json.dumps(run.scenario), kernel)
    except _core.StudyError:
        return versions.AT_HAND
