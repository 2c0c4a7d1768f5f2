"""`cclab query`: rows of a results folder that a condition chooses."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cclab import api
from cclab.cli import options
from cclab.cli.console import count, note, print_json, print_table, tell
from cclab.errors import InputError, StoreError
from cclab.late import late
from cclab.store import Store
from cclab.store.index.tables import PLAN

if TYPE_CHECKING:
    import polars as pl

    from cclab import queries
    from cclab.queries import columns as columns_asked
    from cclab.queries import plans
    from cclab.report import tables
else:
    queries = late("cclab.queries")
    columns_asked = late("cclab.queries.columns")
    plans = late("cclab.queries.plans")
    tables = late("cclab.report.tables")

_MOST_ROWS = 40
_LIKE_A_FOLDER = re.compile(r"[\w./-]*[A-Za-z][\w./-]*")
"""A path: nothing in it that compares, and no blank."""
_DIGITS = 6
_ENDLESS = 1e15
"""From here on, a number is easier to read with an exponent."""


def query(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR] [EXPR]",
            help="A results folder (the only one in results/ if not given) and a condition, such "
            "as 'cc == \"bbr\" and rtt > 50ms'; every row without one.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="Names, expressions or NAME = EXPRESSION, with commas between."
        ),
    ] = None,
    table: Annotated[
        str,
        typer.Option(metavar="T", help="What a row is: runs, flows, groups, traffic or probes."),
    ] = "flows",
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="A row for each group: runs, means over them, 95% intervals."
        ),
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="A", help="By this column; -A from the largest down.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(parser=options.whole("--limit", 0, 2**63 - 1), metavar="N", help="Most rows."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also runs that no study asked for by itself.")
    ] = False,
    pool: Annotated[
        bool, typer.Option("--pool", help="Let a group hold runs of several plans.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="The columns that there are, and of what kind.")
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="CSV on standard output, nothing else there.")
    ] = False,
    json: options.Json = False,
    parquet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Into a Parquet file instead.")
    ] = None,
) -> None:
    """Ask a results folder: the flows, groups, runs, traffic or probes for which a condition
    holds."""
    if csv + json + (parquet is not None) > 1:
        raise InputError("--csv, --json and --parquet: one at a time")
    folder, where = _asked(what or [])
    chosen = None if columns is None else columns_asked.split(columns)
    if columns is not None and not chosen:
        raise InputError("--columns names none")
    if list_:
        _print_kinds(queries.kinds(folder, table, told=_tell_reading))  # type: ignore[arg-type]
        return
    rows = queries.query(
        folder,
        where,
        columns=chosen,
        table=table,  # type: ignore[arg-type]
        every=every,
        pool=pool,
        group_by=columns_asked.split(group_by or ""),
        sort=sort,
        limit=limit,
        told=_tell_reading,
    )
    if not pool:
        _tell_plans(folder, rows)
    if csv:
        sys.stdout.write(rows.write_csv())
        sys.stdout.flush()
    elif json:
        print_json({"schema": "cclab-query/1", "table": table, "rows": rows.to_dicts()})
    elif parquet is not None:
        _write(rows, parquet)
    else:
        _print(rows, folder, "group" if group_by else table.removesuffix("s"), limit)


def _tell_plans(folder: Path, rows: pl.DataFrame) -> None:
    """Which plans the rows are of, where they are of several."""
    seen = rows[PLAN].drop_nulls().unique().to_list() if PLAN in rows.columns else []
    if len(seen) < 2:
        return
    note(f"the rows are of {len(seen)} plans, apart by `{PLAN}` (--pool pools them):")
    for line in plans.told(Store(folder), seen):
        note(f"  {line}")


def _asked(what: list[str]) -> tuple[Path, str | None]:
    """The results folder and the condition among the arguments."""
    if len(what) > 2:
        raise InputError(
            f"{len(what)} arguments; `cclab query [DIR] [EXPR]` takes two: quote the expression"
        )
    if len(what) == 2:
        return Path(what[0]), what[1]
    if what and Path(what[0]).is_dir():
        return Path(what[0]), None
    if what and _LIKE_A_FOLDER.fullmatch(what[0]) and "/" in what[0]:
        raise InputError(f"no folder {what[0]}")
    return _only_store(), what[0] if what else None


def _only_store() -> Path:
    """The one results folder in `results/`."""
    stores = sorted(plan.parent for plan in api.RESULTS.glob("*/plan.json"))
    if len(stores) == 1:
        return stores[0]
    if not stores:
        raise InputError("no results folder in results/; `cclab query DIR EXPR` names one")
    raise InputError(
        f"{count(len(stores), 'results folder')} in results/; `cclab query DIR EXPR` names one of "
        + ", ".join(map(str, stores))
    )


def _write(rows: pl.DataFrame, file: Path) -> None:
    try:
        rows.write_parquet(file)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}") from error
    note(f"{count(rows.height, 'row')}: {file}")


def _print(rows: pl.DataFrame, folder: Path, row: str, limit: int | None) -> None:
    shown = rows if limit is not None else rows.head(_MOST_ROWS)
    if not rows.height and limit != 0:
        note(f"no {row} in {folder} for which it holds")
        return
    numeric = [kind.is_numeric() for kind in shown.dtypes]
    cells = [[[_cell(value) for value in row]] for row in shown.iter_rows()]
    title = f"{count(rows.height, 'row' if row == 'traffic' else row)} of {folder}"
    print_table(title, tables.Table(rows.columns, numeric, cells, rows.width, 0))
    hidden = rows.height - shown.height
    if hidden:
        note(f"{shown.height} of {rows.height} rows; --limit N, --csv and --json show more")


def _print_kinds(kinds: dict[str, str]) -> None:
    width = max(map(len, kinds), default=0)
    for name, kind in kinds.items():
        tell(f"{name:{width}}  {kind}")


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        large = 10**_DIGITS <= abs(value) < _ENDLESS
        return f"{value:,.0f}" if large else f"{value:.{_DIGITS}g}"
    return str(value)


def _tell_reading(runs: int) -> None:
    note(f"the index lacks {count(runs, 'run')}: reading them")
