"""`cclab report`: tables, figures and the page, from a results folder alone."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Annotated

import typer

from cclab import report as reports
from cclab.cli import choices, failures, options
from cclab.cli.console import note, print_json, print_tables, print_warnings
from cclab.cli.held import measured_in
from cclab.errors import InputError
from cclab.late import late
from cclab.report.told import Told

if TYPE_CHECKING:
    from cclab.report import figures, flent
else:
    figures = late("cclab.report.figures")
    flent = late("cclab.report.flent")

FLENT = "flent"
"""The format of data files that Flent opens."""


def report(
    folder: options.ResultsFolder,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Write this figure alone, such as heatmap.",
            autocompletion=choices.of(choices.figures),
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the figure draws, such as jain; tradeoff: X,Y.",
            autocompletion=choices.listed(choices.metrics),
        ),
    ] = None,
    axes: Annotated[
        str | None,
        typer.Option(metavar="KEY,KEY", help="Swept keys to draw the figure over."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,...", help="Only these values of a swept key; may be repeated."
        ),
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="A run whose time series sweep.html must have."),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="F,F",
            help="Figures as svg, pdf, png; flent: data files.",
            autocompletion=choices.listed(lambda: (*choices.formats(), FLENT)),
        ),
    ] = "svg",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="figure.KEY=VALUE",
            help="How figures look: figure.width=7, figure.queue.ylim=0,50; may be repeated.",
        ),
    ] = None,
    every: options.EveryFlow = False,
    json: options.Json = False,
) -> None:
    """Write tables, figures and one offline page from a results folder alone."""
    for option, value in (("--metric", metric), ("--axes", axes), ("--where", where)):
        if value and not figure:
            raise InputError(f"{option} is of a figure: give --figure too")
    kept = [_kept(text) for text in where or []]
    formats = _listed(format_)
    as_flent = FLENT in formats
    if as_flent:
        if figure:
            raise InputError("--format flent writes data files of runs, not a figure")
        formats = [ending for ending in formats if ending != FLENT] or ["svg"]
    reports.check(figure or [], formats, set_ or [])
    measured = measured_in(folder)
    if figure:
        asked = figures.Asked(tuple(_listed(metric)), tuple(_listed(axes)), tuple(kept))
        for name in figure:
            for path in reports.write_figure(
                measured, folder / "report", name, asked, formats, set_ or []
            ):
                note(f"figure: {path}")
        if json:
            print_json(measured.document())
        return
    if as_flent:
        for path in flent.write(measured, folder / "report" / "flent"):
            note(f"flent: {path}")
    said = cache(partial(Told.of, measured))
    page = reports.write(measured, folder / "report", formats, series or [], set_ or [], said)
    told = said()
    if json:
        print_json(measured.document())
    else:
        print_tables(told, every=every)
        if told.beyond:
            note(f"{told.beyond} in {page.parent / 'table.md'} and summary.csv")
    print_warnings(told.doubts)
    note(f"report: {page}")
    failures.tell_unmet(told)


def _listed(text: str | None) -> list[str]:
    """The names in a text with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _kept(text: str) -> tuple[str, tuple[str, ...]]:
    """A key and its values from `KEY=VALUE,...`."""
    key, sign, values = text.partition("=")
    if not sign or not key.strip() or not _listed(values):
        raise InputError(f"--where {text}: KEY=VALUE or KEY=VALUE,VALUE")
    return key.strip(), tuple(_listed(values))
