"""What a study can run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cclab.backends.sim import Simulator
from cclab.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run

__all__ = ["BACKENDS", "Backend", "backend"]


class Backend(Protocol):
    """Executes runs."""

    name: str
    """Its name in study files."""

    def execute(self, run: Run, directory: Path, progress: Progress) -> None:
        """Writes the trace of `run` into `directory`, an empty folder.

        `progress` is kept up to date and can cancel the run. Raises `RunError` if the run fails
        or is cancelled.
        """


BACKENDS: dict[str, Backend] = {Simulator.name: Simulator()}
"""The backends of this version, by name."""

_PLANNED = {
    "linux": "the Linux TCP stack in virtual time",
    "netns": "network namespaces in real time",
}


def backend(name: str) -> Backend:
    """The backend called `name`. Raises `InputError` if this version has none of that name."""
    if name in BACKENDS:
        return BACKENDS[name]
    what = f" ({_PLANNED[name]})" if name in _PLANNED else ""
    raise InputError(
        f"backend {name!r}{what} is not in this version; "
        f"it has: {', '.join(BACKENDS)} (--backend {next(iter(BACKENDS))})"
    )
