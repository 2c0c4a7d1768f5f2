"""The packet-level simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import _core
from cclab.errors import InputError
from cclab.execute.backends import alone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run


class Simulator:
    """Runs scenarios packet by packet, in virtual time, in this process; see `alone`."""

    name = "sim"
    most_jobs = None
    in_thread = True

    def seconds(self, packets: float, virtual_s: float) -> float:
        """A millisecond and a half for the files of a run, two million packets a second, and little
        for what happens without packets; to within a small factor."""
        return 0.0015 + packets / 2e6 + virtual_s * 5e-5

    def check(self, runs: list[Run]) -> None:
        """Raises `InputError` if a variant's file among them cannot be used."""
        if wrong := alone.wrong_files(runs):
            raise InputError("\n".join(wrong))

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Simulates `runs`, one after the other; other threads go on meanwhile. Those with code of
        users' are done by processes of their own."""
        pairs = [*zip(runs, progresses, strict=True)]
        plain = [(run, progress) for run, progress in pairs if not alone.is_alone(run)]
        done = iter(
            _core.execute([run.to_json() for run, _ in plain], directory, [p for _, p in plain])
        )
        return [
            alone.execute(run, directory, progress) if alone.is_alone(run) else next(done)
            for run, progress in pairs
        ]
