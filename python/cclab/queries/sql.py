"""Expressions over columns as SQL, which the index answers without a row of Python.

The language is that of `cclab.expressions`; here its names are columns and its values SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.expressions import Call, Term

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

_FUNCTIONS = {"abs": "abs", "min": "least", "max": "most"}
"""By the names in expressions, those of SQL. Its own `min` and `max` give nothing where a value is
not known: here that one is left out."""

_OR, _AND, _NOT, _EQUAL, _ORDER, _SUM, _PRODUCT, _ATOM = range(8)
"""How tightly parts hold together: what holds less tightly needs brackets. SQLite's parser bears
some fifty brackets within each other, and chains as long as expressions may be."""


@dataclass(frozen=True, eq=False)
class Sql:
    """A value in SQL."""

    text: str
    type: str
    """The type of its column, in SQLite's words."""
    tables: frozenset[str] = frozenset()
    """The tables whose columns are in it."""
    holds: int = _ATOM

    def within(self, least: int) -> str:
        """Its text where parts have to hold together at least so tightly."""
        return self.text if self.holds >= least else f"({self.text})"

    # Of two values, these are the SQL that compares them, and no answer.
    def __eq__(self, other: Sql) -> Sql:  # type: ignore[override]
        return self._related("=", other, _EQUAL)

    def __ne__(self, other: Sql) -> Sql:  # type: ignore[override]
        return self._related("<>", other, _EQUAL)

    def __lt__(self, other: Sql) -> Sql:
        return self._related("<", other, _ORDER)

    def __le__(self, other: Sql) -> Sql:
        return self._related("<=", other, _ORDER)

    def __gt__(self, other: Sql) -> Sql:
        return self._related(">", other, _ORDER)

    def __ge__(self, other: Sql) -> Sql:
        return self._related(">=", other, _ORDER)

    def __add__(self, other: Sql) -> Sql:
        return self._computed("+", other, _SUM)

    def __sub__(self, other: Sql) -> Sql:
        return self._computed("-", other, _SUM)

    def __mul__(self, other: Sql) -> Sql:
        return self._computed("*", other, _PRODUCT)

    def __and__(self, other: Sql) -> Sql:
        return every([self, other])

    def __or__(self, other: Sql) -> Sql:
        return some([self, other])

    def __neg__(self) -> Sql:
        return Sql(f"- {self.within(_ATOM)}", self.type, self.tables, _PRODUCT)

    @property
    def known(self) -> Sql:
        """Whether it is something."""
        return Sql(f"{self.within(_ORDER)} IS NOT NULL", "BOOLEAN", self.tables, _EQUAL)

    def _related(self, sign: str, other: Sql, level: int) -> Sql:
        text = f"{self.within(level + 1)} {sign} {other.within(level + 1)}"
        return Sql(text, "BOOLEAN", self.tables | other.tables, level)

    def _computed(self, sign: str, other: Sql, level: int) -> Sql:
        whole = self.type == other.type == "INTEGER"
        text = f"{self.within(level)} {sign} {other.within(level + 1)}"
        return Sql(text, "INTEGER" if whole else "REAL", self.tables | other.tables, level)


def column(table: str, name: str, kind: str) -> Sql:
    """A column of a table."""
    return Sql(f"{table}.{quoted(name)}", kind, frozenset({table}))


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: float | str | bool | None) -> Sql:
    """A value that is written out."""
    if value is None:
        return Sql("NULL", "NUMERIC")
    if isinstance(value, bool):
        return Sql(str(int(value)), "BOOLEAN")
    if isinstance(value, str):
        # No text of SQL holds a zero byte.
        plain = "'" + value.replace("'", "''") + "'"
        return Sql(f"CAST(x'{value.encode().hex()}' AS TEXT)" if "\0" in value else plain, "TEXT")
    # SQLite reads what is beyond its largest number as that without an end.
    text = repr(value).replace("inf", "9e999")
    return Sql(text, "INTEGER" if isinstance(value, int) else "REAL")


def every(conditions: Sequence[Sql]) -> Sql:
    """Whether all of `conditions` hold; of none, that is so."""
    return _joined("AND", conditions, _AND) if conditions else literal(True)


def some(conditions: Sequence[Sql]) -> Sql:
    """Whether at least one of `conditions` holds."""
    return _joined("OR", conditions, _OR) if conditions else literal(False)


def _joined(word: str, conditions: Sequence[Sql], level: int) -> Sql:
    """Conditions with a word between: as a tree, for SQLite bears no nest of a thousand."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    first, second = (_joined(word, part, level) for part in (conditions[:half], conditions[half:]))
    text = f"{first.within(level)} {word} {second.within(level + 1)}"
    return Sql(text, "BOOLEAN", first.tables | second.tables, level)


def either(condition: Sql, value: Sql, otherwise: Sql) -> Sql:
    """`value` where `condition` holds."""
    text = f"CASE WHEN {condition.text} THEN {value.text} ELSE {otherwise.text} END"
    kind = value.type if value.type == otherwise.type else "REAL"
    return Sql(text, kind, condition.tables | value.tables | otherwise.tables)


class Columns:
    """Columns as what expressions are computed with."""

    def __init__(
        self,
        resolve: Callable[[str], Term | None],
        unknown: Callable[[str], str],
    ) -> None:
        """`resolve` gives the column of a name, and `unknown` complains that there is none."""
        self._resolve = resolve
        self.unknown = unknown
        self.used: dict[str, None] = {}
        """Names of columns that were asked for."""

    def constant(self, value: float | str | bool | None) -> Sql:
        return literal(value)

    def named(self, name: str) -> Term | None:
        term = self._resolve(name)
        if term is not None:
            self.used[name] = None
        return term

    def divided(self, value: Sql, by: Sql) -> Sql:
        # What is divided by zero is nothing in SQLite, too.
        text = f"CAST({value.text} AS REAL) / {by.within(_ATOM)}"
        return Sql(text, "REAL", value.tables | by.tables, _PRODUCT)

    def every(self, conditions: list[Sql]) -> Sql:
        return every(conditions)

    def some(self, conditions: list[Sql]) -> Sql:
        return some(conditions)

    def negated(self, condition: Sql) -> Sql:
        return Sql(f"NOT {condition.within(_NOT)}", "BOOLEAN", condition.tables, _NOT)

    def is_nothing(self, value: Sql) -> Sql:
        return Sql(f"{value.within(_ORDER)} IS NULL", "BOOLEAN", value.tables, _EQUAL)

    def contains(self, text: Sql, part: Sql) -> Sql:
        found = f"instr({text.text}, {part.text})"
        return Sql(f"{found} > 0", "BOOLEAN", text.tables | part.tables, _ORDER)

    def matches(self, text: Sql, pattern: str) -> Sql:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(str(error)) from None
        called = f"matches({literal(pattern).text}, {text.text})"
        return Sql(called, "BOOLEAN", text.tables)

    def called(self, call: Call) -> Term:
        if call.function not in _FUNCTIONS or not call.arguments:
            raise ValueError(f"the functions are {', '.join(_FUNCTIONS)}")
        values: list[Sql] = [term.value for term in call.numbers()]
        if call.function == "abs" and len(values) != 1:
            raise ValueError("`abs` takes one number")
        text = f"{_FUNCTIONS[call.function]}({', '.join(value.text for value in values)})"
        kind = "INTEGER" if all(value.type == "INTEGER" for value in values) else "REAL"
        tables = frozenset[str]().union(*(value.tables for value in values))
        return Term(Sql(text, kind, tables), "number", dimensions=call.common())

    def element(self, vector: Sql, index: int) -> Sql:
        raise ValueError("a column has no elements")


def prepare(connection: sqlite3.Connection) -> None:
    """Gives `connection` the functions that SQLite lacks."""
    connection.create_function("matches", 2, _matches, deterministic=True)
    connection.create_function("least", -1, _of_known(min), deterministic=True)
    connection.create_function("most", -1, _of_known(max), deterministic=True)


def _matches(pattern: str, text: str | None) -> bool | None:
    return None if text is None else re.search(pattern, text) is not None


def _of_known(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(*values: float | None) -> float | None:
        known = [value for value in values if value is not None]
        return function(known) if known else None

    return of
