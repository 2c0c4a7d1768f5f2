"""Checks that a study's checks, tables and figures refer to what its experiments sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import written
from cclab.plan import text
from cclab.quantities import points
from cclab.reproduction.file import NAME, located_checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cclab.plan import Plan
    from cclab.reproduction.file import Published
    from cclab.reproduction.runs import Planned
    from cclab.reproduction.schema import Check, FigureOf


def check(published: Published, planned: Sequence[Planned]) -> None:
    """Checks every key and value before the first run, since runs may take long.

    Raises `StudyError` for the first that no experiment sweeps.
    """
    by_backend: dict[str, dict[str, Plan]] = {}
    for each in planned:
        by_backend.setdefault(each.backend, {})[each.experiment.name] = each.plan
    for place, problem in _problems(published, by_backend):
        raise written.wrong(published.folder / NAME, published.text, place, problem)


def _problems(
    published: Published, by_backend: dict[str, dict[str, Plan]]
) -> Iterator[tuple[str, str]]:
    for plans in by_backend.values():
        for place, one in located_checks(published.says):
            used = {term.experiment or one.experiment for term in one.terms.values()}
            if used <= set(plans):
                yield from ((place, problem) for problem in _of_check(one, plans))
        for index, figure in enumerate(published.says.figure):
            if figure.experiment in plans:
                place = f".figure[{index}]"
                yield from ((place, p) for p in _of_figure(figure, plans[figure.experiment]))


def _of_check(one: Check, plans: Mapping[str, Plan]) -> Iterator[str]:
    swept = {name: set(plan.points[0].params) for name, plan in plans.items()}
    used = {name: term.experiment or one.experiment for name, term in one.terms.items()}
    for key in one.each:
        if not any(key in swept[experiment] for experiment in used.values()):
            yield f"`each`: no experiment of this check sweeps {key}"
    for name, term in one.terms.items():
        experiment = used[name]
        keys = [*term.at, *([term.along] if term.along else [])]
        for key in keys:
            if key not in swept[experiment]:
                known = ", ".join(swept[experiment]) or "nothing"
                yield f"term {name}: {experiment} does not sweep {key}; it sweeps {known}"
        if not set(keys) <= swept[experiment]:
            continue
        for bindings in points.products(one.each):
            here = {k: v for k, v in bindings.items() if k in swept[experiment]} | term.at
            if not points.at(plans[experiment].points, here):
                where = ", ".join(f"{k} = {text(v)}" for k, v in here.items())
                yield f"term {name}: no sweep point of {experiment} has {where}"


def _of_figure(figure: FigureOf, plan: Plan) -> Iterator[str]:
    swept = set(plan.points[0].params)
    series = [key for key in figure.series if key != "flow"]
    for key in (*([figure.x] if figure.x else []), *series, *figure.panels, *figure.at):
        if key not in swept:
            known = ", ".join(swept) or "nothing"
            yield f"figure {figure.name}: {figure.experiment} does not sweep {key}, but {known}"
