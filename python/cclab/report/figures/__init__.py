"""Figures over results. One file per kind; this is the list of them."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cclab import shown
from cclab.drawing import kind as drawn
from cclab.drawing.marks import note
from cclab.drawing.style import FORMATS, saved, styled, svg
from cclab.drawing.ticks import settled
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
    phases,
    probes,
    queue,
    queue_cdf,
    sequence,
    settings,
    share,
    throughput,
    tradeoff,
)
from cclab.report.figures.asked import NOTHING, Asked, TooMuchError, narrowed
from cclab.report.figures.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results

__all__ = [
    "FIGURES",
    "FORMATS",
    "Asked",
    "Kind",
    "Settings",
    "TooMuchError",
    "asked_for",
    "draw",
    "kind_called",
    "laid_out",
    "saved",
    "set_by",
    "sketch",
    "svg",
]


@dataclass(frozen=True)
class Kind(drawn.Kind[["Results", Asked]]):
    """A kind of figure over results."""

    needs: str
    """What results must have for it, in words."""
    metrics: int = 0
    """How many metrics can be asked of it."""
    axes: int = 0
    """How many swept keys can be asked of it."""
    limits: str = "xy"
    """Which of its axes are of numbers, whose ends can be set."""
    over_time: bool = False
    """Whether its horizontal axis is time."""


def _fixed(draw: Callable[[Results], Drawing | None]) -> Callable[[Results, Asked], Drawing | None]:
    """A kind of which nothing can be asked."""
    return lambda results, _: draw(results)


class _Words(Protocol):
    """What a file of a kind of figure says of it."""

    TITLE: str
    CAPTION: str
    NEEDS: str


def _kind(
    name: str, file: _Words, draw: Callable[[Results, Asked], Drawing | None], **more: Any
) -> Kind:
    """The kind that a file draws, in its words."""
    return Kind(name, file.TITLE, file.CAPTION, draw, file.NEEDS, **more)


FIGURES: tuple[Kind, ...] = (
    _kind("goodput", goodput, _fixed(goodput.draw), limits="y"),
    _kind("box", box, box.draw, metrics=1, limits="y"),
    _kind("groups", group_bars, _fixed(group_bars.draw), limits="y"),
    _kind("jain", jain, _fixed(jain.draw), limits="y"),
    _kind("share", share, _fixed(share.draw)),
    _kind("matrix", matrix, matrix.draw, metrics=1, axes=2, limits=""),
    _kind("heatmap", heatmap, heatmap.draw, metrics=1, axes=2, limits=""),
    _kind("tradeoff", tradeoff, tradeoff.draw, metrics=2, axes=9),
    _kind("completion", completion, completion.draw, axes=9),
    Kind(
        "buffer-share",
        curve.SHARE_TITLE,
        curve.SHARE_CAPTION,
        curve.draw_share,
        curve.SHARE_NEEDS,
        axes=1,
    ),
    _kind("curve", curve, curve.draw, metrics=1, axes=1),
    _kind("throughput", throughput, _fixed(throughput.draw), over_time=True),
    _kind("cwnd", cwnd, _fixed(cwnd.draw), over_time=True),
    _kind("phases", phases, _fixed(phases.draw), limits="x", over_time=True),
    _kind("queue", queue, _fixed(queue.draw), over_time=True),
    _kind("queue-cdf", queue_cdf, _fixed(queue_cdf.draw)),
    _kind("probe-rtt", probes, _fixed(probes.draw), over_time=True),
    Kind("probe-cdf", probes.CDF_TITLE, probes.CDF_CAPTION, _fixed(probes.draw_cdf), probes.NEEDS),
    _kind("sequence", sequence, _fixed(sequence.draw), over_time=True),
)
"""Every kind of figure, in the order of a report."""


_NO_ROOM = "constrained_layout not applied"
"""How matplotlib's warning begins where decorations leave axes no room."""

_ROUNDS, _GROWTH = 5, 1.25
"""A figure without room for its labels grows by this factor until it has enough."""


def kind_called(name: str) -> Kind:
    """The kind of figure called `name`. Raises `InputError` if there is none."""
    names = [kind.name for kind in FIGURES]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise InputError(
            f"no figure called {shown.quoted(name)}{hint}; the figures are {', '.join(names)}"
        )
    return FIGURES[names.index(name)]


def set_by(given: str | Sequence[str] | Mapping[str, object], *, report: bool = False) -> Settings:
    """How figures shall look, from `figure.KEY=VALUE` texts or a dict; see docs/figures.md.

    Raises `InputError` for an unknown key, and for a key of a single kind of figure when a whole
    `report` is set.
    """
    made = settings.parsed(given, [kind.name for kind in FIGURES])
    if report and "ylim" in made.texts:
        raise InputError(
            "figure.ylim: the figures of a report have different quantities; name the kind "
            "(figure.queue.ylim), or one figure (--figure)"
        )
    return made


def draw(
    results: Results, name: str, asked: Asked = NOTHING, looks: Settings = settings.NOTHING
) -> Drawing | None:
    """The figure called `name`; None where the results have nothing to show in it.

    Raises `InputError` if there is no such kind, metric, axis or value, and its subclass
    `TooMuchError` if the figure would be unreadable.
    """
    figure = sketch(results, name, asked, looks)
    return None if figure is None else laid_out(figure, name, looks)


def sketch(
    results: Results, name: str, asked: Asked = NOTHING, looks: Settings = settings.NOTHING
) -> Drawing | None:
    """As `draw`, of a figure that is yet to be `laid_out`, for which no results are needed."""
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
            with warnings.catch_warnings():
                # Whether there is room is seen when it is laid out for good.
                warnings.filterwarnings("ignore", _NO_ROOM, UserWarning)
                figure = kind.draw(narrowed(results, asked), asked)
        except TooMuchError as error:
            raise TooMuchError(f"the figure {shown.quoted(name)} is not drawn: {error}") from None
        if figure is not None:
            if asked.where and not figure.get_supxlabel():
                note(figure, _kept(asked))
            if looks:
                settings.apply(figure, looks, name, kind.limits)
        return figure


def laid_out(figure: Drawing, name: str, looks: Settings = settings.NOTHING) -> Drawing:
    """Lays out a figure called `name`, enlarged if its axes have no room beside their labels.

    Raises `TooMuchError` if it would have to be too large, and `InputError` if the user set a size
    that is too small.
    """
    was_set = bool(looks.of(name).keys() & {"width", "height"})
    width, height = figure.get_size_inches()
    for _ in range(1 if was_set else _ROUNDS):
        with styled(), warnings.catch_warnings():
            warnings.filterwarnings("error", _NO_ROOM, UserWarning)
            try:
                settled(figure)
            except UserWarning:
                figure.set_figwidth(float(figure.get_figwidth()) * _GROWTH)
                figure.set_figheight(float(figure.get_figheight()) * _GROWTH)
            else:
                return figure
    told = (
        f"the figure {name} has no room for its axes in {width:.2g} by {height:.2g} inches: set a "
        "larger figure.width or figure.height"
    )
    raise (InputError if was_set else TooMuchError)(told)


def _kept(asked: Asked) -> str:
    """What was kept of a sweep, in words."""
    return "; ".join(f"{short_key(key)} = {', '.join(values)}" for key, values in asked.where)


def asked_for(
    results: Results, name: str, asked: Asked, looks: Settings = settings.NOTHING
) -> Drawing:
    """The figure called `name`, which the user asked for.

    Raises as `draw` does, and `InputError` if the results have nothing to show in it.
    """
    kind = kind_called(name)
    for letter in "xy":
        if f"{letter}lim" in looks.texts and letter not in kind.limits:
            raise InputError(
                f"figure.{letter}lim: that axis of the figure {name} has names, no numbers"
            )
    plain = draw(results, name, asked)
    if plain is not None and looks:
        settings.check_labels(looks, settings.named_in(plain))
    figure = draw(results, name, asked, looks) if looks else plain
    if figure is None:
        needs = kind_called(name).needs
        raise InputError(
            f"these results have nothing to show in the figure "
            f"{shown.quoted(name)}: it needs {needs}"
        )
    return figure
