"""What is drawn in a panel: lines in the look of a variant, intervals, events, remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from cclab.drawing.style import MUTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.drawing.palette import Dash, Look
    from cclab.drawing.style import Drawing
    from cclab.measure.stats import Estimate


ALONE_PT, BESIDE_PT, _CAP_PT = 5.0, 4.0, 9.0
"""A mark without an interval, one with, and the widest caps of that."""


def settings(look: Look, size: float = 4.0, **more: Any) -> dict[str, Any]:
    """How matplotlib draws a line of this look, with markers of this size in points."""
    return {
        "color": look.colour,
        "linestyle": look.dash,
        "marker": look.marker,
        "markersize": size,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
    } | more


def dash_lengths(dash: Dash) -> list[float]:
    """How long the strokes of a dash are and the gaps behind them, in widths of the line."""
    if isinstance(dash, tuple):
        return list(dash[1])
    if dash == "solid":
        return []
    dashed = dash == "--"
    return list(mpl.rcParamsDefault["lines.dashed_pattern" if dashed else "lines.dotted_pattern"])


def line(axes: Axes, x: Any, y: Any, look: Look, nth: int, **more: Any) -> None:
    """Draws the `nth` series of a panel in its look, with a marker every tenth of the panel."""
    points = len(x)
    # The markers of different flows are shifted, so that equal lines do not hide each other.
    every = (max(1, points // 20) + 7 * nth % max(1, points // 10), max(1, points // 8))
    more = {"markevery": every if points > 12 else None} | more
    axes.plot(x, y, **settings(look, 3.6, **more))


def mark(axes: Axes, x: float, y: float, look: Look, size: float = 5.0, **more: Any) -> Line2D:
    """Draws a single point in its look, over what is around it."""
    (drawn,) = axes.plot(x, y, **settings(look, size, **{"linestyle": "none", "zorder": 3} | more))
    return drawn


def highest(value: Estimate) -> float:
    """The upper end of an estimate as it is drawn."""
    return value.mean if value.high is None else value.high


def lowest(value: Estimate) -> float:
    """The lower end of an estimate as it is drawn."""
    return value.mean if value.low is None else value.low


def whisker(
    axes: Axes, x: float, value: Estimate, unit: float = 1.0, cap: float = 0.0, **more: Any
) -> None:
    """Draws the interval of an estimate, if it has one, as an upright line at `x`.

    Its ends have caps of `cap` points, which are seen beside a mark that is narrower.
    """
    if value.low is not None and value.high is not None:
        ends = [value.low / unit, value.high / unit]
        look: dict[str, Any] = {"linewidth": 1.4}
        if cap:
            look |= {"marker": "_", "markersize": cap}
        axes.plot([x, x], ends, **look | more)


def cap_pt(room_in: float) -> float:
    """How wide the caps of an interval are that has so much room: wider than its mark, which hides
    them otherwise, even where they reach into the next one's room."""
    return max(1.5 * BESIDE_PT, min(_CAP_PT, 0.8 * 72 * room_in))


def size_pt(value: Estimate) -> float:
    """How large a mark is: smaller where it has an interval."""
    return ALONE_PT if value.low is None else BESIDE_PT


def band(
    axes: Axes,
    points: Sequence[tuple[float, Estimate]],
    colour: str,
    unit: float = 1.0,
    alpha: float = 0.18,
) -> None:
    """Draws the intervals of estimates along an axis as a band, which has gaps where some have
    none."""
    known = [value.low is not None and value.high is not None for _, value in points]
    if any(known):
        axes.fill_between(
            [x for x, _ in points],
            [lowest(v) / unit if k else np.nan for k, (_, v) in zip(known, points, strict=True)],
            [highest(v) / unit if k else np.nan for k, (_, v) in zip(known, points, strict=True)],
            color=colour,
            alpha=alpha,
            linewidth=0,
        )


def events(axes: Axes, when: np.ndarray, height: float, colour: str, **more: Any) -> Line2D:
    """Draws ticks at the times `when`, at this part of the panel's height."""
    look: dict[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 6}
    look |= {"color": colour} | more
    heights = np.full(len(when), height)
    (ticks,) = axes.plot(when, heights, transform=axes.get_xaxis_transform(), **look)
    return ticks


def stairs(axes: Axes, x: np.ndarray, shares: np.ndarray, **look: Any) -> Line2D:
    """Draws a distribution: which share is no larger than each `x`, from the foot up."""
    (drawn,) = axes.plot(
        np.concatenate([x[:1], x]),
        np.concatenate([[0.0] * len(x[:1]), shares]),
        drawstyle="steps-post",
        **look,
    )
    return drawn


def of_shares(axes: Axes) -> None:
    """Gives a panel of distributions its upright axis, and a line at the whole."""
    axes.set_ylim(0, 1.02)
    axes.axhline(1.0, color=MUTED, linewidth=0.6, zorder=1)


def remark(
    axes: Axes, text: str, at: tuple[float, float], by: tuple[float, float] = (0, 0), **more: Any
) -> None:
    """Writes small grey words at a place, given in parts of the panel, and `by` points beside it.

    To the right of its middle they end there.
    """
    side = "center" if at[0] == 0.5 else "right" if at[0] > 0.5 else "left"
    look: dict[str, Any] = {"ha": side, "va": "bottom", "fontsize": 7, "color": MUTED}
    look |= {"xycoords": "axes fraction", "textcoords": "offset points"} | more
    axes.annotate(text, at, xytext=by, **look)


def note(figure: Drawing, text: str) -> None:
    """Writes a note at the foot of a figure."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color=MUTED)
