"""The runs of an evaluation: each scenario with the variant under test and with every standard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab import shown, sweep, written
from cclab.errors import InputError, StudyError
from cclab.plan.plan import text
from cclab.plan.study import Study
from cclab.quantities import points as of_points
from cclab.quantities.known import Known
from cclab.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cclab.evaluation.evidence import Subject
    from cclab.evaluation.file import Loaded
    from cclab.evaluation.schema import Criterion, Scenario
    from cclab.execute import Listener
    from cclab.execute.address import Scheduler
    from cclab.measure.results import Results
    from cclab.plan import Plan
    from cclab.plan.plan import Point


SHORT = "the short form leaves it out"


@dataclass(frozen=True)
class LeftOut:
    """A setting that the backend does not do."""

    params: dict[str, Any]
    why: str


@dataclass(frozen=True)
class Planned:
    """A scenario whose runs are to be done, or are done in part."""

    scenario: Scenario
    standards: Sequence[str]
    plan: Plan
    """With the settings that the backend can do, or with all if it can do none."""
    store: Store
    left_out: Sequence[LeftOut] = ()

    refusals: Sequence[str] = ()
    """Why the backend cannot do it; empty if it can."""


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
        beside = standards if scenario.standards is None else scenario.standards
        values = json.dumps(list(dict.fromkeys([subject.key, *beside])))
        where = f"{suite.path}, scenario {shown.quoted(scenario.name)}"
        replaced = [(f"{where}, set", setting) for setting in scenario.set]
        if quick:
            replaced += [(f"{where}, quick.set", setting) for setting in scenario.quick.set]
        replaced += [(subject.given, f"sweep.{key}={values}") for key in scenario.subject]
        times = (scenario.quick.repeat if quick else None) or scenario.repeat
        try:
            made = study.plan(
                replaced=replaced,
                backend=backend,
                repeat=times if repeat is None else repeat,
                seed=seed,
            )
        except (StudyError, InputError) as error:
            told = str(error)  # which names the scenario where its own settings are wrong
            raise InputError(told if told.startswith(where) else f"{where}: {told}") from None
        possible, left_out = _possible(suite, scenario, made, subject)
        store = Store(out / scenario.name)
        why = refusals(suite, possible, subject)
        planned.append(Planned(scenario, beside, possible, store, left_out, why))
    return planned


def _possible(
    suite: Loaded, scenario: Scenario, made: Plan, subject: Subject
) -> tuple[Plan, list[LeftOut]]:
    """The plan without the settings of which the backend does not do all runs, and those; the
    whole plan if that would leave none."""
    if not any(point.unsupported or point.absent for point in made.points):
        return made, []
    settings: dict[str, tuple[dict[str, Any], list[Point]]] = {}
    for point in made.points:
        params = {k: v for k, v in point.params.items() if k not in scenario.subject}
        settings.setdefault(json.dumps(params, sort_keys=True), (params, []))[1].append(point)
    left_out: list[LeftOut] = []
    possible: set[int] = set()
    for params, points in settings.values():
        why = refusals(suite, made.with_points(points), subject)
        if why:
            left_out.append(LeftOut(params, why[0]))
        else:
            possible |= {id(point) for point in points}
    if not possible:
        return made, []
    return made.with_points([p for p in made.points if id(p) in possible]), left_out


def refusals(suite: Loaded, plan: Plan, subject: Subject) -> list[str]:
    """Why the backend cannot do the plan, with places in the suite; empty if it can.

    The variant under test is no place of a reason, which may be a standard's.
    """
    why = plan.refusals if plan.unsupported else sweep.absent_kernels(plan)
    return [each.replace(f"{suite.folder}/", "").removeprefix(f"{subject.given}: ") for each in why]


def check(suite: Loaded, planned: Sequence[Planned], *, quick: bool) -> None:
    """Raises `StudyError` where a criterion names what no run of its scenario will have."""
    planned_of = {each.scenario.name: each for each in planned}
    known = {
        each.scenario.name: Known.of({id(r.scenario): r.scenario for r in each.plan.runs}.values())
        for each in planned
    }
    for index, criterion in enumerate(suite.says.criterion):
        if criterion.scenario not in known:
            continue
        there = known[criterion.scenario]
        problems = {
            "at": _at_problem(criterion, planned_of[criterion.scenario], quick=quick),
            "flow": there.flow_problem(criterion.flow) if criterion.flow else "",
            "value": there.problem(criterion.value, criterion.flow),
        }
        for key, problem in problems.items():
            if problem:
                raise written.wrong(suite.path, suite.text, f".criterion[{index}].{key}", problem)


def meant(params: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    """Whether a line with this `at` is judged at the setting."""
    return all(
        any(of_points.same(params.get(key), value) for value in _listed(wanted))
        for key, wanted in at.items()
    )


def _listed(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _at_problem(criterion: Criterion, planned: Planned, *, quick: bool) -> str:
    """What is wrong about where the criterion is judged; empty if nothing is.

    The short form may leave such a setting out.
    """
    subject = planned.scenario.subject
    settings = [
        {key: value for key, value in point.params.items() if key not in subject}
        for point in planned.plan.points
    ]
    settings += [each.params for each in planned.left_out]
    if any(meant(params, criterion.at) for params in settings):
        return ""
    if quick and planned.scenario.quick.set:
        return ""
    asked = ", ".join(f"{key} = {text(value)}" for key, value in criterion.at.items())
    there = dict.fromkeys(
        f"{key} = {text(value)}" for params in settings for key, value in params.items()
    )
    known = f"it has {', '.join(there)}" if there else "it sweeps nothing but the variant"
    return f"its scenario has no setting with {asked}; {known}"


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
