"""Which runs come next: the longest first, small ones together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.plan import Run

_BATCH_S = 0.25
"""Work that is handed out at a time, so that handing out costs next to nothing; and no more, so
that little is lost with what is killed."""

_LEAST_S = 1e-5
"""No run costs less."""

_MOST_RUNS = 256
"""Of a batch: each is a folder until the batch is saved."""

_ROUNDS = 4
"""A worker's part of the rest comes in as many batches at least, so that all end together."""


@dataclass
class _Alike:
    """The runs of one scenario that are yet to be handed out: they cost alike."""

    cost: float
    """Seconds of one of them: an estimate until some are over."""
    runs: deque[Run] = field(default_factory=deque)
    learned: bool = False
    """Whether some are over."""

    @property
    def left_s(self) -> float:
        """Seconds of those that are yet to be handed out."""
        return len(self.runs) * self.cost


class Agenda:
    """The runs of a sweep in the order in which they are best done.

    With the longest first, what is left at the end is short, and the workers end at about the
    same time (Graham, Bounds on Multiprocessing Timing Anomalies, 1969). What runs turn out to
    cost changes how many make a batch, and not the order: on two processors that shortened no
    sweep by more than 0.1% (simulated, with estimates wrong by a factor of up to 100).
    """

    def __init__(self, runs: Sequence[Run], cost: Callable[[Run], float]) -> None:
        """The agenda of `runs`, which `cost` so many seconds until some of them are over."""
        self._alike: dict[int, _Alike] = {}
        for run in runs:
            # A plan's runs at one sweep point share their scenario.
            alike = self._alike.get(id(run.scenario))
            if alike is None:
                alike = self._alike[id(run.scenario)] = _Alike(max(cost(run), _LEAST_S))
            alike.runs.append(run)
        # Equal costs: in the order of the plan.
        self._order = deque(sorted(self._alike.values(), key=lambda alike: -alike.cost))
        self._left = len(runs)
        self.left_s = sum(alike.left_s for alike in self._alike.values())
        """Seconds of work that is yet to be handed out."""
        self._guessed_s = self.left_s

    def __len__(self) -> int:
        """Runs yet to be handed out."""
        return self._left

    def cost(self, run: Run) -> float:
        """Seconds that `run` is thought to cost."""
        return self._alike[id(run.scenario)].cost

    @property
    def guessed_s(self) -> float:
        """What of `left_s` is of scenarios of which no run is over."""
        return max(self._guessed_s, 0.0)

    def is_guess(self, run: Run) -> bool:
        """Whether no run of its scenario is over, so that its cost is a guess."""
        return not self._alike[id(run.scenario)].learned

    def take(self, workers: int, most: int = _MOST_RUNS) -> list[Run]:
        """The next batch for one of `workers`: at most `most` runs, none if all are handed out."""
        batch: list[Run] = []
        room = min(_BATCH_S, self.left_s / (workers * _ROUNDS))
        while self._order and len(batch) < min(most, _MOST_RUNS):
            alike = self._order[0]
            if not alike.runs:
                self._order.popleft()
                continue
            if batch and alike.cost > room:
                break
            batch.append(alike.runs.popleft())
            room -= alike.cost
            self._left -= 1
            self.left_s -= alike.cost
            self._guessed_s -= 0.0 if alike.learned else alike.cost
        return batch

    def learn(self, batch: Sequence[Run], seconds: float) -> None:
        """What is left of the scenarios in `batch` costs in proportion to what it took."""
        thought = sum(map(self.cost, batch))
        if thought <= 0 or seconds <= 0:
            return
        ratio = seconds / thought
        for key in {id(run.scenario): None for run in batch}:
            alike = self._alike[key]
            self._guessed_s -= 0.0 if alike.learned else alike.left_s
            self.left_s += alike.left_s * (ratio - 1)
            alike.cost *= ratio
            alike.learned = True
