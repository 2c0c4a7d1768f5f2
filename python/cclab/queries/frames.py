"""Answers as frames of polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from cclab.queries.question import Question, Table, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab.queries.answer import Answer

_TYPES: dict[str, type[pl.DataType]] = {
    "TEXT": pl.String,
    "INTEGER": pl.Int64,
    "BOOLEAN": pl.Boolean,
    "REAL": pl.Float64,
    "NUMERIC": pl.Float64,
}


def query(
    folder: str | Path,
    where: str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    table: Table = "flows",
    every: bool = False,
    pool: bool = False,
    group_by: str | Sequence[str] = (),
    sort: str | None = None,
    limit: int | None = None,
    told: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """The rows of a results folder for which the condition `where` holds.

    A row is a flow of a run, or what `table` says. `columns` are names, expressions, or
    `NAME = EXPRESSION`; without any, those that say most and those that `where` names. With
    `every`, runs that no plan asked for by itself count too: those that cclab adds to a study to
    check it. With `group_by`, there is a row for each group, with the mean over its runs of each
    column and the ends of its 95% interval; where the rows are of several plans, a group is of one
    of them (the column `plan`), unless these are to `pool`. Both may be one text with commas.
    `sort` is a column or an expression, descending with a `-` before it; `limit` the most rows.

    Raises `InputError` for wrong input and `StoreError` if `folder` is not a results folder.
    """
    asked = Question(
        where, listed(columns), table, every, pool, listed(group_by) or (), sort, limit
    )
    return frame(asked.answer(folder, told))


def frame(answer: Answer) -> pl.DataFrame:
    """The rows of `answer`."""
    rows = answer.rows()
    columns: Any = zip(*rows, strict=True) if rows else ([] for _ in answer.names)
    return pl.DataFrame(
        [
            pl.Series(name, values, _type(kind, values))
            for name, kind, values in zip(answer.names, answer.types, columns, strict=True)
        ]
    )


def _type(kind: str, values: Sequence[Any]) -> type[pl.DataType]:
    """The type of a column of `values`. Where whole numbers become too large, SQLite computes with
    others."""
    if kind == "INTEGER" and any(isinstance(value, float) for value in values):
        return pl.Float64
    return _TYPES[kind]
