"""What the runs of sweep points measured, by the expressions of studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import metrics
from cclab.errors import InputError, StudyError
from cclab.expressions import Evaluation, parse
from cclab.expressions.numbers import Numbers
from cclab.metrics import group_share, of_flow, of_source, shares, shown_name, warmed_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cclab.expressions import Expression
    from cclab.plan import Expectation, Measure, Named

    Table = NDArray[np.float64]
    Metrics = dict[str, Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
    "max": lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)),
}
"""What the expressions of studies can call, run by run."""


def expression_of(measure: Measure) -> Expression:
    """The tree of a measure or a check."""
    beginnings = {named.name.rpartition(".")[0] for named in measure.metrics} - {""}
    return parse(measure.expression, tuple(sorted(beginnings)))


def check(expectations: Sequence[Expectation]) -> None:
    """Raises `StudyError`, with file, line and column, if one combines what cannot be combined."""
    for expectation in expectations:
        metrics = expectation.metrics
        numbers = Numbers({m.name: 1.0 for m in metrics}, FUNCTIONS, dimensions(metrics))
        try:
            Evaluation(expression_of(expectation), numbers).term()
        except InputError as error:
            raise StudyError(f"{expectation.place}: {error}") from None


def value_of(measured: Metrics, named: Named) -> float | None:
    """The value of a metric in those of a run; None if it was not measured."""
    subject = subject_of(named)
    name = named.subject[subject] if isinstance(named.subject, dict) else ""
    if named.metric == "share" and subject in ("flow", "group"):
        return group_share(measured, name) if subject == "group" else _share(measured, name)
    row = _metrics_of(measured, subject, name)
    if row is None:
        return None
    metric = shown_name(subject, named.metric, warm=warmed_up(measured))
    # What is of several runs is there once these are compared.
    value: float | None = row.get(metric) if metric in metrics.OF_SEVERAL else row[metric]
    return value


def _metrics_of(measured: Metrics, subject: str, name: str) -> Metrics | None:
    """The metrics of a subject of a run; None if there is none of that name."""

    def called(rows: list[Metrics]) -> Metrics | None:
        return next((row for row in rows if row["name"] == name), None)

    match subject:
        case "run":
            return measured
        case "bottleneck":
            bottleneck: Metrics = measured["bottleneck"]
            return bottleneck
        case "flow":
            flow = called(measured["flows"])
            return None if flow is None else of_flow(flow)
        case "group":
            return called(measured.get("groups", []))
        case "band":
            return called(measured["bottleneck"].get("bands", []))
        case "traffic":
            source = called(measured.get("traffic", []))
            return None if source is None else of_source(source)
        case "probe":
            return called(measured.get("probes", []))
    raise ValueError(f"{subject!r} has no metrics")


def _share(measured: Metrics, flow: str) -> float | None:
    """The share of the flow called `flow`; None if there is no such flow."""
    rows = zip(measured["flows"], shares(measured), strict=True)
    return next((share for row, share in rows if row["name"] == flow), None)


def table(points: Sequence[Sequence[Metrics]], named: Named) -> Table:
    """The values of a metric: a row for each of `points`, given by the metrics of its runs, and a
    column for each run. Not a number where nothing was measured, or a point has fewer runs."""
    values = np.full((len(points), max(map(len, points), default=0)), np.nan)
    for row, runs in enumerate(points):
        for column, measured in enumerate(runs):
            value = value_of(measured, named)
            if value is not None:
                values[row, column] = value
    return values


def of_tables(measure: Measure, tables: Mapping[str, Any]) -> Table:
    """What a measure comes to where its metrics have these values, element by element."""
    term = Evaluation(expression_of(measure), Numbers(tables, FUNCTIONS)).term()
    value: Table = np.asarray(term.value, dtype=np.float64)
    return value


def dimensions(measured: Sequence[Named]) -> dict[str, frozenset[str]]:
    """What metrics are quantities of, by the names that an expression has for them."""
    known = {each.name: metrics.named(subject_of(each), each.metric) for each in measured}
    return {
        name: frozenset({metric.dimension} if metric and metric.dimension else ())
        for name, metric in known.items()
    }


def subject_of(named: Named) -> str:
    """The word that metrics of a subject begin with; `run` of those of a run, which have none."""
    return named.subject if isinstance(named.subject, str) else next(iter(named.subject))
