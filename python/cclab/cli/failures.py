"""Failures: checks that are not met; runs that failed, and the command that repeats each."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Any

from cclab import shell
from cclab.cli.console import complain, count, note

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab.plan import Plan, Run
    from cclab.report.told import Told
    from cclab.sweep import RunsFailedError

_MOST_SHOWN = 20
_LEAST_ID = 8


class Commands:
    """The commands that repeat runs of a plan one by one."""

    def __init__(self, words: Sequence[str | Path], plan: Plan) -> None:
        """`words` are the command of the whole plan."""
        self._words = [str(word) for word in words]
        self._ids = sorted(run.id for run in plan.runs)

    def of(self, run: Run) -> str:
        """The command that repeats `run`, with the unique beginning of its id."""
        at = bisect.bisect_left(self._ids, run.id)
        # In their order, none shares more with an id than one of its neighbours. The run itself
        # is not among them if it is one beside the plan's.
        beside = [*self._ids[max(at - 1, 0) : at], *self._ids[at : at + 2]]
        others = [other for other in beside if other != run.id]
        length = _LEAST_ID
        while any(other.startswith(run.id[:length]) for other in others):
            length += 1
        return " ".join(map(shell.word, [*self._words, "--only", run.id[:length]]))


def tell_unmet(told: Told) -> None:
    """Prints the expectations that are not met: the worst points, and how many more."""
    for unmet in told.unmet:
        for failure in unmet.worst:
            complain(f"expectation not met: {failure}")
        if unmet.others:
            more = count(unmet.others, "more point")
            complain(f"expectation not met: {unmet.label}: and {more} (--json has them)")
    for met in told.undecided:
        elsewhere = f", and so at {count(met.others, 'more point')}" if met.others else ""
        note(f"expectation met, but these runs do not decide it: {met.first}{elsewhere}")


def tell(
    error: RunsFailedError, plan: Plan, words: Sequence[str | Path], *, tried_all: bool
) -> None:
    """Prints at the end of a sweep which runs failed; the others are done if all were tried."""
    planned = len(plan.runs)
    failed = len(error.failed)
    others = "; the others are done" if failed < planned and tried_all else ""
    complain(f"{count(failed, 'run')} of {planned} failed{others}")
    commands = Commands(words, plan)
    labels = {run.id: point.label for point in plan.points for run in point.runs}
    for run, why in error.failed[:_MOST_SHOWN]:
        where = labels.get(run.id, "a run beside the plan's")
        note(f"  {where}, seed {run.seed}: {why}")
        note(f"    {commands.of(run)}")
    more = len(error.failed) - _MOST_SHOWN
    if more > 0:
        note(f"  and {more} more; --json lists all of them")


def document(
    error: RunsFailedError, plan: Plan, words: Sequence[str | Path]
) -> list[dict[str, Any]]:
    """The `failed` of a results document."""
    commands = Commands(words, plan)
    params = {run.id: point.params for point in plan.points for run in point.runs}
    return [
        {
            "id": run.id,
            "backend": run.backend,
            "seed": run.seed,
            "params": params.get(run.id, {}),
            "reason": why,
            "command": commands.of(run),
        }
        for run, why in error.failed
    ]
