"""The Linux kernel: in virtual time, in a guest of its own for each run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cclab import _core, kernel
from cclab.backends import host
from cclab.errors import InputError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run

LIMIT_S = 3600.0
"""Real time that a run may take, unless `CCLAB_LIMIT_S` in the environment says otherwise."""
STALL_S = 60.0
"""Real time that a run's clock may stand still, unless `CCLAB_STALL_S` says otherwise."""


class Linux:
    """Runs scenarios on the real TCP of Linux 6.12, unprivileged, faster than real time."""

    name = "linux"
    most_jobs = None
    in_thread = False

    def kernel(self) -> str:
        """The key of the kernel: one that is made differently is another one."""
        try:
            found = kernel.installed()
        except InputError:
            # `check` says what is wrong with it; other backends do without.
            found = None
        return found.key if found else "none"

    def seconds(self, packets: float, virtual_s: float) -> float:
        """Boot and set-up, some 100,000 packets a second, and little for the clock itself."""
        return 0.5 + packets / 1e5 + virtual_s / 1000

    def check(self, runs: list[Run]) -> None:
        """Raises `InputError` if the kernel or the agent is not there or could not work here."""
        del runs
        if kernel.installed() is None:
            raise InputError(kernel.not_built())
        agent()
        limits()
        lack = host.ptrace()
        if lack is not None:
            raise InputError(
                "the linux backend's kernel traces the processes that it runs, and ptrace is "
                f"{lack.what}; the remedy: {lack.remedy}"
            )

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Boots a guest for each of `runs`, one after the other; other threads go on meanwhile."""
        found = kernel.installed()
        if found is None:
            raise InputError(kernel.not_built())
        return execute_on(found.path, runs, directory, progresses)


def execute_on(
    kernel: Path | None, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
) -> list[str | None]:
    """Has the agent do `runs` on the kernel at a path, or on this host's; see `Backend.execute`."""
    outcomes: list[str | None] = []
    for run, progress in zip(runs, progresses, strict=True):
        folder = directory / run.id
        folder.mkdir()
        try:
            _core.execute_on_kernel(
                run.to_json(),
                str(folder),
                progress,
                str(agent()),
                None if kernel is None else str(kernel),
                limits(),
            )
        except RunError as error:
            outcomes.append(str(error))
        else:
            outcomes.append(None)
    return outcomes


def agent() -> Path:
    """Where the agent's program is. Raises `InputError` if it is not there."""
    place = host.agent()
    if not place.is_file() or not os.access(place, os.X_OK):
        raise InputError(f"{place}: no such program; `make setup` builds the agent")
    return place


def limits() -> tuple[float, float]:
    """Real seconds that a run may take, and that its clock may stand still."""
    return _seconds("CCLAB_LIMIT_S", LIMIT_S), _seconds("CCLAB_STALL_S", STALL_S)


def _seconds(name: str, usual: float) -> float:
    text = os.environ.get(name, "")
    try:
        seconds = float(text) if text else usual
    except ValueError:
        seconds = 0.0
    # 1e9 s are 30 years; NaN compares false.
    if not 0 < seconds <= 1e9:
        raise InputError(f"{name}={text}: not a number of seconds above 0")
    return seconds
