"""The keys that the plans of a store sweep, as columns: `flow.short.cc`, as the study writes it.

A key with a column of its own, such as `network.bottleneck.rate`, is that column. The others are in
no table: they are read from the plans, where a question names one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.expressions import Term
from cclab.plan import text
from cclab.queries.expression import kind_of
from cclab.queries.sql import Sql
from cclab.store.planned import asking

if TYPE_CHECKING:
    import sqlite3

    from cclab.store import Store

_TABLE = "swept"


def terms(store: Store, connection: sqlite3.Connection, table: str) -> dict[str, Term]:
    """The swept keys of each run beside the rows of `table`.

    Of a run in several plans, or at several points of one, the first counts: that of the plan last
    run. Raises as `asking` does.
    """
    runs, keys = _values(store)
    if not keys:
        return {}
    known = {key: _typed([values.get(key) for values in runs.values()]) for key in keys}
    # By their places: to SQLite names that differ in capitals alone are one.
    columns = ", ".join(f"k{place} {kind}" for place, (kind, _) in enumerate(known.values()))
    connection.execute(f"CREATE TEMP TABLE {_TABLE} (run TEXT PRIMARY KEY, {columns})")
    marks = ", ".join("?" * (len(known) + 1))
    connection.executemany(
        f"INSERT INTO {_TABLE} VALUES ({marks})",
        [
            (run, *(_cell(values.get(key), kind) for key, (kind, _) in known.items()))
            for run, values in runs.items()
        ],
    )
    of_keys = {}
    for place, (key, (kind, dimensions)) in enumerate(known.items()):
        of_run = f"(SELECT k{place} FROM {_TABLE} WHERE {_TABLE}.run = {table}.run)"
        value = Sql(of_run, kind, frozenset({table}))
        of_keys[key] = Term(value, kind_of(kind), dimensions=dimensions)
    return of_keys


def _values(store: Store) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """By the id of each run what its keys are, and every key."""
    runs: dict[str, dict[str, Any]] = {}
    keys: dict[str, None] = {}
    for plan in asking(store):
        for point in plan.points:
            keys |= dict.fromkeys(point.params)
            for run in point.runs:
                runs[run.id] = point.params | runs.get(run.id, {})
    return runs, [*keys]


def _typed(values: list[Any]) -> tuple[str, frozenset[str]]:
    """The type of the column of a key, in SQLite's words, and what its numbers are quantities of.

    Quantities of one kind are a number each; of several, as `"1bdp"` and `"100p"`, they stay words.
    """
    there = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in there):
        return "BOOLEAN", frozenset()
    if any(isinstance(value, bool) or _number(value) is None for value in there):
        return "TEXT", frozenset()
    kinds = {_core.dimension(value) for value in there if isinstance(value, str)} - {None}
    if len(kinds) > 1:
        return "TEXT", frozenset()
    whole = all(type(value) is int for value in there)
    return "INTEGER" if whole else "REAL", frozenset(kind for kind in kinds if kind)


def _number(value: Any) -> float | None:
    """The number that a value is or says, in its SI unit; None of a word, a list or a table."""
    if isinstance(value, int | float):
        return value
    return _core.number(value) if isinstance(value, str) else None


def _cell(value: Any, kind: str) -> Any:
    """A value in a column of this type."""
    if value is None:
        return None
    return text(value) if kind == "TEXT" else _number(value)
