"""What the company of others costs a flow, from runs in which it is in other company.

The runs have the seeds of those that they are compared with. Equal ones are one by their content:
in a sweep over pairs, a flow alone is the same whatever the other flow was.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cclab import _core
from cclab.metrics import OF_SEVERAL
from cclab.plan import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cclab.documents.scenario import Scenario
    from cclab.plan import Plan

Baseline = Literal["solo", "self"]
"""Alone, or among its own kind: docs/metrics.md tells what that is."""

Beside = dict[Baseline, Run]
"""The runs that a flow of a run is compared with."""


def runs_of(plan: Plan) -> dict[str, list[Beside]]:
    """For each run of `plan` by its id, what each of its flows is compared with."""
    scenarios: dict[str, Scenario] = {}
    runs = {run.id: run for run in plan.runs} if plan.baselines else {}
    beside_of: dict[str, list[Beside]] = {}
    for point in plan.points if plan.baselines else []:
        first, text = point.runs[0], json.dumps(point.scenario)
        seeds = [run.seed for run in point.runs]
        beside: list[list[Beside]] = [[{} for _ in point.scenario["flows"]] for _ in seeds]
        for name in plan.baselines:
            flows = _core.baselines(text, name, seeds, first.backend, first.version)
            for index, other in enumerate(flows):
                if other is None:
                    continue
                written, version, ids = other
                # Read once: runs of one scenario are known by it.
                if written not in scenarios:
                    scenarios[written] = json.loads(written)
                scenario = scenarios[written]
                for place, (run_id, seed) in enumerate(zip(ids, seeds, strict=True)):
                    run = Run(run_id, seed, first.backend, version, scenario)
                    beside[place][index][name] = runs.setdefault(run_id, run)
        beside_of |= zip((run.id for run in point.runs), beside, strict=True)
    return beside_of


def compare(
    metrics: dict[str, Any], beside: list[Beside], measured: Mapping[str, dict[str, Any]]
) -> None:
    """Adds the metrics `OF_SEVERAL` to each flow in the metrics of a run.

    `beside` are the runs that its flows are compared with and `measured` their metrics by id, as
    far as they are known; of what is not, nothing is measured.
    """
    for index, flow in enumerate(metrics["flows"]):
        known: dict[Baseline, str] = {}
        for name, run in (beside[index] if beside else {}).items():
            if run.id in measured:
                flows = measured[run.id]["flows"]
                known[name] = _text(flows[0 if name == "solo" else index])
        if known:
            cost = _core.beside_others(_text(flow), known.get("solo"), known.get("self"))
            flow |= json.loads(cost)
        else:
            flow |= dict.fromkeys(OF_SEVERAL)


def _text(flow: dict[str, Any]) -> str:
    return msgspec.json.encode(flow).decode()
