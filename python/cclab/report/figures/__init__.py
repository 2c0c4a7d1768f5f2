"""Figures over results. One file per kind; this is the list of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.plan import short_key
from cclab.report.figures import (
    box,
    completion,
    curve,
    cwnd,
    goodput,
    group_bars,
    heatmap,
    jain,
    matrix,
    probes,
    queue,
    sequence,
    share,
    throughput,
    tradeoff,
)
from cclab.report.figures.asked import NOTHING, Asked, TooMuchError, narrowed
from cclab.report.figures.style import FORMATS, MUTED, saved, styled, svg
from cclab.report.figures.ticks import settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.report.figures.style import Drawing
    from cclab.results import Results

__all__ = [
    "FIGURES",
    "FORMATS",
    "Asked",
    "Kind",
    "TooMuchError",
    "asked_for",
    "draw",
    "kind_called",
    "saved",
    "svg",
]


@dataclass(frozen=True)
class Kind:
    """A kind of figure."""

    name: str
    """Its name on the command line, in the API and of its file."""
    title: str
    """What it shows, as a heading."""
    caption: str
    """How to read it."""
    needs: str
    """What results must have for it, in words."""
    draw: Callable[[Results, Asked], Drawing | None]
    """Makes it; None where the results have nothing to show in it."""
    metrics: int = 0
    """How many metrics can be asked of it."""
    axes: int = 0
    """How many swept keys can be asked of it."""


def _fixed(draw: Callable[[Results], Drawing | None]) -> Callable[[Results, Asked], Drawing | None]:
    """A kind of which nothing can be asked."""
    return lambda results, _: draw(results)


FIGURES: tuple[Kind, ...] = (
    Kind("goodput", goodput.TITLE, goodput.CAPTION, goodput.NEEDS, _fixed(goodput.draw)),
    Kind("box", box.TITLE, box.CAPTION, box.NEEDS, box.draw, 1),
    Kind(
        "groups",
        group_bars.TITLE,
        group_bars.CAPTION,
        group_bars.NEEDS,
        _fixed(group_bars.draw),
    ),
    Kind("jain", jain.TITLE, jain.CAPTION, jain.NEEDS, _fixed(jain.draw)),
    Kind("share", share.TITLE, share.CAPTION, share.NEEDS, _fixed(share.draw)),
    Kind("matrix", matrix.TITLE, matrix.CAPTION, matrix.NEEDS, matrix.draw, 1, 2),
    Kind("heatmap", heatmap.TITLE, heatmap.CAPTION, heatmap.NEEDS, heatmap.draw, 1, 2),
    Kind("tradeoff", tradeoff.TITLE, tradeoff.CAPTION, tradeoff.NEEDS, tradeoff.draw, 2, 9),
    Kind(
        "completion",
        completion.TITLE,
        completion.CAPTION,
        completion.NEEDS,
        completion.draw,
        0,
        9,
    ),
    Kind(
        "buffer-share",
        curve.SHARE_TITLE,
        curve.SHARE_CAPTION,
        curve.SHARE_NEEDS,
        curve.draw_share,
        0,
        1,
    ),
    Kind("curve", curve.TITLE, curve.CAPTION, curve.NEEDS, curve.draw, 1, 1),
    Kind(
        "throughput",
        throughput.TITLE,
        throughput.CAPTION,
        throughput.NEEDS,
        _fixed(throughput.draw),
    ),
    Kind("cwnd", cwnd.TITLE, cwnd.CAPTION, cwnd.NEEDS, _fixed(cwnd.draw)),
    Kind("queue", queue.TITLE, queue.CAPTION, queue.NEEDS, _fixed(queue.draw)),
    Kind("probe-rtt", probes.TITLE, probes.CAPTION, probes.NEEDS, _fixed(probes.draw)),
    Kind("probe-cdf", probes.CDF_TITLE, probes.CDF_CAPTION, probes.NEEDS, _fixed(probes.draw_cdf)),
    Kind("sequence", sequence.TITLE, sequence.CAPTION, sequence.NEEDS, _fixed(sequence.draw)),
)
"""Every kind of figure, in the order of a report."""


def kind_called(name: str) -> Kind:
    """The kind of figure called `name`. Raises `InputError` if there is none."""
    names = [kind.name for kind in FIGURES]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise InputError(f"no figure called {name!r}{hint}; the figures are {', '.join(names)}")
    return FIGURES[names.index(name)]


def draw(results: Results, name: str, asked: Asked = NOTHING) -> Drawing | None:
    """The figure called `name`; None where the results have nothing to show in it.

    Raises `InputError` if there is no such kind, metric, axis or value, and `TooMuchError`, which
    is one, if the figure could not be read.
    """
    kind = kind_called(name)
    for what, most, given in (
        ("metric", kind.metrics, asked.metrics),
        ("axes", kind.axes, asked.axes),
    ):
        if len(given) > most:
            takes = f"takes {most} at most" if most else "has its own"
            raise InputError(f"{what} {', '.join(given)}: the figure {name} {takes}")
    with styled():
        try:
            figure = kind.draw(narrowed(results, asked), asked)
        except TooMuchError as error:
            raise TooMuchError(f"the figure {name!r} is not drawn: {error}") from None
        if figure is not None:
            if asked.where and not figure.get_supxlabel():
                figure.supxlabel(_kept(asked), x=0.01, ha="left", fontsize=7, color=MUTED)
            settled(figure)
        return figure


def _kept(asked: Asked) -> str:
    """What was kept of a sweep, in words."""
    return "; ".join(f"{short_key(key)} = {', '.join(values)}" for key, values in asked.where)


def asked_for(results: Results, name: str, asked: Asked) -> Drawing:
    """The figure called `name`, which somebody asked for.

    Raises as `draw` does, and `InputError` if the results have nothing to show in it.
    """
    figure = draw(results, name, asked)
    if figure is None:
        needs = kind_called(name).needs
        raise InputError(
            f"these results have nothing to show in the figure {name!r}: it needs {needs}"
        )
    return figure
