"""What runs cost, as this machine has shown: when a sweep will be over, and what to begin with.

A cost is seconds of a processor: `fixed` for each run, `per_packet` and `per_virtual_s`. A backend
has a first guess; what sweeps took is kept in `$XDG_CACHE_HOME/cclab/costs.json` and fitted to.
No result depends on it, and a sweep goes without where the file cannot be read or written.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab.execute import estimate
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cclab.execute.backends import Backend
    from cclab.plan import Run
else:
    np = late("numpy")

_SCHEMA = "cclab-costs/1"
_MOST_SEEN = 400
"""Batches of runs that are remembered: the machine of last year is another one."""
_GUESSED = 3
"""Batches that the first guess counts for, so that a single odd sweep does not turn it over."""
_MOST = 1e18
"""No size and no cost in the file is more: their products stay finite."""
_LEAST_S = 1e-9
"""No batch took less: clocks count nanoseconds."""


@dataclass(frozen=True)
class Seen:
    """What a batch of runs took."""

    runs: int
    packets: float
    virtual_s: float
    seconds: float


@dataclass(frozen=True)
class Costs:
    """What runs on a backend cost."""

    fixed: float
    """Seconds for each run."""
    per_packet: float
    """Seconds for each packet."""
    per_virtual_s: float
    """Seconds for each virtual second."""

    def of(self, run: Run) -> float:
        """Seconds of a processor that `run` takes."""
        return self.of_size(*_size([run]))

    def of_size(self, runs: int, packets: float, virtual_s: float) -> float:
        """Seconds that so many runs take, of so many packets and virtual seconds in all."""
        return self.fixed * runs + self.per_packet * packets + self.per_virtual_s * virtual_s


def costs_on(backend: Backend) -> Costs:
    """What runs on `backend` cost here, or its first guess where nothing was seen yet."""
    known = _read().get(backend.name)
    return _guess(backend) if known is None else Costs(*known.fitted)


def seen(runs: Sequence[Run], seconds: float) -> Seen:
    """What the batch `runs` took."""
    return Seen(*_size(runs), seconds)


def learn(backend: Backend, batches: Iterable[Seen]) -> None:
    """Keeps what `batches` took for the sweeps to come."""
    rows = [[b.runs, b.packets, b.virtual_s, b.seconds] for b in batches if b.seconds >= _LEAST_S]
    if not rows:
        return
    with contextlib.suppress(OSError, ValueError):
        known = _read()
        before = known[backend.name].seen if backend.name in known else []
        rows = [*before, *rows][-_MOST_SEEN:]
        known[backend.name] = _Known(_fitted(backend, rows), rows)
        _write(known)


def seconds_left(runs: Sequence[Run], backend: Backend, cpus: int) -> float:
    """Real seconds that `runs` take on `backend` with `cpus` processors."""
    at_a_time = min(cpus, backend.most_jobs or cpus, max(len(runs), 1))
    return costs_on(backend).of_size(*_size(runs)) / max(at_a_time, 1)


def _size(runs: Sequence[Run]) -> tuple[int, float, float]:
    scenarios = [run.scenario for run in runs]
    packets = sum(map(estimate.packets, scenarios))
    return len(runs), packets, sum(map(estimate.length_s, scenarios))


def _guess(backend: Backend) -> Costs:
    """The backend's own estimate, which is linear in packets and virtual seconds."""
    fixed = backend.seconds(0, 0)
    return Costs(fixed, backend.seconds(1, 0) - fixed, backend.seconds(0, 1) - fixed)


def _fitted(backend: Backend, rows: list[list[float]]) -> list[float]:
    """The costs that come nearest to `rows` in proportion, none of them below zero."""
    sizes = np.array([row[:3] for row in rows], dtype=np.float64)
    took = np.array([row[3] for row in rows], dtype=np.float64)
    guess = _guess(backend)
    guessed = np.array([guess.of_size(int(n), p, v) for n, p, v in sizes])
    weight = max(_GUESSED / len(rows), 0.0) ** 0.5
    # Each row is divided by what is expected of it: an error of 10% counts alike in all. Of a run
    # without packets that can be foreseen, such as one of traffic alone, a guess says nothing.
    told = guessed > 0
    guesses = weight * sizes[told] / guessed[told, None]
    system = np.vstack([sizes / took[:, None], guesses])
    ones = np.concatenate([np.ones(len(rows)), np.full(len(guesses), weight)])
    scale = system.max(axis=0)
    scale[scale == 0] = 1.0
    return [float(x) for x in _not_below_zero(system / scale, ones) / scale]


def _not_below_zero(
    system: NDArray[np.float64], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What `system` makes the nearest to `wanted` of, without numbers below zero.

    It is what least squares find of some of the unknowns, which are few, while the others are
    zero. `scipy.optimize.nnls` finds it as well, and is loaded in more time than many a run takes.
    """
    count = system.shape[1]
    best, least = np.zeros(count), float(wanted @ wanted)
    for size in range(1, count + 1):
        for some in combinations(range(count), size):
            found = np.zeros(count)
            found[list(some)] = np.linalg.lstsq(system[:, some], wanted, rcond=None)[0]
            error = float(np.sum((system @ found - wanted) ** 2))
            if error < least and found.min() >= 0:
                best, least = found, error
    return best


@dataclass(frozen=True)
class _Known:
    """What the file holds of a backend."""

    fitted: list[float]
    """As in `Costs`."""
    seen: list[list[float]]
    """Batches, each as in `Seen`."""


def _read() -> dict[str, _Known]:
    """What is known, by the backend's name: of each all that the file says, or nothing."""
    try:
        document = json.loads(_file().read_bytes())
        if document["schema"] != _SCHEMA:
            return {}
        return {
            name: _Known(known["fitted"], known["seen"])
            for name, known in document["backends"].items()
            if _numbers(known["fitted"], 3)
            and all(_numbers(row, 4) and row[3] >= _LEAST_S for row in known["seen"])
        }
    except (OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError):
        # Another program's, or another version's.
        return {}


def _numbers(found: Any, count: int) -> bool:
    """Whether `found` is a list of so many numbers that can be reckoned with."""
    return (
        isinstance(found, list)
        and len(found) == count
        and all(type(x) in (int, float) and 0 <= x <= _MOST for x in found)
    )


def _write(known: dict[str, _Known]) -> None:
    file = _file()
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix="costs-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            backends = {name: asdict(one) for name, one in known.items()}
            json.dump({"schema": _SCHEMA, "backends": backends}, stream)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "cclab" / "costs.json"
