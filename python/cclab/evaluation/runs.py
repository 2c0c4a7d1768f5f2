"""The runs of an evaluation: each scenario with the variant under test and with every standard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import shown, sweep, written
from cclab.errors import InputError, StudyError
from cclab.plan.study import Study
from cclab.quantities.known import Known
from cclab.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab.evaluation.evidence import Subject
    from cclab.evaluation.file import Loaded
    from cclab.evaluation.schema import Scenario
    from cclab.execute import Listener
    from cclab.execute.address import Scheduler
    from cclab.measure.results import Results
    from cclab.plan import Plan


@dataclass(frozen=True)
class Planned:
    """A scenario whose runs are to be done, or are done in part."""

    scenario: Scenario
    standards: Sequence[str]
    plan: Plan
    store: Store

    @property
    def refusals(self) -> list[str]:
        """Why its backend cannot do it; empty if it can."""
        return [*self.plan.refusals] if self.plan.unsupported else sweep.absent_kernels(self.plan)


def plan(
    suite: Loaded,
    subject: Subject,
    standards: Sequence[str],
    out: Path,
    *,
    quick: bool,
    backend: str | None,
    repeat: int | None,
    seed: int | None,
) -> list[Planned]:
    """Every scenario with the variant under test and with each standard in its place.

    Raises `StudyError` or `InputError` where a study file is wrong or a variant is not known,
    before anything runs.
    """
    planned = []
    for scenario in suite.says.scenario:
        if quick and scenario.quick.skip:
            continue
        study = Study.load(suite.folder / scenario.study)
        changed = [*scenario.set, *(scenario.quick.set if quick else ())]
        beside = standards if scenario.standards is None else scenario.standards
        values = json.dumps(list(dict.fromkeys([subject.key, *beside])))
        replaced = [(subject.given, f"sweep.{key}={values}") for key in scenario.subject]
        times = (scenario.quick.repeat if quick else None) or scenario.repeat
        try:
            made = study.plan(
                set=changed,
                replaced=replaced,
                backend=backend,
                repeat=times if repeat is None else repeat,
                seed=seed,
            )
        except (StudyError, InputError) as error:
            where = f"{suite.path}: scenario {shown.quoted(scenario.name)}"
            raise InputError(f"{where}: {error}") from None
        planned.append(Planned(scenario, beside, made, Store(out / scenario.name)))
    return planned


def check(suite: Loaded, planned: Sequence[Planned]) -> None:
    """Raises `StudyError` where a criterion names what no run of its scenario will have."""
    known = {
        each.scenario.name: Known.of({id(r.scenario): r.scenario for r in each.plan.runs}.values())
        for each in planned
    }
    for index, criterion in enumerate(suite.says.criterion):
        if criterion.scenario not in known:
            continue
        there = known[criterion.scenario]
        problems = {
            "flow": there.flow_problem(criterion.flow) if criterion.flow else "",
            "value": there.problem(criterion.value, criterion.flow),
        }
        for key, problem in problems.items():
            if problem:
                raise written.wrong(suite.path, suite.text, f".criterion[{index}].{key}", problem)


def carry_out(
    planned: Planned,
    *,
    jobs: int | None = None,
    cluster: Scheduler | None = None,
    listener: Callable[[Planned], Listener | None] = lambda _: None,
) -> Results:
    """Does what is missing of a scenario, and measures all of it."""
    missing = planned.store.survey(planned.plan).missing
    return sweep.carry_out(
        planned.plan,
        planned.store,
        missing=missing,
        jobs=jobs,
        cluster=cluster,
        listener=listener(planned) if missing else None,
    )
