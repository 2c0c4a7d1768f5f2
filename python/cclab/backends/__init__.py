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

    def kernels(self) -> dict[str | None, str] | None:
        """What each kernel that runs can be on is made of, by its name, None being the one used by
        default: part of their content hashes. None if they are simulated."""

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


def kernels() -> dict[str, dict[str | None, str]]:
    """The kernels of each backend that runs on some, by the backend's name."""
    known = {name: backend.kernels() for name, backend in BACKENDS.items()}
    return {name: kernels for name, kernels in known.items() if kernels is not None}


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


def _version_here(run: Run, kernels: dict[str | None, str] | None) -> str:
    """The version that this cclab would give `run`; all that is at hand where it does not know the
    form of the run's scenario, which another cclab wrote."""
    try:
        return _core.determinants(json.dumps(run.scenario), run.backend, kernels)
    except _core.StudyError:
        return versions.AT_HAND
