"""Runs that a plan needs beside its own, to check or to compare what these measure.

phase      starts shifted by part of a round trip
baselines  flows alone, and among their own kind
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cclab.plan.companions import baselines, phase

if TYPE_CHECKING:
    from cclab.plan import Plan, Run

Why = Literal["phase", "solo", "self"]


@dataclass(frozen=True)
class Companions:
    """The runs beside a plan's own, and what each is for."""

    shifted: dict[int, list[Run]]
    """By sweep point: the same with starts shifted."""
    baselines: dict[str, list[baselines.Beside]]
    """By a run of the plan: for each flow, the runs that it is compared with."""
    planned: frozenset[str]
    """The runs of the plan itself: some can be what others are compared with."""

    @property
    def runs(self) -> list[Run]:
        """Each once, and none that is the plan's own."""
        return [run for run, _ in self.reasons()]

    def reasons(self) -> list[tuple[Run, Why]]:
        """Those runs, each with the first that it is for."""
        named: dict[str, tuple[Run, Why]] = {}
        for runs in self.shifted.values():
            for run in runs:
                named.setdefault(run.id, (run, "phase"))
        for flows in self.baselines.values():
            for beside in flows:
                for name, run in beside.items():
                    named.setdefault(run.id, (run, name))
        return [named_run for run_id, named_run in named.items() if run_id not in self.planned]


def of(plan: Plan) -> Companions:
    """The runs that `plan` needs beside its own; none of a plan that cannot be run."""
    if plan.unsupported:
        return Companions({}, {}, frozenset())
    shifted, compared = phase.runs_of(plan), baselines.runs_of(plan)
    if not (shifted or compared):
        return Companions({}, {}, frozenset())
    planned = frozenset(run.id for point in plan.points for run in point.runs)
    return Companions(shifted, compared, planned)
