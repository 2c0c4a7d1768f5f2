"""Questions to a results folder: `cclab.query("results/x", "cc == 'bbr' and rtt > 50ms")`.

expression   what can be asked
columns      by which names
groups       means and intervals
plans        what the plans of a folder differ in
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from cclab.errors import InputError
from cclab.expressions import Term
from cclab.queries import columns as names
from cclab.queries import groups
from cclab.queries.expression import condition, kind_of
from cclab.store import Store
from cclab.store.index import Index
from cclab.store.index.dimensions import UNITS
from cclab.store.index.tables import PLAN
from cclab.store.planned import check_is_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab.store.index import Tables

Table = Literal["runs", "flows", "groups", "traffic", "probes"]

TABLES: tuple[Table, ...] = get_args(Table)
"""What there is a row of: a run, a flow of a run, a group of flows of a run, a source of cross
traffic of a run."""


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
    store = _store(folder, table)
    asked = _Asked(
        where, _listed(columns), table, every, pool, _listed(group_by) or (), sort, limit
    )
    return asked.of(Index(store).tables(told))


def _listed(given: str | Sequence[str] | None) -> Sequence[str] | None:
    return names.split(given) if isinstance(given, str) else given


def kinds(
    folder: str | Path, table: Table = "flows", *, told: Callable[[int], None] | None = None
) -> dict[str, str]:
    """The columns that `query` knows, and whether each is a number, a text or a condition.

    Of numbers that are known to be quantities, the unit follows: `number, seconds`.
    """
    store = _store(folder, table)
    tables = Index(store).tables(told)
    wide = names.Wide.of(tables, table)
    return {name: _kind(wide.terms[name]) for name in wide.columns}


def _kind(term: Term) -> str:
    if term.kind != "number" or len(term.dimensions) != 1:
        return term.kind
    return f"number, {UNITS[next(iter(term.dimensions))]}"


def _store(folder: str | Path, table: str) -> Store:
    if table not in TABLES:
        raise InputError(f"no table {table!r}; there are {', '.join(TABLES)}")
    store = Store(folder)
    check_is_store(store)
    return store


@dataclass(frozen=True)
class _Asked:
    """What `query` was asked."""

    where: str | None
    columns: Sequence[str] | None
    table: Table
    every: bool
    pool: bool
    group_by: Sequence[str]
    sort: str | None
    limit: int | None

    def of(self, tables: Tables) -> pl.DataFrame:
        if not self.every:
            # What no plan asked for by itself, cclab added.
            tables = replace(tables, runs=tables.runs.filter(pl.col(PLAN).is_not_null()))
        wide = names.Wide.of(tables, self.table)
        frame = wide.frame
        if self.where is not None:
            frame = frame.filter(condition(self.where, wide.terms))
        apart = not self.pool and _of_several_plans(frame)
        if self.group_by:
            plan = [PLAN] if apart and PLAN not in self.group_by else []
            found = groups.grouped(frame, wide, [*plan, *self.group_by], self.columns)
            terms = {n: Term(pl.col(n), kind_of(kind)) for n, kind in found.schema.items()}
            return self._ordered(found.lazy(), terms).collect()
        chosen = wide.chosen(self.columns, self.where, apart=apart)
        return self._ordered(frame, wide.terms).select(chosen).collect()

    def _ordered(self, frame: pl.LazyFrame, terms: names.Terms) -> pl.LazyFrame:
        if self.sort is not None:
            _, by = names.named(self.sort.removeprefix("-"), terms)
            down = self.sort.startswith("-")
            frame = frame.sort(by.value, descending=down, nulls_last=True, maintain_order=True)
        return frame if self.limit is None else frame.head(self.limit)


def _of_several_plans(frame: pl.LazyFrame) -> bool:
    """Whether rows are of several plans; what is of none is of runs that cclab added."""
    plans = frame.select(pl.col(PLAN).drop_nulls().unique().head(2)).collect()
    return plans.height > 1
