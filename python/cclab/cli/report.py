"""`cclab report`: tables, figures and the page, from a results folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cclab import report as reports
from cclab.api import load
from cclab.cli import options
from cclab.cli.console import count, note, print_json, print_table, print_warnings
from cclab.errors import DamageError, InputError
from cclab.report import tables
from cclab.store import Store


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    json: options.Json = False,
) -> None:
    """Write tables, SVG figures and one offline page from a results folder alone."""
    store = Store(folder)
    plan = store.plan()
    found = store.survey(plan)
    if found.damaged:
        raise DamageError(folder, [run.id for run in found.damaged])
    planned = count(len(plan.runs), "run")
    if not found.sound:
        raise InputError(f"{folder} holds none of its {planned}; run the study first")
    if found.absent:
        note(f"{len(found.absent)} of {planned} missing; `cclab run` goes on with them")
    measured = load(folder)
    page = reports.write(measured, folder / "report")
    if json:
        print_json(measured.document())
    else:
        print_table(plan.title, tables.table(measured))
        others = tables.traffic(measured)
        if others is not None:
            print_table("Cross traffic", others)
    print_warnings(measured.warnings)
    note(f"report: {page}")
