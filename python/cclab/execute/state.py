"""How far a sweep is, for those who watch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

_OVER = 0.0005
"""Less than this part of the work to go is none: a run's end is not reached to the nanosecond."""


@dataclass(frozen=True)
class State:
    """How far a sweep is."""

    total: int
    """Runs to do."""
    done: int
    """Runs over, those that failed too."""
    failed: int
    """Runs that failed."""
    work: float
    """Part of the work that is done, from 0 to 1: by what runs are estimated to cost, and those
    under way by how far they are. It never falls."""
    virtual_s: float
    """Virtual seconds run so far, in all runs."""
    elapsed_s: float
    """Real seconds since the start."""
    known: float | None = None
    """The same by what is known now; less than `work` where the rest costs more than was thought.
    None: the same."""
    lost: tuple[str, ...] = ()
    """Workers of a cluster that failed and get nothing more, each with why."""

    @property
    def rate(self) -> float:
        """Virtual seconds per real second."""
        return self.virtual_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def runs_per_s(self) -> float:
        """Runs over per real second."""
        return self.done / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def saving(self) -> bool:
        """Whether all runs are over and some are yet to be measured and saved, which takes time."""
        return self.done < self.total and 1 - self._known < _OVER

    @property
    def _known(self) -> float:
        return self.work if self.known is None else self.known

    @property
    def left_s(self) -> float | None:
        """Real seconds left if the rest goes as the beginning did; None before it is known."""
        part = self._known
        if part < 0.001 or self.elapsed_s < 0.2 or self.saving:
            return None
        return self.elapsed_s * (1 - part) / part


class Rounds:
    """Adds several sweeps that follow each other up for a listener: they are one to him."""

    def __init__(self, listener: Listener) -> None:
        """Nothing is over yet."""
        self._listener = listener
        self._before = State(0, 0, 0, 0.0, 0.0, 0.0)

    def __call__(self, state: State) -> None:
        """Hears the state of the sweep under way; one that is over is told once, as such."""
        before = self._before
        total = before.total + state.total
        now = State(
            total=total,
            done=before.done + state.done,
            failed=before.failed + state.failed,
            # A run of one sweep costs what a run of another does.
            work=_together(before.total, state.work, state.total),
            known=None
            if state.known is None
            else _together(before.total, state.known, state.total),
            virtual_s=before.virtual_s + state.virtual_s,
            elapsed_s=before.elapsed_s + state.elapsed_s,
            lost=state.lost,
        )
        if state.done == state.total:
            self._before = now
        self._listener(now)


def _together(before: int, part: float, runs: int) -> float:
    """The part that is done of the runs `before`, which are over, and of `runs` more."""
    return (before + part * runs) / (before + runs) if before + runs else 1.0


class Listener(Protocol):
    """Hears how a sweep goes on."""

    def __call__(self, state: State) -> None:
        """Called about ten times a second, and at the end."""
