"""What a report was made of, so that the same one is not made twice."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.measure.results import Results

FILE = "stamp.json"
"""What says it, in the folder of the report."""


def current(results: Results, out: Path) -> bool:
    """Whether the report in `out` is of `results` and has every file at its full length."""
    try:
        stamp = json.loads((out / FILE).read_bytes())
        return stamp["made_of"] == _made_of(results) and all(
            (out / name).stat().st_size == size for name, size in stamp["files"].items()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def text(results: Results, sizes: dict[str, int]) -> bytes:
    """The content of `FILE` for a report of `results`, of files of these sizes."""
    document = {"schema": "cclab-report/1", "made_of": _made_of(results), "files": sizes}
    return (json.dumps(document, indent=1) + "\n").encode()


def _made_of(results: Results) -> str:
    """A hash of the plan, the runs, and the versions that measure and draw them."""
    plan = results.plan
    # A run's id is the hash of its scenario, which need not be hashed once more.
    points = [[point.params, [run.id for run in point.runs]] for point in plan.points]
    runs = [run.run.id for run in results.runs]
    whole = [plan.description(), points, runs, _core.VERSION, _core.METRICS_VERSION]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()
