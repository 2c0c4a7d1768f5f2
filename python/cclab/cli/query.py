"""`cclab query`: rows of a results folder that a condition chooses."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cclab import whole
from cclab.cli import choices, options
from cclab.cli.console import complain, count, note, print_csv, print_json, tell
from cclab.cli.exits import RUN_FAILED
from cclab.errors import DamagedRunsError, InputError
from cclab.late import late
from cclab.queries import Question, kinds, plans, question
from cclab.queries.columns import split
from cclab.store import Store
from cclab.store.folder import RESULTS
from cclab.store.index import Index
from cclab.store.index.tables import PLAN
from cclab.tabular import Table

if TYPE_CHECKING:
    from cclab.cli import drawn
    from cclab.queries import frames
    from cclab.queries.answer import Answer
else:
    frames = late("cclab.queries.frames")
    drawn = late("cclab.cli.drawn")

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
            autocompletion=choices.folders,
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
        typer.Option(
            metavar="T",
            help="What a row is: runs, flows, groups, traffic or probes.",
            autocompletion=choices.of(lambda: question.TABLES),
        ),
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
    chosen = None if columns is None else split(columns)
    if columns is not None and not chosen:
        raise InputError("--columns names none")
    # A table of another name is refused by whoever is asked.
    if list_:
        _print_kinds(kinds(folder, table, told=_tell_reading))  # type: ignore[arg-type]
        return
    asked = Question(
        where,
        chosen,
        table,  # type: ignore[arg-type]
        every,
        pool,
        split(group_by or ""),
        sort,
        limit,
    )
    answer = asked.answer(folder, _tell_reading)
    if not pool:
        _tell_plans(folder, answer)
    if json:
        rows = [dict(zip(answer.names, row, strict=True)) for row in answer.rows()]
        print_json({"schema": "cclab-query/1", "table": table, "rows": rows})
    elif csv or parquet is not None:
        _write(answer, parquet)
    else:
        _print(answer, folder, "group" if group_by else table.removesuffix("s"), limit)
    if not (json or csv or parquet is not None or limit == 0 or answer.count()):
        _tell_values(asked, folder)
    _tell_unread(folder, answer)


def _tell_values(asked: Question, folder: Path) -> None:
    """What there is in the columns of a condition that holds nowhere."""
    for name, values in asked.values(folder).items():
        note(f"  {name}: {values}")


def _tell_unread(folder: Path, answer: Answer) -> None:
    """Exits with 3 if runs have no rows since they cannot be read, and names them."""
    unread = Index(Store(folder)).unread(answer.source.connection)
    if unread:
        complain(str(DamagedRunsError(folder, unread, "they have no rows")))
        raise typer.Exit(RUN_FAILED)


def _tell_plans(folder: Path, answer: Answer) -> None:
    """Which plans the rows are of, where they are of several."""
    seen = [plan for plan in answer.distinct(PLAN) if plan is not None]
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
    stores = sorted(plan.parent for plan in RESULTS.glob("*/plan.json"))
    if len(stores) == 1:
        return stores[0]
    if not stores:
        raise InputError("no results folder in results/; `cclab query DIR EXPR` names one")
    raise InputError(
        f"{count(len(stores), 'results folder')} in results/; `cclab query DIR EXPR` names one of "
        + ", ".join(map(str, stores))
    )


def _write(answer: Answer, file: Path | None) -> None:
    """The rows as Parquet into `file`, or as CSV to standard output."""
    rows = frames.frame(answer)
    if file is None:
        print_csv(rows.write_csv())
        return
    content = io.BytesIO()
    rows.write_parquet(content)
    whole.file(file, content.getvalue())
    note(f"{count(rows.height, 'row')}: {file}")


def _print(answer: Answer, folder: Path, row: str, limit: int | None) -> None:
    shown = answer.rows(None if limit is not None else _MOST_ROWS)
    rows = len(shown) if len(shown) < _MOST_ROWS or limit is not None else answer.count()
    if not rows and limit != 0:
        note(f"no {row} in {folder} for which it holds")
        return
    numeric = [kind not in ("TEXT", "BOOLEAN") for kind in answer.types]
    cells = [[[_cell(value) for value in row]] for row in shown]
    title = f"{count(rows, 'row' if row == 'traffic' else row)} of {folder}"
    # Where the table is folded, each part names its rows: the run, its seed and the flow, if all of
    # them begin a row.
    keys = 2 if answer.names[2:3] == ["name"] else 0
    drawn.print_table(title, Table(answer.names, numeric, cells, keys, 0))
    hidden = rows - len(shown)
    if hidden:
        note(f"{len(shown)} of {rows} rows; --limit N, --csv and --json show more")


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
    note(f"making the index again: reading {count(runs, 'run')}")
