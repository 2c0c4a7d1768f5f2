"""`cclab compare`: the difference of two results folders, backends or variants, with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD

from cclab import sweep, units, whole
from cclab.cli import choices, options
from cclab.cli.console import count, note, print_json, print_warnings, tell
from cclab.cli.drawn import Grid, line_of, show, stdout, styled
from cclab.cli.exits import EXPECTATION_FAILED
from cclab.cli.progress import SweepProgress
from cclab.comparison import sides
from cclab.errors import InputError
from cclab.late import late
from cclab.plan import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from cclab.comparison import correction as corrections
    from cclab.comparison import demand
    from cclab.comparison import margin as margins
    from cclab.comparison import metric as measured_metrics
    from cclab.comparison import results as comparisons
    from cclab.comparison.demand import Outcome
    from cclab.comparison.margin import Margin
    from cclab.comparison.overall import Overall
    from cclab.comparison.results import Compared, Comparison, PointComparison, Side
    from cclab.comparison.sides import PlannedSide
    from cclab.drawing import style
else:
    corrections = late("cclab.comparison.correction")
    demand = late("cclab.comparison.demand")
    margins = late("cclab.comparison.margin")
    measured_metrics = late("cclab.comparison.metric")
    comparisons = late("cclab.comparison.results")
    style = late("cclab.drawing.style")

_NONE = "–"

_MOST_POINTS = 40
"""Sweep points in the tables."""

_MOST_FAULTS = 10
"""Failures that are told one by one."""


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A results folder; with --study a name.",
            autocompletion=choices.folders,
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.", autocompletion=choices.folders)],
    study: Annotated[
        Path | None,
        typer.Option(
            metavar="STUDY.toml",
            help="Run it on, or with, the two that A and B name.",
            autocompletion=choices.studies,
        ),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A flow whose variant or kernel A and B replace; all if none is given.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What to compare, such as goodput_bps.",
            autocompletion=choices.of(choices.metrics),
        ),
    ] = None,
    correction: Annotated[
        str,
        typer.Option(
            metavar="fdr|holm",
            help="How p-values are corrected for their number.",
            autocompletion=choices.of(lambda: corrections.CORRECTIONS),
        ),
    ] = "fdr",
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="5%|1pp",
            help="By how much B may be worse and still count as no worse; pp: points of fractions.",
        ),
    ] = None,
    fail_if: Annotated[
        str | None,
        typer.Option(
            metavar="worse,...",
            help="Exit with 1 if any is worse, undecided or different, all judged together.",
            autocompletion=choices.listed(lambda: demand.OUTCOMES),
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg", help="Draw the differences (svg, pdf, png)."),
    ] = None,
    backend: options.Backend = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results in DIR/A and DIR/B, not results/NAME.A and .B."),
    ] = None,
    repeat: options.Repeat = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    set_: options.Set = None,
    json: options.Json = False,
) -> None:
    """Compare two results folders, or a study on two backends, variants or kernels."""
    metrics = metric or []
    meant = measured_metrics.metric_names(metrics)
    corrected = corrections.known_correction(correction)
    allowed = None if margin is None else margins.Margin.of(margin)
    if allowed is not None:
        allowed.check(meant)
    asked_for = _listed(fail_if)
    failing = demand.outcomes(asked_for, allowed)
    if fail_if is not None and not failing:
        raise InputError("--fail-if names nothing")
    _check_figure(figure)
    if study is None:
        asked = {"--flow": flow, "--out": out, "--backend": backend, "--repeat": repeat}
        sides.refuse_without_study(asked | {"--seed": seed, "--jobs": jobs, "--set": set_})
        of_a, of_b = sides.side(a), sides.side(b)
        compared = comparisons.compare_results(
            "stores", of_a, of_b, metrics=metrics, correction=corrected, margin=allowed
        )
    else:
        pair = sides.plan_pair(
            a,
            b,
            study,
            flows=flow or [],
            out=out,
            backend=backend,
            repeat=repeat,
            seed=seed,
            set=set_ or [],
        )
        of_a, of_b = (_run(letter, s, jobs) for letter, s in (("A", pair.a), ("B", pair.b)))
        compared = comparisons.compare_results(
            pair.kind,
            of_a,
            of_b,
            metrics=metrics,
            meant=pair.meant,
            correction=corrected,
            margin=allowed,
        )
    for letter, done in (("A", of_a), ("B", of_b)):
        _tell_what_misses(letter, done)
    if json:
        print_json(compared.document())
    else:
        _print(compared)
    print_warnings(compared.warnings)
    if figure is not None:
        _write(compared, figure)
    _demand(compared, failing)


def _listed(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _check_figure(file: Path | None) -> None:
    """Raises `InputError`, before an hour of runs, if no figure can be written to `file`."""
    if file is None:
        return
    if file.suffix.lower() not in (".svg", ".pdf", ".png"):
        raise InputError(f"--figure {file}: a file that ends in .svg, .pdf or .png")
    if not file.parent.is_dir():
        raise InputError(f"--figure {file}: no folder {file.parent}")


def _write(compared: Comparison, file: Path) -> None:
    """The figure into its file."""
    drawn = style.saved(compared.figure(), file.suffix.lower().removeprefix("."))
    whole.file(file, drawn)
    note(f"figure: {file}")


def _demand(compared: Comparison, failing: Sequence[Outcome]) -> None:
    """Prints what was judged, and exits with 1 if a comparison has an outcome among `failing`."""
    if not failing:
        return
    judged = demand.judge(compared, failing)
    faults = judged.faults
    so = f"{count(len(faults), 'comparison')} came out so" if faults else "none came out so"
    asked = ",".join(failing)
    note(f"--fail-if {asked}: {so}; {count(judged.number, 'test')} judged together (Holm)")
    if not faults:
        return
    for fault in faults[:_MOST_FAULTS]:
        note(f"  {fault}")
    if len(faults) > _MOST_FAULTS:
        note(f"  and {len(faults) - _MOST_FAULTS} more")
    raise typer.Exit(EXPECTATION_FAILED)


def _run(letter: str, planned: PlannedSide, jobs: int | None) -> comparisons.Side:
    """Runs what the side's folder misses."""
    plan = sweep.grown(planned.plan, planned.store)
    survey = planned.store.survey(plan)
    runs = count(len(plan.runs), "run")
    note(
        f"{letter}, {planned.label}: {len(survey.sound)} of {runs} in {planned.store.path} already"
        if survey.sound
        else f"{letter}, {planned.label}: {runs} to do in {planned.store.path}"
    )
    with SweepProgress() as progress:
        measured = sweep.carry_out(
            plan, planned.store, missing=survey.missing, jobs=jobs, listener=progress
        )
    return comparisons.Side(planned.label, measured)


def _tell_what_misses(letter: str, side: Side) -> None:
    planned, there = len(side.results.plan.runs), len({r.run.id for r in side.results.runs})
    if there < planned:
        note(f"{planned - there} of {count(planned, 'run')} of {letter} missing: not compared")


def _print(compared: Comparison) -> None:
    everywhere = _shared_changes(compared)
    _print_sides(compared, everywhere)
    shown = _shown(compared)
    for point in shown:
        _print_point(point, everywhere, compared.margin)
    if len(shown) < len(compared.points):
        rest = count(len(compared.points) - len(shown), "more sweep point")
        tell(f"\n{rest} not shown; --json has all")
    for letter, params in (("A", compared.only_a), ("B", compared.only_b)):
        for lone in params:
            tell(f"only {letter} has runs of {_words(lone)}: not compared")
    _print_overall(compared.overall)
    _print_left_out(compared)
    _print_sum(compared)


def _shown(compared: Comparison) -> list[PointComparison]:
    """All sweep points; if they are many, those with the strongest evidence, in their order."""
    if len(compared.points) <= _MOST_POINTS:
        return compared.points
    least = {
        number: min((c.p for c in point.compared if c.p is not None), default=1.0)
        for number, point in enumerate(compared.points)
    }
    chosen = sorted(sorted(least, key=lambda number: (least[number], number))[:_MOST_POINTS])
    return [compared.points[number] for number in chosen]


def _print_sides(compared: Comparison, everywhere: list[str]) -> None:
    for letter, side in (("A", compared.a), ("B", compared.b)):
        plan, folder = side.results.plan, str(side.results.store.path)
        where = "" if side.label == folder else f" ({folder})"
        line = line_of((f"{letter}  {side.label}", "bold"), f"{where}: ")
        stdout().print(line.append(f"{plan.title}, on {plan.backend}"), soft_wrap=True)
    after = list(dict.fromkeys(c.metric.title for c in compared.compared if c.metric.window_of))
    if after:
        tell(f"After the warm-up alone: {', '.join(after)}")
    tell(f"A and B differ in: {', '.join(everywhere) or 'no key of the study'}")


def _shared_changes(compared: Comparison) -> list[str]:
    """What A and B differ in at every sweep point."""
    per_point = [[str(change) for change in point.changes] for point in compared.points]
    return [change for change in per_point[0] if all(change in other for other in per_point)]


def _words(params: dict[str, object]) -> str:
    return ", ".join(in_words(params))


def _print_point(point: PointComparison, everywhere: list[str], margin: Margin | None) -> None:
    """The table of a sweep point: a row for every metric of every flow."""
    seeds_a, seeds_b = point.match.seeds_a, point.match.seeds_b
    if point.paired and len(seeds_a) == 1:
        runs = "1 run each, of the same seed"
    elif point.paired:
        runs = f"{count(len(seeds_a), 'run')} each, paired by seed"
    else:
        both = f"{count(len(seeds_a), 'run')} of A, {len(seeds_b)} of B"
        runs = f"{both}, not paired: no seed is on both sides"
    left_out = _left_out(len(point.match.left_out_a), len(point.match.left_out_b))
    if left_out:
        runs += f"; left out: {left_out}"
    head = line_of("\n", (point.match.label, "bold"), f": {runs}")
    stdout().print(head, soft_wrap=True)
    here = [str(change) for change in point.changes if str(change) not in everywhere]
    if here:
        tell(f"here A and B differ {'also ' if everywhere else ''}in: {', '.join(here)}")
    table = Grid(header_style="bold", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("flow, metric", no_wrap=True)
    table.add_column("A", justify="right", no_wrap=True)
    table.add_column("B", justify="right", no_wrap=True)
    table.add_column("B against A", min_width=18)
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("adjusted", justify="right", no_wrap=True)
    table.add_column("verdict" if margin is None else f"within {margin}", no_wrap=True)
    for group in point.groups:
        members = dict.fromkeys((group.variants_a, group.variants_b))
        _add_rows(table, group.name, f"group: {' | '.join(members)}", group.metrics)
    for flow in point.flows:
        variants = flow.cc_a if flow.cc_a == flow.cc_b else f"{flow.cc_a} | {flow.cc_b}"
        _add_rows(table, flow.name, variants, flow.metrics)
    for source in (*point.traffic, *point.probes):
        kinds = dict.fromkeys((source.kind_a, source.kind_b))
        _add_rows(table, source.name, " | ".join(kinds), source.metrics)
    for band in point.bands:
        kinds = dict.fromkeys((band.kind_a, band.kind_b))
        _add_rows(table, f"queue {band.name}", " | ".join(kinds), band.metrics)
    several = len(point.flows) > 1
    _add_rows(
        table,
        "whole run",
        "",
        [c for c in point.whole if c.metric.subject != "run" or several],
    )
    show(stdout(), table)
    for letter, names in (("A", point.match.flows_only_a), ("B", point.match.flows_only_b)):
        if names:
            tell(f"only {letter} has the flow {', '.join(names)}: not compared")
    for letter, names in (("A", point.match.traffic_only_a), ("B", point.match.traffic_only_b)):
        if names:
            tell(f"only {letter} has the traffic {', '.join(names)}: not compared")
    for letter, names in (("A", point.match.probes_only_a), ("B", point.match.probes_only_b)):
        if names:
            tell(f"only {letter} has the probe {', '.join(names)}: not compared")


def _left_out(of_a: int, of_b: int) -> str:
    """So many runs of each side whose seeds the other lacks; empty of none."""
    told = [f"{count(n, 'run')} of {side}" for n, side in ((of_a, "A"), (of_b, "B")) if n]
    opposite = "B" if of_a else "A"
    lacking = "the other side has" if len(told) == 2 else f"{opposite} has"
    return f"{' and '.join(told)}, of seeds that {lacking} no run of" if told else ""


def _add_rows(table: Grid, name: str, of: str, metrics: list[Compared]) -> None:
    """Rows under the name of a flow and its variant, without metrics that neither side measured."""
    shown = [c for c in metrics if c.difference is not None or c.verdict.words != "not measured"]
    if not shown:
        return
    table.add_row(line_of((name, "bold"), f" ({of})" if of else ""))
    for compared in shown:
        table.add_row(*_cells(compared))
    table.add_section()


def _cells(compared: Compared) -> list[Text | str]:
    """The metric, both means and the verdict."""
    difference, metric = compared.difference, compared.metric
    largest = 0.0 if difference is None else max(abs(difference.a.mean), abs(difference.b.mean))
    divisor, unit, _ = metric.unit(largest)
    title = f"{metric.title} ({unit})" if unit else metric.title
    means = [_NONE] * 2
    if difference is not None:
        # Without their own intervals: that those overlap or not says little of the difference.
        half = difference.absolute.half_width
        means = [
            units.told(side.mean / divisor, least=metric.least_digits)
            if not half
            else f"{side.mean / divisor:.{units.digits(side.mean, half / divisor)}f}"
            for side in (difference.a, difference.b)
        ]
    return [
        f"  {title}",
        *means,
        compared.verdict.words,
        *_tested(compared.p, compared.p_adjusted, compared.standing or compared.verdict.code),
    ]


def _tested(p: float | None, adjusted: float | None, code: str) -> list[Text | str]:
    """Both p-values and the verdict."""
    style = {
        "better": "bold green",
        "worse": "bold red",
        "no-evidence": "dim",
        "undecided": "dim",
    }.get(code, "bold")
    values = [_p(value) for value in (p, adjusted)]
    return [*values, styled(code.replace("-", " "), style)]


def _p(value: float | None) -> str:
    if value is None:
        return _NONE
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _print_overall(overall: list[Overall]) -> None:
    """The table over all sweep points: a row for every metric of every flow."""
    if not overall:
        return
    points = max(test.points for test in overall)
    title = f"\nover all {points} sweep points; differences are relative to the mean of both sides"
    stdout().print(styled(title, "bold"), soft_wrap=True)
    table = Grid(header_style="bold", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("flow", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for title in ("points", "B higher", "B lower", "(B-A)/mean", "p", "adjusted"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    last = None
    for test in overall:
        if last is not None and test.subject != last:
            table.add_section()
        name = "" if test.subject == last else test.subject or "whole run"
        last = test.subject
        table.add_row(
            name,
            test.metric.title,
            *map(str, (test.points, test.higher, test.lower)),
            test.words,
            *_tested(test.p, test.p_adjusted, test.code),
        )
    show(stdout(), table)


def _print_left_out(compared: Comparison) -> None:
    """The runs left out at all sweep points together, including points that are not shown."""
    points = [point.match for point in compared.points]
    some = sum(bool(point.left_out_a or point.left_out_b) for point in points)
    if some and len(points) > 1:
        of_a, of_b = sum(len(p.left_out_a) for p in points), sum(len(p.left_out_b) for p in points)
        where = f"at {some} of {count(len(points), 'sweep point')}"
        tell(f"left out {where}: {_left_out(of_a, of_b)}")


def _print_sum(compared: Comparison) -> None:
    """The number of comparisons, and the error bound of their verdicts."""
    if compared.margin is not None:
        _print_standings(compared, compared.margin)
    codes = [c.verdict.code for c in compared.compared if c.p_adjusted is not None]
    if not codes:
        tell("nothing to test: no metric has several runs on both sides that differ")
        return
    seen = [
        f"{codes.count(code)} {code}"
        for code in ("better", "worse", "higher", "lower")
        if code in codes
    ]
    bound = (
        f"{corrections.LEVEL:.0%} of such verdicts may be wrong"
        if compared.correction == "fdr"
        else f"that any is wrong has probability {corrections.LEVEL:.0%}"
    )
    tell(
        f"of {count(len(codes), 'comparison')}: {', '.join(seen) or 'no evidence in any'}; "
        f"corrected ({compared.correction}): {bound}"
    )


def _print_standings(compared: Comparison, margin: Margin) -> None:
    """How many metrics are within the margin."""
    seen = [c.standing for c in compared.compared if c.standing is not None]
    told = [
        f"{seen.count(standing)} {standing.replace('-', ' ')}"
        for standing in margins.STANDINGS
        if standing in seen
    ]
    tell(f"within {margin} of A: {', '.join(told) or 'nothing was measured on both sides'}")
