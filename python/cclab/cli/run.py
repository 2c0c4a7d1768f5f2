"""`cclab run`: run what is missing of a study, then report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cclab import api, report
from cclab.cli import options
from cclab.cli.console import complain, count, note, print_json, print_table, print_warnings
from cclab.cli.progress import SweepProgress
from cclab.errors import InputError
from cclab.report import tables
from cclab.study import Study


def run(
    study: options.StudyFile,
    backend: options.Backend = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results folder; results/NAME if not given."),
    ] = None,
    repeat: options.Repeat = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    set_: options.Set = None,
    json: options.Json = False,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Not in this version.")
    ] = None,
) -> None:
    """Run a study: what the results folder already holds is not run again."""
    if cluster is not None:
        raise InputError(options.NO_CLUSTER)
    plan = Study.load(study).plan(set=set_ or [], backend=backend, repeat=repeat, seed=seed)
    store = api.store_of(plan, out)
    found = store.survey(plan)
    if found.sound:
        planned, verb = count(len(plan.runs), "run"), "is" if len(plan.runs) == 1 else "are"
        note(f"{len(found.sound)} of {planned} {verb} in {store.path} already")
    if found.damaged:
        note(f"{count(len(found.damaged), 'damaged run')} in {store.path}: run again")
    with SweepProgress() as progress:
        measured = api.carry_out(plan, store, missing=found.missing, jobs=jobs, listener=progress)
    page = report.refresh(measured, store.path / "report")
    if json:
        print_json(measured.document())
    else:
        print_table(plan.title, tables.table(measured))
        others = tables.traffic(measured)
        if others is not None:
            print_table("Cross traffic", others)
    print_warnings(measured.warnings)
    note(f"report: {page}")
    if measured.failures:
        for failure in measured.failures:
            complain(f"expectation not met: {failure}")
        raise typer.Exit(1)
