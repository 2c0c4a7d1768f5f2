"""About how much work a scenario is, for forecasts and the order of runs, not for results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.documents.scenario import Scenario
    from cclab.execute.backends import Backend
    from cclab.plan import Run

_NS = 1e-9
_MTU = 1500
_HEADERS = 52
_WITHOUT_END_S = 60.0


def packets(scenario: Scenario) -> float:
    """Data packets of a run: what the bottleneck carries, unless the transfers are less."""
    flows = scenario["flows"]
    payload = min((flow["mss"] or _MTU - _HEADERS for flow in flows), default=_MTU - _HEADERS)
    transfers = _transfers(scenario)
    # Traffic alone has no transfers that would end.
    finite = sum(transfers) / payload if transfers else None
    rate = scenario["network"]["bottleneck"]["rate"]
    if rate is None:
        return finite or 0.0
    span = scenario["duration"]
    if span is None and finite is not None:
        return finite
    seconds_long = _WITHOUT_END_S if span is None else span * _NS
    carried = rate / 8 / (payload + _HEADERS) * seconds_long
    return carried if finite is None else min(finite, carried)


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


def packets_of_all(runs: Sequence[Run]) -> float:
    """Data packets of `runs`."""
    return sum(number * packets(run.scenario) for run, number in _alike(runs))


def _alike(runs: Sequence[Run]) -> list[tuple[Run, int]]:
    """A run of each scenario, and how many there are of it."""
    times = Counter(id(run.scenario) for run in runs)
    one = {id(run.scenario): run for run in runs}
    return [(one[scenario], number) for scenario, number in times.items()]
