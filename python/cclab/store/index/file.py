"""The index as one file: an SQLite database with the SHA-256 of its bytes behind it.

SQLite does not look behind the last page of a database, so that every program that reads SQLite
reads the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from typing import TYPE_CHECKING, Any

from cclab.store import disk
from cclab.store.folder import digest_of_names
from cclab.store.index.tables import KEYS, PLAN, Table, common, first_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

RUNS = "runs"
"""What the table `about` calls the digest of the names of the runs."""

_DIGITS = 64

PLANS = ("file", "name", "title", "points", "runs", "present")
"""The columns of the table of plans."""


def opened(path: Path) -> sqlite3.Connection | None:
    """The database in the file `path`, to be read; None if there is none that is as it was written.

    It is read once, whole, so that what is asked is what was compared with the digest, and a file
    that another machine replaces meanwhile is nobody's trouble.
    """
    try:
        content = disk.read(path)
        end = len(content) - _DIGITS
        if (
            end <= 0
            or hashlib.sha256(memoryview(content)[:end]).hexdigest() != content[end:].decode()
        ):
            return None
        connection = in_memory(content)
        # Tables with their keys, and nothing that computes when it is asked.
        kinds = {kind for (kind,) in connection.execute("SELECT type FROM sqlite_schema")}
        connection.execute("SELECT count(*) FROM about")
    except (OSError, ValueError, sqlite3.Error):
        return None
    return connection if kinds <= {"table", "index"} else None


def in_memory(content: bytes) -> sqlite3.Connection:
    """The database that `content` is."""
    connection = _connected()
    connection.deserialize(memoryview(content)[:-_DIGITS])
    return connection


def runs_of(connection: sqlite3.Connection) -> set[str]:
    """The runs that have rows."""
    return {run for (run,) in connection.execute("SELECT run FROM runs")}


def runs_in(path: Path) -> set[str]:
    """The runs that have rows in the file `path`; none if it is not as it was written."""
    connection = opened(path)
    if connection is None:
        return set()
    with contextlib.closing(connection):
        return runs_of(connection)


def types(connection: sqlite3.Connection, table: str, schema: str = "main") -> dict[str, str]:
    """The columns of a table with their types."""
    told = connection.execute("SELECT name, type FROM pragma_table_info(?, ?)", (table, schema))
    return dict(told.fetchall())


def built(
    fresh: Iterable[Mapping[str, Table]],
    kept: sqlite3.Connection | None,
    plan_of: Mapping[str, str],
    plans: Iterable[tuple[Any, ...]],
    about: Mapping[str, str],
) -> bytes:
    """The file of the runs in the parts `fresh` and of those in the database `kept`; `plan_of` says
    which plan each run is of.

    The bytes depend on what is in it alone, not on which of it was kept. Raises `MixedError` if a
    column is of two kinds.
    """
    with contextlib.closing(_connected()) as connection:
        connection.execute("ATTACH ':memory:' AS fresh")
        parts: dict[str, list[tuple[str, dict[str, str]]]] = {table: [] for table in KEYS}
        if kept is not None:
            connection.execute("ATTACH ':memory:' AS kept")
            connection.deserialize(kept.serialize(), name="kept")
            for table, found in parts.items():
                found.append((f"kept.{table}", types(connection, table, "kept")))
        for number, part in enumerate(fresh):
            for table, added in part.items():
                place = f"fresh.{table}_{number}"
                connection.execute(f"CREATE TABLE {place} ({_declared(added.types)})")
                connection.executemany(_insertion(place, len(added.types)), added.rows)
                parts[table].append((place, added.types))
        connection.execute("CREATE TABLE fresh.plan_of (run TEXT PRIMARY KEY, plan TEXT)")
        connection.executemany("INSERT INTO fresh.plan_of VALUES (?, ?)", plan_of.items())
        connection.execute("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT)")
        connection.executemany("INSERT INTO about VALUES (?, ?)", sorted(about.items()))
        connection.execute(f"CREATE TABLE plans ({', '.join(PLANS)})")
        connection.executemany(_insertion("plans", len(PLANS)), plans)
        for table, found in parts.items():
            _fill(connection, table, found)
        _sum_up(connection)
        content = connection.serialize()
    return content + hashlib.sha256(content).hexdigest().encode()


def _fill(
    connection: sqlite3.Connection, table: str, parts: Sequence[tuple[str, dict[str, str]]]
) -> None:
    """Makes `table` of the rows of `parts`, tables with their columns, in one order."""
    every = first_columns(table)
    for _, there in parts:
        every = common(every, there, table)
    rows = " UNION ALL ".join(
        f"SELECT {cells} FROM {place}"
        for place, there in parts
        for cells in [", ".join(_quoted(n) if n in there else "NULL" for n in every)]
    )
    columns = [
        "(SELECT plan FROM fresh.plan_of AS of_run WHERE of_run.run = both.run)"
        if name == PLAN and table == "runs"
        else _quoted(name)
        for name in every
    ]
    first, *more = KEYS[table]
    key = f", PRIMARY KEY ({first})" if not more else ""
    connection.execute(f"CREATE TABLE main.{table} ({_declared(every)}{key})")
    connection.execute(
        f"WITH both({listed(every)}) AS ({rows}) INSERT INTO main.{table} "
        f"SELECT {', '.join(columns)} FROM both ORDER BY {', '.join(KEYS[table])}"
    )


def _sum_up(connection: sqlite3.Connection) -> None:
    """What is asked of all runs again and again, and which names they have."""
    warm = "warmup > 0" if "warmup" in types(connection, "runs") else "0"
    connection.execute(
        "CREATE TABLE totals AS SELECT backend, version, plan, "
        f"{warm} AS warm, count(*) AS runs, sum(bytes) AS bytes "
        "FROM runs GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
    names = "".join(
        f"{run}\0" for (run,) in connection.execute("SELECT run FROM runs ORDER BY run")
    )
    connection.execute(
        "INSERT INTO about VALUES (?, ?)", (RUNS, digest_of_names(os.fsencode(names)))
    )


def listed(names: Iterable[str]) -> str:
    """Columns as SQL names them."""
    return ", ".join(map(_quoted, names))


def _declared(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns.items())


def _insertion(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _connected() -> sqlite3.Connection:
    # Polars reads in threads of its own, one at a time.
    return sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
