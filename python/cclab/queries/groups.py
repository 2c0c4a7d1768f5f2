"""Means over runs and their intervals, for the groups of a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab import metrics
from cclab.errors import InputError
from cclab.measure import stats
from cclab.queries.columns import OWN, Wide, named, unique

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULT = {table: metrics.queried(subject)[:1] for table, subject in OWN.items()}
_RUN = "\0run"

MANY = 1000
"""Over more runs, the interval is that of the normal distribution, to which the bootstrap's tends:
resampling so many would take long to say the same."""

_QUANTILE = 1.959963984540054
"""Of the normal distribution: 95% lie within so many standard deviations."""


def grouped(
    frame: pl.LazyFrame, wide: Wide, by: Sequence[str], columns: Sequence[str] | None
) -> pl.DataFrame:
    """For each group of `frame`: `n`, its runs, and of each column the mean over them and the ends
    `_low` and `_high` of its 95% interval.

    A run is one observation: where it has several rows in a group, they are averaged first.
    """
    keys = [named(key, wide.terms) for key in by]
    values = [
        named(column, wide.terms) for column in columns or wide.of_default(_DEFAULT[wide.table])
    ]
    for name, term in values:
        if term.kind == "text":
            raise InputError(f"{name!r} is a text: with --group-by, columns are numbers")
    names = list(dict.fromkeys(name for name, _ in keys))
    numbers = list(dict.fromkeys(name for name, _ in values if name not in names))
    numeric = [(n, t) for n, t in values if n in numbers]
    rows = frame.select(
        pl.col("run").alias(_RUN), *unique(keys), *(e.cast(pl.Float64) for e in unique(numeric))
    )
    runs = rows.group_by(*names, _RUN).agg(pl.col(numbers).mean()).sort(*names, _RUN)
    grouped = runs.group_by(names, maintain_order=True).agg(
        pl.len().alias("n"), *(pl.col(name) for name in numbers)
    )
    table = grouped.collect()
    done = table.select(*names, "n")
    for name in numbers:
        done = done.hstack(_estimated(name, table[name]))
    return done


def _estimated(name: str, lists: pl.Series) -> pl.DataFrame:
    rows = [[value for value in row if value is not None] for row in lists.to_list()]
    estimated = [_normal(row) if len(row) > MANY else stats.estimate(row) for row in rows]
    return pl.DataFrame(
        {
            name: [None if estimate is None else estimate.mean for estimate in estimated],
            f"{name}_low": [None if estimate is None else estimate.low for estimate in estimated],
            f"{name}_high": [None if estimate is None else estimate.high for estimate in estimated],
        },
        schema=dict.fromkeys((name, f"{name}_low", f"{name}_high"), pl.Float64),
    )


def _normal(row: list[float]) -> stats.Estimate:
    """Mean and interval of many runs: the central limit theorem."""
    seen = np.asarray(row)
    mean = float(seen.mean())
    half = float(_QUANTILE * seen.std(ddof=1) / math.sqrt(len(row)))
    return stats.Estimate(mean, mean - half, mean + half, len(row))
