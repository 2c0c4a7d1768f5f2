"""`cclab reproduce`: a published study run again, its numbers beside ours, a verdict per claim."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD

from cclab import shown
from cclab.cli import choices, options
from cclab.cli.console import count, note, print_json, tell
from cclab.cli.drawn import Grid, show, stdout, styled
from cclab.cli.progress import SweepProgress, duration
from cclab.errors import InputError
from cclab.late import late

if TYPE_CHECKING:
    from cclab import reproduction
    from cclab.reproduction import Reproduced, page
    from cclab.reproduction.judge import Judged
    from cclab.reproduction.runs import Planned
else:
    reproduction = late("cclab.reproduction")
    page = late("cclab.reproduction.page")

_STYLES = {
    "reproduced": "green",
    "confirmed": "green",
    "not reproduced": "red",
    "refuted": "red",
    "not supported by its set-up": "yellow",
    "open": "yellow",
}


def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            metavar="NAME|all",
            help="A study of studies/, its folder, or all.",
            autocompletion=choices.of(choices.published),
        ),
    ],
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="B",
            help="The only backend to run on.",
            autocompletion=choices.of(choices.backends),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results folder; results/reproduce if not given."),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="The form that takes seconds: a test, no result.")
    ] = False,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Run a published study again: its printed numbers beside ours, a verdict for each claim."""
    wanted = reproduction.names() if study == "all" else [study]
    if not wanted:
        raise InputError(f"no published study in {reproduction.file.STUDIES}/ of this folder")
    # Every file is read before the first run, which may take long.
    for name in wanted:
        reproduction.load(name)
    folder = out if out is not None else reproduction.RESULTS
    if short:  # Beside the whole, not over it.
        folder = folder / "short"
    documents = []
    for name in wanted:
        with ExitStack() as stack:

            def listener(planned: Planned, stack: ExitStack = stack) -> SweepProgress:
                stack.close()
                note(f"{planned.experiment.name} on {planned.backend}")
                return stack.enter_context(SweepProgress())

            done = reproduction.reproduce(
                name, out=folder, backend=backend, short=short, jobs=jobs, listener=listener
            )
        written = page.write(done, folder)
        documents.append(done.document())
        if not json:
            _print(done)
        note(f"report: {written}")
    if len(wanted) > 1:
        note(f"all studies: {folder / page.PAGE}")
    if json:
        print_json(documents[0] if study != "all" else {"studies": documents})


def _print(done: Reproduced) -> None:
    says = done.published.says
    stdout().print(styled(f"\n{shown.line(says.title)}", "bold"), soft_wrap=True)
    if done.short:
        tell("The short form: it shows that all works. Its numbers mean nothing; no verdicts.")
    _print_verdicts("claim", done.claims)
    _print_verdicts("doubt", done.suspicions)
    described = done.document()
    for backend, cells in described["cells"].items():
        if cells["compared"] and not done.short:
            parts = [f"{n} within {100 * float(b):g}%" for b, n in cells["within"].items()]
            tell(f"{backend}: {count(cells['compared'], 'printed number')}: {', '.join(parts)}")
    ran = sum(experiment.ran for experiment in done.done)
    runs = count(sum(len(experiment.planned.plan.runs) for experiment in done.done), "run")
    tell(f"{runs}, {ran} of them now")
    for backend in done.backends:
        wall_s = sum(o.timed.wall_s for o in done.done if o.planned.backend == backend)
        tell(f"{backend}: {duration(wall_s)} of wall time, measuring included")


def _print_verdicts(what: str, judged: list[Judged]) -> None:
    if not judged:
        return
    table = Grid(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 1))
    table.add_column(what, min_width=16)
    table.add_column("backend", no_wrap=True)
    table.add_column("verdict", min_width=14)
    table.add_column("because", min_width=16)
    before = None
    for verdict in judged:
        same = verdict.subject is before
        before = verdict.subject
        few = f" ({count(verdict.seeds, 'seed')})" if verdict.preview else ""
        table.add_row(
            "" if same else verdict.subject.text,
            verdict.backend,
            styled(f"{verdict.verdict}{few}", _STYLES.get(verdict.verdict, "")),
            verdict.why,
        )
    console = stdout()
    console.width = min(console.width, 140)
    show(console, table)
