"""Cells as the rows of tables: the columns and their types come from the rows, not from a list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from cclab.store.index import columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.store.folder import Told

KEYS = {
    "runs": ("run",),
    "flows": ("run", "flow"),
    "groups": ("run", "place"),
    "traffic": ("run", "source"),
    "probes": ("run", "probe"),
}
"""The tables, and what tells the rows of each apart."""

PLAN = "plan"
"""The column that says which plan a run is of."""

RECORD = {
    "run": "TEXT",
    "backend": "TEXT",
    "version": "TEXT",
    "seed": "INTEGER",
    PLAN: "TEXT",
    "sha256": "TEXT",
    "bytes": "INTEGER",
}
"""The first columns of runs, whatever they are of; `sha256` is the digest of the run's file."""

VOID = "NUMERIC"
"""The type of a column in which no row has anything."""

_LARGEST = 2**63 - 1

_OF_USERS = "cc_params."
"""What the names of columns begin with that users' files name."""


class MixedError(Exception):
    """A column is of two kinds in two parts: it is one of texts, which all rows together decide."""


class Asked(msgspec.Struct):
    """What `run.json` says."""

    id: str
    scenario: msgspec.Raw
    seed: int
    backend: str
    version: str


@dataclass(frozen=True)
class Table:
    """Rows of a table."""

    types: dict[str, str]
    """The type of each column, in SQLite's words."""
    rows: list[tuple[Any, ...]]


def made_of(runs: Iterable[tuple[str, Asked, Told, str]]) -> dict[str, Table]:
    """The tables of `runs`, given with what was asked, what their files say, and their metrics.

    What a file says must be of a run: one that does not has no row.
    """
    known: dict[bytes, columns.Levels] = {}
    cells: dict[str, list[columns.Cells]] = {table: [] for table in KEYS}
    decode = msgspec.json.decode
    for run, asked, told, metrics in runs:
        try:
            scenario = bytes(asked.scenario)
            levels = known.get(scenario)
            if levels is None:
                levels = known[scenario] = columns.of_scenario(decode(scenario))
            measured = columns.of_metrics(decode(metrics))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            continue  # it says nothing, and so has no row
        record = {
            "run": run,
            "backend": asked.backend,
            "version": asked.version,
            "seed": asked.seed,
            PLAN: None,
            "sha256": told.sha256,
            "bytes": told.bytes,
        }
        cells["runs"].append(levels.run | measured.run | record)
        for table, of_asked, of_measured in (
            ("flows", levels.flows, measured.flows),
            ("traffic", levels.traffic, measured.traffic),
            ("probes", levels.probes, measured.probes),
        ):
            key = KEYS[table][1]
            both = enumerate(zip(of_asked, of_measured, strict=False))
            cells[table] += [{"run": run, key: index} | a | b for index, (a, b) in both]
        places = enumerate(measured.groups)
        cells["groups"] += [{"run": run, "place": place} | group for place, group in places]
    return {table: tabulate(rows, table) for table, rows in cells.items()}


def tabulate(cells: list[columns.Cells], table: str) -> Table:
    """One row per element of `cells`: a column per key, the table's own first."""
    names: dict[str, None] = {}
    for row in cells:
        names.update(dict.fromkeys(row))
    types, values = {}, []
    for name in order(names, table):
        kind, column = _typed([row.get(name) for row in cells])
        declared = first_columns(table).get(name, kind)
        # Of seeds, some pass what SQLite has as whole numbers.
        types[stored(name)] = kind if (declared, kind) == ("INTEGER", "REAL") else declared
        values.append(column)
    return Table(types, list(zip(*values, strict=True)))


def stored(name: str) -> str:
    """What the column of a cell is called in the database.

    SQLite does not tell `cc_params.C` from `cc_params.c`, which parameters of users' variants may
    be: behind a name with capitals their places follow, `cc_params.C#0`.
    """
    if not name.startswith(_OF_USERS):
        return name
    own = name.removeprefix(_OF_USERS)
    capitals = [str(place) for place, letter in enumerate(own) if letter != letter.lower()]
    return f"{name}#{','.join(capitals)}" if capitals else name


def spoken(column: str) -> str:
    """What the column of the database is called by those who ask; see `stored`."""
    return column.partition("#")[0] if column.startswith(_OF_USERS) else column


def first_columns(table: str) -> dict[str, str]:
    """The columns that a table has in any case, with their types."""
    return RECORD if table == "runs" else dict(zip(KEYS[table], ("TEXT", "INTEGER"), strict=True))


def order(names: Iterable[str], table: str) -> list[str]:
    """The one order of columns: those that a table has in any case, then by the alphabet."""
    first = first_columns(table)
    return [*first, *sorted(set(names) - first.keys())]


def common(before: dict[str, str], added: dict[str, str], table: str) -> dict[str, str]:
    """The columns of both. Raises `MixedError` if one is of two kinds that do not go together."""
    types = {}
    for name in order([*before, *added], table):
        kinds = {before.get(name, VOID), added.get(name, VOID)} - {VOID}
        if kinds == {"INTEGER", "REAL"}:
            types[name] = "REAL"
        elif len(kinds) > 1:
            raise MixedError(name)
        else:
            types[name] = kinds.pop() if kinds else VOID
    return types


def _typed(values: list[Any]) -> tuple[str, list[Any]]:
    """The type of a column, and its values as that."""
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds:
        return VOID, values
    if kinds == {bool}:
        return "BOOLEAN", values
    if kinds == {str}:
        return "TEXT", values
    if kinds == {int} and max(abs(v) for v in values if v is not None) <= _LARGEST:
        return "INTEGER", values
    if kinds <= {int, float}:
        return "REAL", [None if v is None else float(v) for v in values]
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return "TEXT", texts
