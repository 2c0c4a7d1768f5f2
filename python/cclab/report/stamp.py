"""What a report was made of, so that the same one is not made twice."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from cclab import _core
from cclab.store import made

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cclab.measure.results import Results
    from cclab.plan import Plan

FILE = made.FILE
"""What says it, in the folder of the report."""


def current(results: Results, out: Path) -> bool:
    """Whether the report in `out` is of `results` and has every file as it was written."""
    return is_of(results.plan, results.run_ids, out)


def is_of(plan: Plan, runs: Sequence[str], out: Path) -> bool:
    """Whether the report in `out` is that of the `runs` of `plan` with these ids, and has every
    file as it was written."""
    return made.of(out) == _made_of(plan, runs) and not made.differing(out)


def text(results: Results, files: Mapping[str, bytes]) -> bytes:
    """The content of `FILE` for a report of `results`, of these files."""
    return made.text(_made_of(results.plan, results.run_ids), files)


def renewed(out: Path, files: Mapping[str, bytes]) -> bytes:
    """The content of `FILE` for the report in `out`, once it has these `files` of the same
    results."""
    return made.renewed(out, files)


def _made_of(plan: Plan, runs: Sequence[str]) -> str:
    """A hash of the plan, the runs, and the versions that measure and draw them."""
    # A run's id is the hash of its scenario, which need not be hashed once more.
    points = [[point.params, [run.id for run in point.runs]] for point in plan.points]
    whole = [plan.description(), points, list(runs), _core.VERSION, _core.METRICS_VERSION]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()
