"""The packet-level simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run


class Simulator:
    """Runs scenarios packet by packet, in virtual time, in this process."""

    name = "sim"
    most_jobs = None
    in_thread = True

    def kernels(self) -> None:
        """None: runs are simulated."""

    def seconds(self, packets: float, virtual_s: float) -> float:
        """Two million packets a second, to within a small factor."""
        return packets / 2e6

    def check(self, runs: list[Run]) -> None:
        """It needs nothing of the machine."""

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Simulates `runs`, one after the other; other threads go on meanwhile."""
        return _core.execute([run.to_json() for run in runs], directory, [*progresses])
