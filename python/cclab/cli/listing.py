"""`cclab list`: the names that studies and results use."""

from __future__ import annotations

import json as json_text
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cclab import _core
from cclab.cli import options
from cclab.cli.console import note, print_json, show, stdout

_COLUMNS = ("name", "unit", "summary", "definition", "params", "reference")


class What(StrEnum):
    """What can be listed."""

    variants = "variants"
    qdiscs = "qdiscs"
    stacks = "stacks"
    studies = "studies"
    metrics = "metrics"


def listing(
    what: Annotated[What, typer.Argument(help="What to list.")], json: options.Json = False
) -> None:
    """List what this version has: variants, qdiscs, stacks, studies, metrics."""
    rows = _studies() if what is What.studies else _core_rows(what)
    if json:
        print_json({"schema": f"cclab-{what}/1", str(what): rows})
        return
    if not rows:
        note(f"no {what} here")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0]:
        table.add_column(key)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    show(stdout(), table)


def _core_rows(what: What) -> list[dict[str, object]]:
    source = {
        What.variants: _core.variants,
        What.qdiscs: _core.qdiscs,
        What.stacks: _core.stacks,
        What.metrics: _core.metrics,
    }[what]
    rows: list[dict[str, object]] = json_text.loads(source())
    return [{key: row[key] for key in _COLUMNS if key in row} for row in rows]


def _studies() -> list[dict[str, object]]:
    """The study files of the folder at hand: `studies/NAME/study.toml` and `examples/*.toml`."""
    rows: list[dict[str, object]] = []
    files = [*Path("studies").glob("*/study.toml"), *Path("examples").glob("*.toml")]
    for file in sorted(files):
        try:
            written = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        title, question = written.get("title"), written.get("question")
        rows.append({"file": str(file), "title": title, "question": question})
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
