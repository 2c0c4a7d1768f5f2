"""What a question is answered by: rows that the index chooses, read as they are wanted."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.errors import InputError
from cclab.queries.sql import every, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.queries.sql import Sql

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Source:
    """The rows of a table for which conditions hold."""

    connection: sqlite3.Connection
    table: str
    conditions: tuple[Sql, ...] = ()

    def where(self, condition: Sql) -> Source:
        """Those of them for which `condition` holds, too."""
        return Source(self.connection, self.table, (*self.conditions, condition))

    def select(self, what: str, values: Sequence[Sql] = (), more: str = "") -> list[Row]:
        """What SQL says of the rows; of the tables, those are read that it needs for `values`."""
        needed = [*self.conditions, *values]
        # The rows of the table come one after the other, and the run of each is looked up.
        beside = any("runs" in value.tables for value in needed) and self.table != "runs"
        join = f" CROSS JOIN runs ON runs.run = {self.table}.run" if beside else ""
        where = f" WHERE {every(self.conditions).text}" if self.conditions else ""
        try:
            asked = f"SELECT {what} FROM {self.table}{join}{where} {more}"
            return self.connection.execute(asked).fetchall()
        except sqlite3.OperationalError as error:
            if "stack overflow" in str(error) or "too large" in str(error):
                raise InputError("the expression is nested too deeply, or too long") from error
            raise


@dataclass(frozen=True)
class Answer:
    """Rows with named columns, in their order."""

    source: Source
    columns: dict[str, Sql]
    by: Sql | None = None
    """What they are sorted by; those that have nothing of it come last."""
    down: bool = False
    """Whether the largest comes first."""
    most: int | None = None
    """Rows at most."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [*self.columns]

    @property
    def types(self) -> list[str]:
        """Their types, in SQLite's words."""
        return [value.type for value in self.columns.values()]

    def count(self) -> int:
        """How many rows there are."""
        [(rows,)] = self.source.select("count(*)")
        return int(rows) if self.most is None else min(int(rows), self.most)

    def rows(self, most: int | None = None) -> list[Row]:
        """The rows, or the first of them."""
        limits = [limit for limit in (self.most, most) if limit is not None]
        order = f"ORDER BY {self.source.table}.rowid"
        if self.by is not None:
            by, down = f"({self.by.text})", " DESC" if self.down else ""
            order = f"ORDER BY {by} IS NULL, {by}{down}, {self.source.table}.rowid"
        limit = f" LIMIT {min(limits)}" if limits else ""
        values = [*self.columns.values(), *([] if self.by is None else [self.by])]
        listed = ", ".join(f"{v.text} AS {quoted(n)}" for n, v in self.columns.items())
        found = self.source.select(listed, values, f"{order}{limit}")
        flags = [place for place, kind in enumerate(self.types) if kind == "BOOLEAN"]
        return [_with_flags(row, flags) for row in found] if flags else found

    def distinct(self, name: str) -> list[Any]:
        """The values in the column `name` of rows, if there is one, each once."""
        value = self.columns.get(name)
        if value is None:
            return []
        return [one for (one,) in self.source.select(f"DISTINCT {value.text}", [value])]


def _with_flags(row: Row, flags: Sequence[int]) -> Row:
    """`row` with the truth values that SQLite has as numbers."""
    cells = list(row)
    for place in flags:
        cells[place] = None if cells[place] is None else bool(cells[place])
    return tuple(cells)
