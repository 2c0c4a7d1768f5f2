"""What the numbers of columns are quantities of, as far as their names say.

Keys of the study file are asked of its schema, metrics of their rows; else names say it by how they
end.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from cclab import _core, metrics

UNITS = {
    "time": "seconds",
    "rate": "bit/s",
    "size": "bytes",
    "share": "parts of 1",
    "packets": "packets",
    "bdp": "bandwidth-delay products",
}
"""The dimensions, in the core's words, with the unit that the numbers are in."""

_ENDS = {"_s": "time", "_bps": "rate", "_bytes": "size", "_packets": "packets", "_bdp": "bdp"}
_RESOLVED_TIMES = frozenset({"extra_delay"})
"""Times of resolved scenarios that study files do not have."""

_MEANT = {"bytes": "size", "limit": "size", "rate": "rate"}
"""What columns hold whose keys can be quantities of several kinds, or are no keys."""

_OF_KINDS = (".queue.", "cc_params.")
"""In the names of parameters: what these are quantities of depends on whose they are."""

_EXAMPLES = {
    "time": "1min",
    "rate": "1Mbit",
    "size": "1KiB",
    "share": "1%",
    "packets": "1p",
    "bdp": "1bdp",
}
"""What is a quantity of this dimension and of no other."""


def of_column(name: str) -> frozenset[str]:
    """What the column `name` can be a quantity of; none if the name does not say."""
    word = name.rpartition(".")[2]
    metric = _metric(name)
    if metric is not None:
        return frozenset() if metric.dimension is None else frozenset({metric.dimension})
    if word in _MEANT:
        return frozenset({_MEANT[word]})
    for end, dimension in _ENDS.items():
        if word.endswith(end):
            return frozenset({dimension})
    if word in _RESOLVED_TIMES:
        return frozenset({"time"})
    if word.startswith("bytes_"):
        return frozenset({"size"})
    if any(part in name for part in _OF_KINDS):
        return frozenset()
    return of_key(word)


def is_part(name: str) -> bool:
    """Whether the column `name` has parts of a whole, of which none is more than 1."""
    metric = _metric(name)
    return metric is not None and metric.dimension == "share" and metric.most == 1


def _metric(name: str) -> metrics.Metric | None:
    """The metric in the column `name`; where columns bear no subject, of any that has one."""
    subject, dot, rest = name.partition(".")
    if name.startswith("bottleneck.band."):
        return metrics.named("band", name.rpartition(".")[2])
    if dot:
        return metrics.named(subject, rest)
    subjects = ("run", "flow", "group", "traffic", "probe")
    return next((m for s in subjects if (m := metrics.named(s, name)) is not None), None)


@cache
def of_key(key: str) -> frozenset[str]:
    """What a key of study files can be a quantity of, wherever it stands."""
    return frozenset(_keys().get(key, ()))


def is_time(key: str) -> bool:
    """Whether `key` holds a time: in a resolved scenario, whole nanoseconds."""
    return key in _RESOLVED_TIMES or of_key(key) == {"time"}


@cache
def _keys() -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            for key, value in (node.get("properties") or {}).items():
                known.setdefault(key, set()).update(_dimensions(value))
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(json.loads(_core.schema()))
    return known


def _dimensions(node: Any) -> set[str]:
    """What a value that `node` describes can be a quantity of, by the units that it may have."""
    if not isinstance(node, dict):
        return set()
    pattern = node.get("pattern")
    named = set()
    if pattern is not None:
        named = {name for name, text in _EXAMPLES.items() if re.search(pattern, text)}
    for form in ("anyOf", "oneOf"):
        for choice in node.get(form, []):
            named |= _dimensions(choice)
    return named
