"""Which sweep points of results somebody means by the values of their keys."""

from __future__ import annotations

import fnmatch
import itertools
import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

from cclab import _core
from cclab.plan import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cclab.measure.points import Point
    from cclab.plan import Point as PlannedPoint


_P = TypeVar("_P", "Point", "PlannedPoint")


def same(first: object, second: object) -> bool:
    """Whether two values of a sweep key are the same, however they are written."""
    a, b = text(first), text(second)
    if a == b:
        return True
    x, y = number(first), number(second)
    return x is not None and y is not None and math.isclose(x, y, rel_tol=1e-9)


def number(value: object) -> float | None:
    """The number that a value of a sweep key stands for, in its SI unit; None for a name."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    return _core.number(value) if isinstance(value, str) else None


def products(each: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each key."""
    choices = [value if isinstance(value, list) else [value] for value in each.values()]
    for values in itertools.product(*choices):
        yield dict(zip(each, values, strict=True))


def at(among: Sequence[_P], bindings: Mapping[str, Any]) -> list[_P]:
    """The points with runs whose parameters have these values (or one of a list of them)."""
    return [
        point
        for point in among
        if point.runs and all(_has(point.params, k, wanted) for k, wanted in bindings.items())
    ]


def _has(params: Mapping[str, Any], key: str, wanted: object) -> bool:
    if key not in params:
        return False
    values = wanted if isinstance(wanted, list) else [wanted]
    return any(same(params[key], value) for value in values)


def along(points: Sequence[Point], key: str) -> list[tuple[object, list[Point]]]:
    """The points by their value of `key`, in the order of the sweep."""
    values: dict[str, tuple[object, list[Point]]] = {}
    for point in points:
        value = point.params[key]
        values.setdefault(json.dumps(value), (value, []))[1].append(point)
    return list(values.values())


def flows(point: Point, pattern: str) -> list[str]:
    """The flows of a point that a name or a pattern means."""
    there = [flow["name"] for flow in point.runs[0].metrics["flows"]]
    return [name for name in there if name == pattern or fnmatch.fnmatchcase(name, pattern)]
