"""Expectations: checks of a study that its results must meet at every sweep point.

A check is met where the means over the runs meet it. Whether the runs at hand show that is another
matter: its finding, by the intervals.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab import shown
from cclab.expressions import Evaluation
from cclab.expressions.numbers import Numbers
from cclab.measure import findings
from cclab.measure.stats import Estimate, estimates
from cclab.plan import text
from cclab.plan.measures import FUNCTIONS, expression_of, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cclab.expressions.tree import Node
    from cclab.measure.findings import Finding
    from cclab.measure.points import Point
    from cclab.plan import Expectation


MOST_NAMED = 5
"""Points of an expectation that are named at once; the others are counted."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison at a sweep point."""

    estimate: Estimate | None
    """Over its runs; None if no run measured it."""
    constant: bool
    """Whether it is a number that the study writes."""


@dataclass(frozen=True)
class Outcome:
    """An expectation at a sweep point."""

    expectation: Expectation
    params: dict[str, Any]
    """The sweep point."""
    met: bool
    """Whether the means over its runs meet it."""
    finding: Finding
    """Whether the runs show that it is so."""
    sides: tuple[Side, Side]
    """Those of its first comparison that is not met, or of its first."""
    means: dict[str, float | None]
    """The mean over its runs of each metric in it; None if no run measured it."""

    @property
    def measured(self) -> float | None:
        """What is held against a bound: the mean of the comparison's left side."""
        estimate = self.sides[0].estimate
        return None if estimate is None else estimate.mean

    def __str__(self) -> str:
        """The check, the point and the value in one line."""
        at = f" at {self.where}" if self.params else ""
        but = "it is" if self.met else "but it is"
        joined = expression_of(self.expectation).tree["part"] in ("and", "or")
        # Of several comparisons the value does not say which it is of.
        names = f" ({_by_name(self.means)})" if joined and len(self.means) > 1 else ""
        check = f"{self.expectation.label}: {self.expectation.expression}"
        return f"{check}, {but} {self.value}{names}{at}"

    @property
    def where(self) -> str:
        """The sweep point in words; empty of a study without a sweep."""
        return ", ".join(f"{key} = {text(value)}" for key, value in self.params.items())

    @property
    def value(self) -> str:
        """The mean of the side that varies, with its interval where that does not decide; both
        means where both vary."""
        left, right = self.sides
        if left.estimate is None or right.estimate is None:
            return "not measured"
        if not left.constant and not right.constant:
            return f"{left.estimate.mean:.6g} and {right.estimate.mean:.6g}"
        mean = right.estimate if left.constant else left.estimate
        if self.finding != "open" or mean.low is None or mean.high is None:
            return f"{mean.mean:.6g}"
        return f"{mean.mean:.6g} ({mean.low:.6g} to {mean.high:.6g}: more repeats may decide)"

    @property
    def lack(self) -> float:
        """By what part of the bound the value misses it; infinite where there is none."""
        left, right = (side.estimate for side in self.sides)
        if left is None or right is None:
            return math.inf
        return abs(left.mean - right.mean) / (abs(right.mean) or 1.0)


class Outcomes(list[Outcome]):
    """What becomes of expectations at sweep points, in order; a notebook shows it as a table."""

    def __str__(self) -> str:
        """A line for each, with its verdict first."""
        return "\n".join(f"{_verdict(outcome)}: {outcome}" for outcome in self) or "none"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """A row for each."""
        if not self:
            return "<p>none</p>"
        head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(shown.line(cell))}</td>" for cell in row) + "</tr>"
            for row in map(_cells, self)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_HEADINGS = ("check", "what it says", "at", "measured", "verdict")


def _cells(outcome: Outcome) -> tuple[str, ...]:
    expectation = outcome.expectation
    return (
        expectation.label,
        expectation.expression,
        outcome.where,
        _measured(outcome),
        _verdict(outcome),
    )


def _measured(outcome: Outcome) -> str:
    """The mean of each metric, where a check has several, of which one side tells little."""
    if len(outcome.means) == 1:
        return outcome.value
    return _by_name(outcome.means)


def _by_name(means: Mapping[str, float | None]) -> str:
    told = {name: "not measured" if v is None else f"{v:.6g}" for name, v in means.items()}
    return ", ".join(f"{name} {value}" for name, value in told.items())


def _verdict(outcome: Outcome) -> str:
    return "met" if outcome.met else "not met"


@dataclass(frozen=True)
class Unmet:
    """An expectation that some sweep points do not meet."""

    expectation: Expectation
    worst: list[Outcome]
    """Those points, up to `MOST_NAMED`, that are furthest from it, in the study's order."""
    others: list[Outcome]


def unmet(failures: Sequence[Outcome]) -> list[Unmet]:
    """The failures of each expectation, the worst apart."""
    by_expectation = []
    for expectation, members in groupby(failures, lambda failure: failure.expectation):
        own = list(members)
        ranked = sorted(range(len(own)), key=lambda place: -own[place].lack)
        named = set(ranked[:MOST_NAMED])
        by_expectation.append(
            Unmet(
                expectation,
                [failure for place, failure in enumerate(own) if place in named],
                [failure for place, failure in enumerate(own) if place not in named],
            )
        )
    return by_expectation


def outcomes(expectations: Sequence[Expectation], points: Sequence[Point]) -> Outcomes:
    """What becomes of every expectation at each of `points`, in this order.

    What was not measured meets nothing.
    """
    runs = [[run.metrics for run in point.runs] for point in points]
    named = {m.name: m for expectation in expectations for m in expectation.metrics}
    tables = {name: table(runs, metric) for name, metric in named.items()}
    means = {name: [_mean(e) for e in estimates(values)] for name, values in tables.items()}
    reached = Outcomes()
    for expectation in expectations:
        judged = _Judged(expectation, tables, len(points))
        for row, point in enumerate(points):
            met, finding, sides = judged.at(row)
            own = {metric.name: means[metric.name][row] for metric in expectation.metrics}
            reached.append(Outcome(expectation, point.params, met, finding, sides, own))
    return reached


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.mean


class _Judged:
    """A check over sweep points."""

    def __init__(self, expectation: Expectation, tables: Mapping[str, Any], points: int) -> None:
        """`tables` of metrics have a row for each of `points`, a column for each run."""
        self._expression = expression_of(expectation)
        self._tables = tables
        self._points = points
        self._relations: dict[int, list[tuple[str, list[Side], list[Side], list[Finding]]]] = {}
        """By comparison: its relations, and of each both sides and the finding at each point."""
        self._compare(self._expression.tree)

    def at(self, row: int) -> tuple[bool, Finding, tuple[Side, Side]]:
        """Whether it is met at a point, what the runs show, and the sides that say so."""
        seen: list[tuple[bool | None, tuple[Side, Side]]] = []
        met, finding = self._visit(self._expression.tree, row, seen)
        sides = next((sides for held, sides in seen if held == met), seen[0][1])
        return met is True, finding, sides

    def _visit(
        self, node: Node, row: int, seen: list[tuple[bool | None, tuple[Side, Side]]]
    ) -> tuple[bool | None, Finding]:
        """Whether the means meet `node`, None where that was not measured; what the runs show."""
        if node["part"] == "not":
            met, finding = self._visit(node["operand"], row, seen)
            return None if met is None else not met, findings.denied(finding)
        if node["part"] in ("and", "or"):
            parts = [self._visit(part, row, seen) for part in node["parts"]]
            told = [finding for _, finding in parts]
            if node["part"] == "and":
                return _all(met for met, _ in parts), findings.every(told)
            return _any(met for met, _ in parts), findings.some(told)
        held = []
        for relation, lefts, rights, _ in self._relations[id(node)]:
            left, right = lefts[row], rights[row]
            held.append(_means_meet(left.estimate, relation, right.estimate))
            seen.append((held[-1], (left, right)))
        told = [relation[3][row] for relation in self._relations[id(node)]]
        return _all(held), findings.every(told)

    def _compare(self, node: Node) -> None:
        if node["part"] in ("and", "or"):
            for part in node["parts"]:
                self._compare(part)
        elif node["part"] == "not":
            self._compare(node["operand"])
        else:
            left, relations = node["first"], []
            for relation, right in node["rest"]:
                relations.append((relation, *self._related(left, relation, right)))
                left = right
            self._relations[id(node)] = relations

    def _related(
        self, left: Node, relation: str, right: Node
    ) -> tuple[list[Side], list[Side], list[Finding]]:
        a, b = self._values(left), self._values(right)
        of_a, of_b = self._sides(a), self._sides(b)
        if np.ndim(b) == 0 or np.ndim(a) == 0:
            bound, turned = (b, relation) if np.ndim(b) == 0 else (a, _TURNED[relation])
            sides = of_a if np.ndim(b) == 0 else of_b
            told = [findings.compared(side.estimate, turned, float(bound)) for side in sides]
        else:
            # Runs of a seed are paired.
            told = [findings.compared(e, relation, 0.0) for e in estimates(a - b)]
        return of_a, of_b, told

    def _values(self, node: Node) -> Any:
        """The values of a side: a number that the study writes, or a row for each point."""
        return (
            Evaluation(self._expression.part(node), Numbers(self._tables, FUNCTIONS)).term().value
        )

    def _sides(self, values: Any) -> list[Side]:
        if np.ndim(values) == 0:
            number = Estimate(float(values), None, None, 0)
            return [Side(number, constant=True)] * self._points
        return [Side(e, constant=False) for e in estimates(values)]


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The relation of b to a, by that of a to b."""


_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _means_meet(left: Estimate | None, relation: str, right: Estimate | None) -> bool | None:
    if left is None or right is None:
        return None
    return bool(_COMPARE[relation](left.mean, right.mean))


def _all(parts: Iterable[bool | None]) -> bool | None:
    """Whether all are so; None where what was not measured decides."""
    known = [*parts]
    return False if False in known else None if None in known else True


def _any(parts: Iterable[bool | None]) -> bool | None:
    """Whether one is so; None where what was not measured decides."""
    known = [*parts]
    return True if True in known else None if None in known else False
