"""What a study can run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cclab import shown
from cclab.errors import InputError
from cclab.execute.backends.linux import Linux
from cclab.execute.backends.netns import Netns
from cclab.execute.backends.sim import Simulator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run

__all__ = ["BACKENDS", "Backend", "backend"]


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
    raise InputError(f"no backend {shown.quoted(name)}; there are: {', '.join(BACKENDS)}")
