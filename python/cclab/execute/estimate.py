"""About how much work a scenario is, for forecasts and the order of runs, not for results."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.documents.scenario import Link, Scenario
    from cclab.execute.backends import Backend
    from cclab.plan import Run

_NS = 1e-9
_MTU = 1500
_HEADERS = 52
_WITHOUT_END_S = 60.0

_WRONG = 3.0
"""Most scenarios of the suites take up to so many times the estimate, with what is done of a run
beside running it (measured; those whose traffic is more than the bottleneck carries take more)."""


def packets(scenario: Scenario) -> float:
    """Data packets of a run: what the bottleneck carries, unless the transfers are less."""
    flows = scenario["flows"]
    payload = min((flow["mss"] or _MTU - _HEADERS for flow in flows), default=_MTU - _HEADERS)
    transfers = _transfers(scenario)
    # Traffic alone has no transfers that would end.
    finite = sum(transfers) / payload if transfers else None
    if scenario["network"]["bottleneck"]["rate"] is None:
        return finite or 0.0
    span = scenario["duration"]
    if span is None and finite is not None:
        return finite
    seconds_long = _WITHOUT_END_S if span is None else span * _NS
    carried = _bits(scenario["network"]["bottleneck"], seconds_long) / 8 / (payload + _HEADERS)
    return carried if finite is None else min(finite, carried)


def _bits(link: Link, seconds_long: float) -> float:
    """What a link with a rate carries, by its schedule: what waits for a state may never come."""
    bits, since, rate = 0.0, 0.0, link["rate"] or 0
    for change in link.get("schedule", []):
        at = min(change["at"] * _NS, seconds_long)
        bits += rate * (at - since)
        since, rate = at, change.get("rate") or rate
    return bits + rate * (seconds_long - since)


def length_s(scenario: Scenario) -> float:
    """Virtual seconds of a run: its duration, or what its transfers take at the full rate."""
    span = scenario["duration"]
    if span is not None:
        return span * _NS
    rate = scenario["network"]["bottleneck"]["rate"]
    transfers = _transfers(scenario)
    if rate is None or transfers is None:
        return _WITHOUT_END_S
    return sum(transfers) * 8 / rate


def _transfers(scenario: Scenario) -> list[int] | None:
    """The bytes of each flow's transfer; None if one sends without end."""
    transfers = [flow["transfer"] for flow in scenario["flows"]]
    finite = [bytes_ for bytes_ in transfers if bytes_ is not None]
    return finite if len(finite) == len(transfers) else None


def seconds(run: Run, backend: Backend) -> float:
    """Seconds of a processor that `run` takes on `backend`."""
    return backend.seconds(packets(run.scenario), length_s(run.scenario))


def seconds_of_all(runs: Sequence[Run], backend: Backend, cpus: int) -> float:
    """Real seconds that `runs` take on `backend` with `cpus` processors."""
    at_a_time = min(cpus, backend.most_jobs or cpus, max(len(runs), 1))
    return sum(number * seconds(run, backend) for run, number in _alike(runs)) / max(at_a_time, 1)


@dataclass(frozen=True)
class Span:
    """Between which real seconds runs are thought to take."""

    least: float
    """By the estimate, on processors that nobody else uses."""
    most: float
    """As busy as the processors are, and as far as estimates are wrong."""

    @classmethod
    def of(cls, seconds: float, cpus: int, others: float) -> Span:
        """Of so many `seconds` on `cpus` processors, beside `others` that use them all the time."""
        return cls(seconds, seconds * _WRONG * (cpus + others) / cpus)


class Forecast:
    """How long the rest of several sweeps takes, by what those before took."""

    def __init__(
        self, thought_s: Sequence[float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`thought_s` is what each sweep was thought to take."""
        self._thought = [*thought_s]
        self._clock = clock
        self._began = clock()

    def left_s(self, nth: int) -> float | None:
        """Seconds from now on, as the sweep `nth` begins; None as long as nothing was done."""
        done, left = sum(self._thought[:nth]), sum(self._thought[nth:])
        return left * (self._clock() - self._began) / done if done > 0 else None


def packets_of_all(runs: Sequence[Run]) -> float:
    """Data packets of `runs`."""
    return sum(number * packets(run.scenario) for run, number in _alike(runs))


def _alike(runs: Sequence[Run]) -> list[tuple[Run, int]]:
    """A run of each scenario, and how many there are of it."""
    times = Counter(id(run.scenario) for run in runs)
    one = {id(run.scenario): run for run in runs}
    return [(one[scenario], number) for scenario, number in times.items()]
