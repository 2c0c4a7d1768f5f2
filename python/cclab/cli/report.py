"""`cclab report`: tables, figures and the page, from a results folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cclab import report as reports
from cclab import results
from cclab.cli import options
from cclab.cli.console import note, print_json, print_table, print_warnings
from cclab.errors import InputError
from cclab.report import tables
from cclab.store import Store


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    json: options.Json = False,
) -> None:
    """Write tables, SVG figures and one offline page from a results folder alone."""
    store = Store(folder)
    plan = store.plan()
    damaged = [
        run.id
        for run in plan.runs
        if store.entry(run.id).exists() and not store.sound(run.id, contents=True)
    ]
    if damaged:
        raise InputError(
            f"{len(damaged)} damaged runs in {folder}, the first is {damaged[0]}; "
            "remove them and run the study again"
        )
    missing = store.missing(plan)
    if len(missing) == len(plan.runs):
        raise InputError(f"{folder} holds none of its {len(plan.runs)} runs; run the study first")
    if missing:
        note(f"{len(missing)} of {len(plan.runs)} runs are missing; `cclab run` goes on with them")
    measured = results.measure(store, plan)
    page = reports.write(measured, folder / "report")
    if json:
        print_json(measured.document())
    else:
        print_table(plan.title, tables.table(measured))
    print_warnings(measured.warnings)
    note(f"report: {page}")
