"""The trace of a run as polars frames, in SI units and with the names of flows and links.

The files and their columns are described in docs/trace-schema.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TABLES = (
    "flow_samples",
    "queue_samples",
    "acks",
    "queue_events",
    "drops",
    "flows",
    "datagrams",
    "frames",
    "links",
    "bands",
    "traffic",
    "transfers",
    "probes",
    "probe_samples",
    "histograms",
)
"""The tables a trace can have; which of them it has is the study's choice (`[trace]`)."""

_SECONDS = 1e-9


def has(entry: Path, table: str) -> bool:
    """Whether the trace in the folder `entry` has rows of `table`."""
    file = entry / f"{table}.parquet"
    return file.is_file() and int(pl.scan_parquet(file).select(pl.len()).collect().item()) > 0


def table(entry: Path, name: str) -> pl.DataFrame:
    """The table `name` of the trace in the folder `entry`.

    Columns in nanoseconds become seconds (`time_ns` -> `time_s`), and the indices of flows,
    links, sources of cross traffic and probes their names. Raises `InputError` if there is no such
    table or the run did not record it.
    """
    if name not in TABLES:
        raise InputError(f"no table {name!r} in a trace; the tables are {', '.join(TABLES)}")
    if not (entry / f"{name}.parquet").is_file():
        raise InputError(f"this run recorded no {name}: [trace] in the study asks for it")
    frame = pl.read_parquet(entry / f"{name}.parquet")
    frame = _in_seconds(frame)
    for column, owners in (
        # Indices of cross traffic follow those of flows, and those of probes follow both.
        ("flow", ("flows", "traffic", "probes")),
        ("link", ("links",)),
        ("source", ("traffic",)),
        ("probe", ("probes",)),
    ):
        if column in frame.columns and frame.schema[column].is_integer():
            names = [known for owner in owners for known in _names(entry, owner)]
            frame = _named(frame, column, names)
    return frame


def columns(entry: Path, name: str, wanted: Sequence[str]) -> dict[str, np.ndarray] | None:
    """Columns of a table as they are stored, numbers as floats, NaN for what is not known.

    None if the run recorded no such table or no row in it. This is for reading the traces of
    thousands of runs: `table` takes four times as long.
    """
    file = entry / f"{name}.parquet"
    if not file.is_file():
        return None
    frame = pl.read_parquet(file, columns=list(wanted))
    if frame.is_empty():
        return None
    return {
        column: frame[column].to_numpy()
        if frame.schema[column] == pl.Utf8
        else frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for column in wanted
    }


def bottleneck(entry: Path) -> str:
    """The name of the link under study: the first in every trace, whatever the study calls it."""
    return _names(entry, "links")[0]


def flow_samples(entry: Path) -> pl.DataFrame:
    """The sampled state of the flows, with the largest in-order byte count so far."""
    return table(entry, "flow_samples")


def samples_of(entry: Path, flow: str) -> pl.DataFrame:
    """The sampled state of a flow while it lasted: what is sampled later is its last state."""
    frame = flow_samples(entry).filter(flow=flow).sort("time_s")
    ended = table(entry, "flows").filter(name=flow)["ended_s"].item()
    return frame if ended is None else frame.filter(pl.col("time_s") <= ended)


def _in_seconds(frame: pl.DataFrame) -> pl.DataFrame:
    spans = [c for c in frame.columns if c.endswith("_ns") and frame.schema[c].is_integer()]
    seconds = [
        (pl.col(c).cast(pl.Float64) * _SECONDS).alias(f"{c.removesuffix('_ns')}_s") for c in spans
    ]
    order = [f"{c.removesuffix('_ns')}_s" if c in spans else c for c in frame.columns]
    return frame.with_columns(seconds).select(order)


def _names(entry: Path, owner: str) -> list[str]:
    file = entry / f"{owner}.parquet"
    if owner in ("traffic", "probes") and not file.is_file():
        return []
    names: list[str] = pl.read_parquet(file, columns=["name"])["name"].to_list()
    return names


def _named(frame: pl.DataFrame, column: str, names: list[str]) -> pl.DataFrame:
    return frame.with_columns(
        pl.col(column)
        .replace_strict(list(range(len(names))), names, return_dtype=pl.Utf8)
        .alias(column)
    )
