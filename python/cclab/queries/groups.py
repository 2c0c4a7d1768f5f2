"""Means over runs and their intervals, for the groups of a query."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from cclab import metrics, shown
from cclab.errors import InputError
from cclab.measure import stats
from cclab.queries.answer import Answer, Source
from cclab.queries.columns import OWN, Wide, named, unique
from cclab.queries.sql import column, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULT = {table: metrics.queried(subject)[:1] for table, subject in OWN.items()}

_TABLE = "grouped"

MANY = 1000
"""Over more runs, the interval is that of the normal distribution, to which the bootstrap's tends:
resampling so many would take long to say the same."""

_QUANTILE = 1.959963984540054
"""Of the normal distribution: 95% lie within so many standard deviations."""


def grouped(source: Source, wide: Wide, by: Sequence[str], columns: Sequence[str] | None) -> Answer:
    """For each group of `source`: `n`, its runs, and of each column the mean over them and the ends
    `_low` and `_high` of its 95% interval.

    A run is one observation: where it has several rows in a group, they are averaged first.
    """
    keys = [named(key, wide.terms) for key in by]
    values = [named(name, wide.terms) for name in columns or wide.of_default(_DEFAULT[wide.table])]
    for name, term in values:
        if term.kind == "text":
            raise InputError(
                f"{shown.quoted(name)} is a text: with --group-by, columns are numbers"
            )
    of_key = unique(keys)
    of_value = {name: value for name, value in unique(values).items() if name not in of_key}
    run = column(wide.table, "run", "TEXT")
    places = ", ".join(str(place + 1) for place in range(len(of_key) + 1))
    listed = [value.text for value in of_key.values()]
    means = [f"avg({value.text})" for value in of_value.values()]
    rows = source.select(
        ", ".join([*listed, run.text, *means]),
        [*of_key.values(), *of_value.values()],
        f"GROUP BY {places} ORDER BY {places}",
    )
    types = {name: value.type for name, value in of_key.items()} | {"n": "INTEGER"}
    for name in of_value:
        types |= dict.fromkeys((name, f"{name}_low", f"{name}_high"), "REAL")
    done = []
    for key, runs in groupby(rows, lambda row: row[: len(of_key)]):
        lists = [*zip(*runs, strict=True)][len(of_key) :]
        cells = [*key, len(lists[0])]
        for seen in lists[1:]:
            estimate = _estimated(seen)
            cells += (
                [None] * 3 if estimate is None else [estimate.mean, estimate.low, estimate.high]
            )
        done.append(cells)
    return _kept(source, types, done)


def _kept(source: Source, types: dict[str, str], rows: list[list[object]]) -> Answer:
    """The rows as a table that can be asked in its turn."""
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
    source.connection.execute(f"CREATE TEMP TABLE {_TABLE} ({declared})")
    marks = ", ".join("?" * len(types))
    source.connection.executemany(f"INSERT INTO {_TABLE} VALUES ({marks})", rows)
    columns = {name: column(_TABLE, name, kind) for name, kind in types.items()}
    return Answer(Source(source.connection, _TABLE), columns)


def _estimated(row: Sequence[float | None]) -> stats.Estimate | None:
    known = [value for value in row if value is not None]
    return _normal(known) if len(known) > MANY else stats.estimate(known)


def _normal(row: list[float]) -> stats.Estimate:
    """Mean and interval of many runs: the central limit theorem."""
    seen = np.asarray(row)
    mean = float(seen.mean())
    half = float(_QUANTILE * seen.std(ddof=1) / math.sqrt(len(row)))
    return stats.Estimate(mean, mean - half, mean + half, len(row))
