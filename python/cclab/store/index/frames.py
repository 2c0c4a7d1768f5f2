"""The tables of the index as polars frames: columns are read from it when they are used."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from cclab.store.index import file

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

_TYPES: dict[str, type[pl.DataType]] = {
    "TEXT": pl.String,
    "INTEGER": pl.Int64,
    "BOOLEAN": pl.Boolean,
    "REAL": pl.Float64,
    "NUMERIC": pl.Float64,
}


_READING = threading.Lock()
"""Polars reads in several threads, and SQLite may have been built for one at a time."""


def frame(connection: sqlite3.Connection, table: str) -> pl.LazyFrame:
    """A table of the index; each of its columns is read once."""
    schema = {name: _TYPES[kind]() for name, kind in file.types(connection, table).items()}
    known: dict[str, pl.Series] = {}

    def read(
        wanted: list[str] | None, predicate: pl.Expr | None, most: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        del size
        names = [*schema] if wanted is None else wanted
        new = [name for name in names if name not in known]
        if new:
            with _READING:
                rows = connection.execute(f"SELECT {file.listed(new)} FROM {table}").fetchall()
            columns = zip(*rows, strict=True) if rows else ([] for _ in new)
            for name, values in zip(new, columns, strict=True):
                known[name] = _series(name, schema[name], values)
        found = pl.DataFrame([known[name] for name in names])
        found = found if predicate is None else found.filter(predicate)
        yield found if most is None else found.head(most)

    return register_io_source(read, schema=schema)


def _series(name: str, kind: pl.DataType, values: Any) -> pl.Series:
    if kind == pl.Boolean:
        values = [None if value is None else bool(value) for value in values]
    return pl.Series(name, values, kind)
