"""The tables of the index as polars frames: columns are read from it when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from cclab.index import file

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


def frame(connection: sqlite3.Connection, table: str) -> pl.LazyFrame:
    """A table of the index."""
    schema = {name: _TYPES[kind]() for name, kind in file.types(connection, table).items()}

    def read(
        wanted: list[str] | None, predicate: pl.Expr | None, most: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        del size
        names = [*schema] if wanted is None else wanted
        limit = "" if most is None or predicate is not None else f" LIMIT {most}"
        rows = connection.execute(f"SELECT {file.listed(names)} FROM {table}{limit}").fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        read = pl.DataFrame(
            [
                _series(name, schema[name], values)
                for name, values in zip(names, columns, strict=True)
            ]
        )
        read = read if predicate is None else read.filter(predicate)
        yield read if most is None else read.head(most)

    return register_io_source(read, schema=schema)


def _series(name: str, kind: pl.DataType, values: Any) -> pl.Series:
    if kind == pl.Boolean:
        values = [None if value is None else bool(value) for value in values]
    return pl.Series(name, values, kind)
