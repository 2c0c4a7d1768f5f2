"""`cclab evaluate`: a variant by the criteria of a suite, such as RFC 9743: a card of evidence."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD

from cclab import machine, shown
from cclab.cli import choices, options
from cclab.cli.console import count, note, print_json, tell
from cclab.cli.drawn import Grid, show, stdout, styled
from cclab.cli.exits import EXPECTATION_FAILED
from cclab.cli.progress import SweepProgress, duration
from cclab.errors import InputError
from cclab.evaluation.since import ABSENT
from cclab.execute import estimate
from cclab.execute.backends import backend as backend_called
from cclab.late import late
from cclab.plan import companions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab import evaluation
    from cclab.evaluation import told
    from cclab.evaluation.card import Card
    from cclab.evaluation.runs import Planned
else:
    evaluation = late("cclab.evaluation")
    told = late("cclab.evaluation.told")

_STYLES = {
    "meets": "green",
    "no worse than standard": "green",
    "fails": "red",
    "worse than standard": "red",
    "undecided": "yellow",
}


def evaluate(
    variant: Annotated[
        str,
        typer.Argument(
            metavar="VARIANT",
            help="A variant, or the path of a file of one.",
            autocompletion=choices.of(choices.variants),
        ),
    ],
    suite: Annotated[
        str,
        typer.Option(
            metavar="NAME|DIR",
            help="A suite (`cclab list suites`), or its folder.",
            autocompletion=choices.of(choices.suites),
        ),
    ] = "rfc9743",
    against: Annotated[
        str | None,
        typer.Option(
            metavar="cubic,reno",
            help="The standards; the suite's own if not given.",
            autocompletion=choices.listed(choices.variants),
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The short form of the suite: minutes.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="5.2,7.1",
            help="Judge only lines whose ids begin so (`cclab list suites NAME`).",
            autocompletion=choices.lines,
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of an earlier card: exit with 1 if a line became worse.",
            autocompletion=choices.cards,
        ),
    ] = None,
    backend: options.Backend = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Runs and card; results/evaluate/SUITE/VARIANT if not given."
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            parser=options.whole("--repeat", 2, 2**32 - 1),
            metavar="N",
            help="Seeds of each setting, instead of the suite's.",
        ),
    ] = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    json: options.Json = False,
) -> None:
    """Evaluate a variant by the criteria of a suite, such as RFC 9743: a card with evidence."""
    scheduler = options.scheduler(cluster)
    standards, lines = _listed("--against", against), _listed("--only", only)
    able: list[Planned] = []
    forecasts: list[estimate.Forecast] = []

    def announce(planned: Sequence[Planned]) -> None:
        able.extend(each for each in planned if not each.refusals)
        if able:
            forecasts.append(_announce(able, jobs))

    with ExitStack() as stack:

        def listener(planned: Planned, stack: ExitStack = stack) -> SweepProgress:
            stack.close()
            runs = count(len(planned.plan.runs), "run")
            beside = len(companions.of(planned.plan).runs)
            runs += f", and {beside} of each flow alone" if beside else ""
            nth = able.index(planned)
            left = forecasts[0].left_s(nth)
            rest = f"; about {duration(left)} left in all" if left is not None else ""
            named = f"{planned.scenario.name}: {planned.scenario.title}"
            note(f"{nth + 1} of {len(able)}: {named}, {runs}{rest}")
            return stack.enter_context(SweepProgress())

        card = evaluation.evaluate(
            variant,
            suite=suite,
            against=standards,
            quick=quick,
            only=lines,
            since=since,
            out=out,
            backend=backend,
            repeat=repeat,
            seed=seed,
            jobs=jobs,
            cluster=scheduler,
            listener=listener,
            announce=announce,
        )
    if json:
        print_json(card.document())
    else:
        _print(card)
    note(f"card: {card.folder / 'index.html'}")
    if not card.met:
        raise typer.Exit(EXPECTATION_FAILED)


def _announce(able: Sequence[Planned], jobs: int | None) -> estimate.Forecast:
    """What is to run, and between which times that takes, so many `jobs` at a time."""
    backend, cpus = backend_called(able[0].plan.backend), machine.cpus()
    thought, every, missing = [], 0, 0
    for each in able:
        runs = [*each.plan.runs, *companions.of(each.plan).runs]
        there = each.store.ids()
        absent = [run for run in runs if run.id not in there]
        thought.append(estimate.seconds_of_all(absent, backend, min(jobs or cpus, cpus)))
        every, missing = every + len(runs), missing + len(absent)
    told = f"{count(len(able), 'scenario')}, {count(every, 'run')}"
    if missing < every:
        told += f", {missing} of them to be done"
    if missing:
        # How busy other processes keep the processors, over the last minute.
        span = estimate.Span.of(sum(thought), cpus, os.getloadavg()[0])
        told += f": {duration(span.least)} on idle processors, up to {duration(span.most)} on these"
    note(told)
    return estimate.Forecast(thought)


def _listed(option: str, given: str | None) -> list[str]:
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    if given is not None and not names:
        raise InputError(f"{option} names nothing")
    return names


def _print(card: Card) -> None:
    form = ", short form" if card.quick else ""
    stdout().print(
        styled(f"\n{shown.line(card.subject.name)}: {card.suite.says.title}{form}", "bold"),
        soft_wrap=True,
    )
    table = Grid(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 1))
    table.add_column("line", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("it", min_width=14)
    table.add_column("verdict", min_width=12)
    table.add_column("because", min_width=24)
    for line in card.lines:
        c = line.criterion
        verdict = styled(line.verdict, _STYLES.get(line.verdict, ""))
        table.add_row(c.id, c.obligation, c.text, verdict, told.why(line))
    console = stdout()
    console.width = min(console.width, 150)
    show(console, table)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in card.counts.items() if number)
    tell(counts)
    for remark in card.remarks:
        tell(remark)
    absent = card.suite.says.absent
    if absent:
        ids = ", ".join(each.id for each in absent)
        tell(f"Not evaluated, as the suite has no line for it: {ids}; the card says why.")
    if card.changes is None:
        return
    worse = [change for change in card.changes if change.worse]
    for change in worse:
        beside = "no line of the earlier card" if change.before == ABSENT else "worse than before"
        tell(f"{beside}: {change.id}: {change.why}")
    lost = [change for change in card.changes if change.lost]
    for change in lost:
        tell(f"no longer evaluated: {change.id}: {change.why}")
    both = [change for change in card.changes if change.before != ABSENT]
    lines = count(len(both), "line")
    became = sum(change.worse for change in both) or "none"
    gone = f", {len(lost)} could not be evaluated again" if lost else ""
    tell(f"since the earlier card: of {lines} in both, {became} became worse{gone}")
