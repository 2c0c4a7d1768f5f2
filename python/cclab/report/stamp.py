"""What a report was made of, so that the same one is not made twice."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.measure.results import Results

_FILE = "stamp.json"


def current(results: Results, out: Path) -> bool:
    """Whether the report in `out` is of `results` and has every file at its full length."""
    try:
        stamp = json.loads((out / _FILE).read_bytes())
        return stamp["made_of"] == _made_of(results) and all(
            (out / name).stat().st_size == size for name, size in stamp["files"].items()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def put(results: Results, out: Path, sizes: dict[str, int]) -> None:
    """Says in `out` that its report, of files of these sizes, is of `results`."""
    document = {"schema": "cclab-report/1", "made_of": _made_of(results), "files": sizes}
    (out / _FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def remove(out: Path) -> None:
    """Makes the report in `out` one to be written again, whatever becomes of its files."""
    (out / _FILE).unlink(missing_ok=True)


def _made_of(results: Results) -> str:
    """A hash of the plan, the runs, and the versions that measure and draw them."""
    plan = results.plan
    # A run's id is the hash of its scenario, which need not be hashed once more.
    points = [[point.params, [run.id for run in point.runs]] for point in plan.points]
    runs = [run.run.id for run in results.runs]
    whole = [plan.description(), points, runs, _core.VERSION, _core.METRICS_VERSION]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()
