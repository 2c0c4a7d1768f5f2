"""The page of a report: one HTML file that needs no network."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cclab import metrics, pages, shared, versions
from cclab.measure import expect
from cclab.report import figures, tables
from cclab.report import told as what
from cclab.report.figures.panels import MOST_PANELS
from cclab.report.figures.settings import NOTHING, Settings, check_labels, named_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures import Kind
    from cclab.report.told import Told

_PACKAGE = "cclab.report"

MOST_LISTED = 1000
"""Runs, and sweep points that do not meet an expectation, that the page names."""

_OF_THE_REPORT = {
    "limited by": "What held the flow back for the largest part of its time.",
    "±": (
        "Half the width of the 95% percentile-bootstrap interval of the mean over runs, never "
        "over samples inside a run; absent for a single run."
    ),
}

_OF_PERCENTILES = {
    "(from–to)": (
        "Of a percentile over the flows of all runs the ends of its 95% bootstrap interval over "
        "runs, which is seldom even on both sides."
    ),
}


OF_WINDOW = ("goodput", "jain", "tradeoff", "heatmap", "matrix", "curve", "buffer-share")
"""The figures of which numbers are those after the warm-up."""


@dataclass(frozen=True)
class Drawn:
    """The figures of a report."""

    figures: list[tuple[Kind, dict[str, bytes]]]
    """Each in its formats, of which the page has the SVG as well as the folder."""
    too_much: list[str]
    """Why figures that there could be are not drawn."""


def draw(results: Results, looks: Settings = NOTHING) -> Drawn:
    """As `drawing`, at once and as SVG."""
    with drawing(results, looks) as drawn:
        return drawn()


@contextlib.contextmanager
def drawing(
    results: Results, looks: Settings = NOTHING, formats: Sequence[str] = ("svg",)
) -> Iterator[Callable[[], Drawn]]:
    """Every figure that the results have something to show in and that can be read, in `formats`.

    They are laid out and saved meanwhile: what it gives waits for them. A horizontal axis that is
    set for every figure is that of time. Raises `InputError` if a label is set that no figure has.
    """
    named: list[str] = []
    beside_time = Settings({k: text for k, text in looks.texts.items() if k != "xlim"})
    sketched: list[tuple[Kind, Callable[[], dict[str, bytes] | str]]] = []
    too_much: dict[str, str] = {}
    for kind in figures.FIGURES:
        try:
            if looks:
                plain = figures.sketch(results, kind.name)
                named += [] if plain is None else named_in(plain)
            own = looks if kind.over_time else beside_time
            figure = figures.sketch(results, kind.name, looks=own)
        except figures.TooMuchError as error:
            too_much[kind.name] = str(error)
        else:
            if figure is not None:
                sketched.append((kind, partial(_saved, figure, kind.name, own, formats)))
    check_labels(looks, named)
    with shared.begun([piece for _, piece in sketched]) as pieces:

        def drawn() -> Drawn:
            made: list[tuple[Kind, dict[str, bytes]]] = []
            for (kind, _), files in zip(sketched, pieces.done(), strict=True):
                if isinstance(files, str):
                    too_much[kind.name] = files
                else:
                    made.append((kind, files))
            of_kinds = (too_much.get(kind.name) for kind in figures.FIGURES)
            return Drawn(made, [why for why in of_kinds if why is not None])

        yield drawn


def _saved(
    figure: Drawing, name: str, looks: Settings, formats: Sequence[str]
) -> dict[str, bytes] | str:
    """A sketch in its formats, or why there is too much in it."""
    try:
        figures.laid_out(figure, name, looks)
    except figures.TooMuchError as error:
        return str(error)
    return {ending: figures.saved(figure, ending) for ending in dict.fromkeys(("svg", *formats))}


def html(results: Results, drawn: Drawn, told: Told | None = None) -> str:
    """The whole page: the figures that are `drawn`, and what is `told` of the results, if that is
    known already."""
    plan = results.plan
    runs = results.runs
    told = what.Told.of(results) if told is None else told
    table, groups, beside = told.flows, told.groups, told.beside
    return pages.render(
        _PACKAGE,
        "page.html.j2",
        plan=plan,
        points=len(plan.points),
        flows=table,
        groups=groups,
        whole=told.every,
        beside=beside,
        floods=told.floods,
        beyond=told.beyond,
        window=told.window,
        of_window=OF_WINDOW,
        figures=[
            (kind, pages.figure(kind.name, kind.title, files["svg"]))
            for kind, files in drawn.figures
        ],
        too_much=drawn.too_much,
        hidden=max(0, len(results.points) - MOST_PANELS),
        warnings=[(w.code, w.message, w.extent, w.remedy) for w in results.warnings],
        unmet=expect.unmet(results.failures),
        most_listed=MOST_LISTED,
        fidelity=_fidelity(results),
        ids=[run.run.id for run in runs[:MOST_LISTED]],
        runs=len(runs),
        planned=len(plan.runs),
        versions=[f"{plan.backend}: {versions.listed(run.run.version for run in runs)}"],
        stacks=sorted({run.run.scenario["stack"] for run in runs}),
        definitions=_definitions(
            [table, *(() if groups is None else [groups]), *(t for _, t in beside)],
            warm=any(point.warm for point in results.summaries),
        ),
    )


def fragment(results: Results) -> str:
    """The table and the warnings, for a notebook's cell."""
    return pages.render(
        _PACKAGE,
        "fragment.html.j2",
        plan=results.plan,
        flows=tables.table(results, tables.MOST_POINTS),
        groups=tables.groups(results, tables.MOST_POINTS),
        beyond=tables.beyond(results),
        window=tables.window(results),
        warnings=results.warnings,
    )


def _fidelity(results: Results) -> str:
    """How many of the runs in real time the host kept up with; empty if there are none."""
    verdicts = [
        run.metrics["fidelity"]["verdict"] for run in results.runs if "fidelity" in run.metrics
    ]
    if not verdicts:
        return ""
    return f"kept up with {verdicts.count('kept up')} of {len(verdicts)} runs in real time"


def _definitions(shown: list[tables.Table], *, warm: bool) -> dict[str, str]:
    """What the words of the tables mean: the core defines its metrics. `warm`: they are of the time
    after a warm-up."""
    headings = [heading for table in shown for heading in table.headings]
    named: dict[str, list[metrics.Subject]] = {
        "flow": ["flow", "bottleneck", "run"],
        "group": ["group"],
        "queue": ["band"],
        "traffic": ["traffic"],
        "probe": ["probe"],
    }
    definitions = {
        metric.column.word: metrics.shown(metric, warm=warm).definition
        for word, subjects in named.items()
        if word in headings
        for subject in subjects
        for metric in metrics.columns(subject)
        if metric.column is not None
        and any(heading.startswith(metric.heading) for heading in headings)
    }
    return definitions | (_OF_PERCENTILES if "group" in headings else {}) | _OF_THE_REPORT
