"""A question to a results folder, and how its index answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from cclab import shown
from cclab.errors import InputError
from cclab.expressions import Term
from cclab.late import late
from cclab.plan.plan import short_key
from cclab.queries import columns as names
from cclab.queries import swept
from cclab.queries.answer import Answer, Source
from cclab.queries.expression import condition, found, kind_of, used_in
from cclab.queries.sql import column, prepare
from cclab.store import Store
from cclab.store.index import Index, file
from cclab.store.index.dimensions import UNITS
from cclab.store.index.tables import PLAN
from cclab.store.planned import check_is_store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab.queries import groups
else:
    groups = late("cclab.queries.groups")

Table = Literal["runs", "flows", "groups", "traffic", "probes"]

TABLES: tuple[Table, ...] = get_args(Table)
"""What there is a row of: a run, a flow of a run, a group of flows of a run, a source of cross
traffic of a run."""


_FEW = 12
"""Words of a column at most that are told where none is the one that was asked for."""


@dataclass(frozen=True)
class Question:
    """What is asked; see `cclab.query`."""

    where: str | None = None
    columns: Sequence[str] | None = None
    table: Table = "flows"
    every: bool = False
    pool: bool = False
    group_by: Sequence[str] = ()
    sort: str | None = None
    limit: int | None = None

    def answer(self, folder: str | Path, heard: Callable[[int], None] | None = None) -> Answer:
        """What the results folder has to say; `heard` hears how many runs its index lacks.

        Raises `InputError` for wrong input and `StoreError` if `folder` is not a results folder.
        """
        source, wide, totals = self._rows(folder, heard)
        try:
            return self._answered(source, wide, totals)
        except InputError:
            # What no table has may be a key that is swept; to read the plans of many runs takes
            # as long as most questions.
            wider = _with_swept(wide, Store(folder), source.connection)
            if wider is None:
                raise
            return self._answered(source, wider, totals)

    def _answered(self, source: Source, wide: names.Wide, totals: _Totals) -> Answer:
        plan = column("runs", PLAN, "TEXT")
        if self.where is not None:
            source = source.where(condition(self.where, wide.terms))
        apart = False
        if totals.plans > 1 and not self.pool:
            seen = source.where(plan.known).select(f"DISTINCT {plan.text}", [plan], "LIMIT 2")
            apart = len(seen) > 1
        if self.group_by:
            first = [PLAN] if apart and PLAN not in self.group_by else []
            means = groups.grouped(source, wide, [*first, *self.group_by], self.columns)
            terms = {name: Term(v, kind_of(v.type)) for name, v in means.columns.items()}
            return self._ordered(means, terms)
        chosen = wide.chosen(self.columns, self.where, apart=apart)
        return self._ordered(Answer(source, chosen), wide.terms)

    def values(self, folder: str | Path) -> dict[str, str]:
        """What the rows have, whether the condition holds or not, in each column that it names: the
        ends of numbers with their unit, and words where there are few.

        Raises as `answer` does.
        """
        if self.where is None:
            return {}
        source, wide, _ = self._rows(folder, None)
        wide = _with_swept(wide, Store(folder), source.connection) or wide
        told = {}
        for name in used_in(self.where, wide.terms):
            term = found(name, wide.terms)
            if term is not None:
                told[name] = _values(source, term)
        return {name: values for name, values in told.items() if values}

    def _rows(
        self, folder: str | Path, heard: Callable[[int], None] | None
    ) -> tuple[Source, names.Wide, _Totals]:
        """The rows that count, before any condition, and what their columns are called."""
        connection = _connection(folder, self.table, heard)
        totals = _Totals.of(connection, every=self.every)
        wide = names.Wide.of(_types(connection, self.table), self.table, warm=totals.warm)
        source = Source(connection, self.table)
        if totals.unplanned:
            # What no plan asked for by itself, cclab added.
            source = source.where(column("runs", PLAN, "TEXT").known)
        return source, wide, totals

    def _ordered(self, answer: Answer, terms: names.Terms) -> Answer:
        if self.sort is not None:
            _, by = names.named(self.sort.removeprefix("-"), terms)
            answer = replace(answer, by=by.value, down=self.sort.startswith("-"))
        return replace(answer, most=self.limit)


def listed(given: str | Sequence[str] | None) -> Sequence[str] | None:
    """Columns one by one, of a text with commas."""
    return names.split(given) if isinstance(given, str) else given


def kinds(
    folder: str | Path, table: Table = "flows", *, told: Callable[[int], None] | None = None
) -> dict[str, str]:
    """The columns that `query` knows, and whether each is a number, a text or a condition.

    Of numbers that are known to be quantities, the unit follows: `number, seconds`.
    """
    connection = _connection(folder, table, told)
    wide = names.Wide.of(_types(connection, table), table, warm=False)
    of_swept = swept.terms(Store(folder), connection, table)
    every = of_swept | wide.terms
    keys = (key for key in of_swept if key not in wide.terms)
    return {name: _kind(every[name]) for name in (*wide.columns, *keys)}


def _with_swept(
    wide: names.Wide, store: Store, connection: sqlite3.Connection
) -> names.Wide | None:
    """The columns with the keys that the store's plans sweep; None if there are no more."""
    more = swept.terms(store, connection, wide.table)
    known = more | wide.terms
    # Tables of results leave out of keys what every study repeats.
    short = {short_key(key): known[key] for key in more if not wide.finds(short_key(key))}
    return replace(wide, terms=short | known) if more else None


def _kind(term: Term) -> str:
    unit = _unit(term)
    return f"{term.kind}, {unit}" if unit else term.kind


def _unit(term: Term) -> str:
    """The unit of a number, where it is known to be one quantity; else nothing."""
    if term.kind != "number" or len(term.dimensions) != 1:
        return ""
    return UNITS[next(iter(term.dimensions))]


def _values(source: Source, term: Term) -> str:
    """The values of a column in words; empty if there are none, or too many words."""
    if term.kind == "number":
        text = term.value.text
        [(least, most)] = source.select(f"min({text}), max({text})", [term.value])
        if least is None:
            return ""
        ends = f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
        unit = _unit(term)
        return f"{ends}, {unit}" if unit else ends
    rows = source.select(f"DISTINCT {term.value.text}", [term.value], f"LIMIT {_FEW + 1}")
    words = sorted(str(value) for (value,) in rows if value is not None)
    return ", ".join(words) if term.kind == "text" and len(words) <= _FEW else ""


def _connection(
    folder: str | Path, table: str, heard: Callable[[int], None] | None
) -> sqlite3.Connection:
    if table not in TABLES:
        raise InputError(f"no table {shown.quoted(table)}; there are {', '.join(TABLES)}")
    store = Store(folder)
    check_is_store(store)
    connection = Index(store).connection(heard)
    prepare(connection)
    return connection


def _types(connection: sqlite3.Connection, table: str) -> names.Types:
    return {name: file.types(connection, name) for name in dict.fromkeys(("runs", table))}


@dataclass(frozen=True)
class _Totals:
    """What the index says of the runs that count."""

    plans: int
    """The plans that they are of."""
    unplanned: bool
    """Whether there are some to be left out that no plan asked for by itself."""
    warm: bool
    """Whether there was a warm-up in some."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, *, every: bool) -> _Totals:
        rows = connection.execute(f"SELECT {PLAN}, max(warm) FROM totals GROUP BY 1").fetchall()
        plans = [plan for plan, _ in rows if plan is not None]
        counted = [warm for plan, warm in rows if every or plan is not None]
        return cls(len(plans), len(plans) < len(rows) and not every, any(counted))
