"""`cclab run`: run what is missing of a study, then report."""

from __future__ import annotations

import errno
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cclab import api, report, sweep
from cclab.cli import ahead, failures, options
from cclab.cli.console import complain, count, note, print_json, print_tables, print_warnings
from cclab.cli.exits import EXPECTATION_FAILED, RUN_FAILED
from cclab.cli.progress import SweepProgress
from cclab.errors import RemovedError, StoreError
from cclab.report.told import Told
from cclab.sweep import RunsFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.measure.results import Results
    from cclab.store import Store


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
    every: options.EveryFlow = False,
    json: options.Json = False,
    cluster: options.Cluster = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="Do only runs whose ids begin so; may be repeated."),
    ] = None,
) -> None:
    """Run a study: what the results folder already holds is not run again."""
    scheduler = options.scheduler(cluster)
    plan = api.planned(study, set=set_ or [], backend=backend, repeat=repeat, seed=seed)
    store = api.store_of(plan, out or api.results_folder(study))
    plan = sweep.grown(plan, store)
    sweep.check_only(plan, store, only or [])
    survey = store.survey(plan)
    if survey.sound:
        planned, verb = count(len(plan.runs), "run"), "is" if len(plan.runs) == 1 else "are"
        note(f"{len(survey.sound)} of {planned} {verb} in {store.path} already")
    if survey.damaged:
        note(f"{count(len(survey.damaged), 'damaged run')} in {store.path}: run again")
    if not (survey.missing or json):
        page = store.path / "report"
        told = report.kept(plan, page)
        if told is not None and sweep.is_over(
            plan, store, missing=[], jobs=jobs, cluster=scheduler
        ):
            _tell(told, page / report.PAGE, table=True, every=every)
            failures.tell_unmet(told)
            if told.unmet:
                raise typer.Exit(EXPECTATION_FAILED)
            return
    failed: RunsFailedError | None = None
    try:
        with SweepProgress() as progress:
            measured = sweep.carry_out(
                plan,
                store,
                missing=survey.missing,
                only=only or [],
                jobs=jobs,
                cluster=scheduler,
                listener=ahead.loading(progress),
            )
    except RunsFailedError as error:
        failed, measured = error, error.results
    words: list[str | Path] = ["cclab", "run", study, "--out", store.path]
    words += ["--backend", backend] if backend is not None else []
    words += ["--repeat", str(repeat)] if repeat is not None else []
    words += ["--seed", str(seed)] if seed is not None else []
    words += [word for key in set_ or [] for word in ("--set", key)]
    if json:
        of_failed = failures.document(failed, measured.plan, words) if failed is not None else []
        print_json(measured.document() | ({"failed": of_failed} if of_failed else {}))
    # The report has it made while copies of this process draw.
    said = cache(partial(Told.of, measured))
    reported = _reported(measured, store, said) if measured.runs else None
    told = said()
    if reported is not None:
        _tell(told, reported, table=not json, every=every)
    # Failed runs first: what they leave unmeasured is unmet for that.
    if failed is not None:
        failures.tell(failed, measured.plan, words, tried_all=not only)
    failures.tell_unmet(told)
    if failed is not None:
        raise typer.Exit(RUN_FAILED)
    if told.unmet:
        raise typer.Exit(EXPECTATION_FAILED)


def _reported(measured: Results, store: Store, said: Callable[[], Told]) -> Path:
    """The page of the report, which is written unless there is one of the same results."""
    try:
        return report.refresh(measured, store.path / "report", said=said)
    except StoreError as error:
        if error.errno == errno.EROFS:
            # The runs could be written there: the disk became so since.
            complain(str(error))
            raise typer.Exit(RUN_FAILED) from None
        if store.runs.is_dir():
            raise
        raise RemovedError(store.path, 0) from error


def _tell(told: Told, page: Path, *, table: bool, every: bool) -> None:
    """The table, the doubts, and where the report is."""
    if table:
        print_tables(told, every=every)
        if told.window:
            note(told.window)
        if told.beyond:
            note(f"{told.beyond} in {page.parent / 'table.md'} and summary.csv")
    print_warnings(told.doubts)
    note(f"report: {page}")
