"""Rows of cells as typed frames: the columns come from the rows, not from a list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from cclab.catalog import columns

if TYPE_CHECKING:
    from collections.abc import Iterable

RECORD = {
    "run": pl.String,
    "backend": pl.String,
    "version": pl.String,
    "seed": pl.UInt64,
    "manifest_sha256": pl.String,
    "bytes": pl.UInt64,
    "metrics_version": pl.String,
    "scenario": pl.String,
    "metrics": pl.String,
}
"""What is recorded of a run, as columns; `scenario` and `metrics` are JSON documents."""

_DOCUMENTS = ("scenario", "metrics")
_KEY = {
    "runs": ["run"],
    "flows": ["run", "flow"],
    "groups": ["run", "place"],
    "traffic": ["run", "source"],
    "probes": ["run", "probe"],
}
_WHOLE = pl.UInt32
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Tables:
    """The catalog's tables, each sorted by run and the index within it."""

    runs: pl.LazyFrame
    """One row per run, `RECORD` included."""
    flows: pl.LazyFrame
    """One row per flow and run."""
    groups: pl.LazyFrame
    """One row per group of flows and run."""
    traffic: pl.LazyFrame
    """One row per source of cross traffic and run."""
    probes: pl.LazyFrame
    """One row per probe and run."""


Made = dict[str, pl.DataFrame]
"""The tables in memory, by name; that of the runs, which says which rows count, comes last."""


def empty_records() -> pl.DataFrame:
    """Records of no run."""
    return pl.DataFrame(schema=RECORD)


def expand(records: pl.DataFrame) -> Made:
    """The tables of the runs in `records`, made of their scenarios and metrics.

    What a record says must be of a run: one that is not has no row.
    """
    known: dict[str, columns.Levels] = {}
    runs: list[columns.Cells] = []
    flows: list[columns.Cells] = []
    groups: list[columns.Cells] = []
    traffic: list[columns.Cells] = []
    probes: list[columns.Cells] = []
    told: list[str] = []
    for run, scenario, metrics in records.select("run", *_DOCUMENTS).iter_rows():
        try:
            asked = known.get(scenario)
            if asked is None:
                asked = known[scenario] = columns.of_scenario(msgspec.json.decode(scenario))
            measured = columns.of_metrics(msgspec.json.decode(metrics))
        except (LookupError, TypeError, ValueError, AttributeError):
            continue  # it says nothing, and so has no row
        told.append(run)
        runs.append(asked.run | measured.run)
        for key, rows, one, other in (
            ("flow", flows, asked.flows, measured.flows),
            ("source", traffic, asked.traffic, measured.traffic),
            ("probe", probes, asked.probes, measured.probes),
        ):
            both = enumerate(zip(one, other, strict=False))
            rows += [{"run": run, key: index} | a | b for index, (a, b) in both]
        for index, group in enumerate(measured.groups):
            groups.append({"run": run, "place": index} | group)
    if len(told) < records.height:
        records = records.filter(pl.col("run").is_in(told))
    beside = records.select(pl.exclude(_DOCUMENTS))
    documents = records.select(_DOCUMENTS)
    cells = tabulate(runs, taken=RECORD)
    whole = pl.concat([beside, cells, documents], how="horizontal") if runs else records
    return {
        "flows": _sorted("flows", _with_key("flow", tabulate(flows))),
        "groups": _sorted("groups", _with_key("place", tabulate(groups))),
        "traffic": _sorted("traffic", _with_key("source", tabulate(traffic))),
        "probes": _sorted("probes", _with_key("probe", tabulate(probes))),
        "runs": _sorted("runs", whole),
    }


def stack(kept: pl.DataFrame, added: pl.DataFrame, table: str) -> pl.DataFrame | None:
    """Both frames as the table `table`; None if a column of theirs is of two kinds.

    Two kinds become text, and what text they become only the documents of all runs tell.
    """
    if not added.height:
        return kept
    if not kept.height:
        return added
    types = dict(kept.schema)
    for name, kind in added.schema.items():
        before = types.get(name)
        if before is None or before == kind or _is_void(kept, name):
            types[name] = kind
        elif _is_void(added, name):
            continue
        elif before.is_numeric() and kind.is_numeric():
            types[name] = pl.Float64()
        else:
            return None
    both = [
        frame.with_columns(
            (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in types.items()
        )
        for frame in (kept, added)
    ]
    return _sorted(table, pl.concat(both, how="diagonal"))


def tabulate(rows: list[columns.Cells], taken: Iterable[str] = ()) -> pl.DataFrame:
    """One row per element of `rows`: a column per key, in alphabetical order.

    Keys in `taken` are left out. A column that no row has a number or a text in is of numbers.
    """
    keys: dict[str, None] = {}
    for row in rows:
        keys.update(dict.fromkeys(row))
    names = sorted(keys.keys() - set(taken))
    return pl.DataFrame([_series(name, [row.get(name) for row in rows]) for name in names])


def _series(name: str, values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds or kinds == {float}:
        return pl.Series(name, values, pl.Float64)
    if kinds == {bool}:
        return pl.Series(name, values, pl.Boolean)
    if kinds == {int} and max(abs(v) for v in values if v is not None) <= _LARGEST:
        return pl.Series(name, values, pl.Int64)
    if kinds == {str}:
        return pl.Series(name, values, pl.String)
    if kinds <= {int, float}:
        return pl.Series(name, [None if v is None else float(v) for v in values], pl.Float64)
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, texts, pl.String)


def _is_void(frame: pl.DataFrame, name: str) -> bool:
    return frame[name].null_count() == frame.height


def _with_key(index: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its key's types, also where it has no rows."""
    if not frame.width:
        return pl.DataFrame(schema={"run": pl.String, index: _WHOLE})
    return frame.with_columns(pl.col(index).cast(_WHOLE))


def _sorted(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """In the one order of rows and columns: the key, then the alphabet, then the documents."""
    first = [*(c for c in RECORD if c not in _DOCUMENTS)] if table == "runs" else _KEY[table]
    last = [*_DOCUMENTS] if table == "runs" else []
    middle = sorted(set(frame.columns) - set(first) - set(last))
    return frame.select(*first, *middle, *last).sort(_KEY[table])
