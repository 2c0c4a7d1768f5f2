"""Runs that failed: why, and the command that repeats each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from cclab.cli.console import complain, count, note

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab.errors import RunsFailedError
    from cclab.plan import Plan, Run

_MOST_SHOWN = 20
_LEAST_ID = 8


def repeat(words: Sequence[str | Path], plan: Plan, run: Run) -> str:
    """The command that repeats `run`: `words`, and the run by the beginning of its id."""
    ids = [other.id for other in plan.runs if other.id != run.id]
    length = _LEAST_ID
    while any(other.startswith(run.id[:length]) for other in ids):
        length += 1
    return shlex.join([*map(str, words), "--only", run.id[:length]])


def tell(error: RunsFailedError, plan: Plan, words: Sequence[str | Path]) -> None:
    """Says at the end of a sweep which runs failed; the others are done."""
    planned = len(plan.runs)
    failed = len(error.failed)
    others = "; the others are done" if failed < planned else ""
    complain(f"{count(failed, 'run')} of {planned} failed{others}")
    labels = {run.id: point.label for point in plan.points for run in point.runs}
    for run, why in error.failed[:_MOST_SHOWN]:
        where = labels.get(run.id, "a run beside the plan's")
        note(f"  {where}, seed {run.seed}: {why}")
        note(f"    {repeat(words, plan, run)}")
    more = len(error.failed) - _MOST_SHOWN
    if more > 0:
        note(f"  and {more} more; --json lists all of them")


def document(
    error: RunsFailedError, plan: Plan, words: Sequence[str | Path]
) -> list[dict[str, Any]]:
    """The `failed` of a results document."""
    params = {run.id: point.params for point in plan.points for run in point.runs}
    return [
        {
            "id": run.id,
            "backend": run.backend,
            "seed": run.seed,
            "params": params.get(run.id, {}),
            "reason": why,
            "command": repeat(words, plan, run),
        }
        for run, why in error.failed
    ]
