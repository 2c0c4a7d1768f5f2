"""The closed-form expectation beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cclab.drawing.legend import entry
from cclab.errors import StudyError
from cclab.explain import explain

if TYPE_CHECKING:
    from collections.abc import Collection

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.drawing.palette import Dash
    from cclab.plan import Run

LOOK: dict[str, Any] = {"color": "0.45", "linewidth": 1.2}
"""How an expectation is drawn."""

DASH: Dash = "--"
"""Where it is a line over all places."""

EXPECTED, ABOVE = "expected", "above the axis"
"""What it is called, and where an arrow says that it is."""

_ARROW: dict[str, Any] = {
    "linestyle": "none",
    "marker": "^",
    "markersize": 5,
    "color": "0.45",
    "clip_on": False,
}
"""How one is marked that is far above the axis."""

_SAYS_NOTHING = frozenset({"link", "share"})
"""Limits that a link sets. They are no expectation: how flows share a link is what a study
measures."""

WHAT_BINDS = (
    "a window, an application, a packet rate, random loss or what datagrams and cross traffic "
    "leave of a link"
)
"""The other bounds in words, for captions."""


def expected_bps(run: Run) -> dict[str, float]:
    """The expected throughput of the flows of a run that a limit other than a link binds.

    Without flows that the simulator cannot describe, such as programs.
    """
    try:
        flows = explain(run.scenario).flows
    except StudyError:
        return {}
    return {
        flow.name: flow.expected_bps
        for flow in flows
        if flow.expected_bps is not None and flow.binds not in _SAYS_NOTHING
    }


ROOM = 1.6
"""The axis includes an expectation up to this factor above all measurements: these must stay
readable."""


def top(measured: Collection[float], expected: Collection[float]) -> float:
    """The end of the axis: above all measurements, and the expectations near them."""
    highest = max(measured, default=0.0)
    near = [bps for bps in expected if not highest or bps <= ROOM * highest]
    return max([highest, *near])


def drawn(axes: Axes, at: float | None, half: float, height: float, reach: float) -> str:
    """Draws an expectation: a bar of twice `half` at the place `at`, or a line over all places.

    An expectation above `reach`, the end of the axis, is an arrow at the top. Returns `within` or
    `above`.
    """
    if height > reach:
        axes.plot(
            0.98 if at is None else at,
            0.985,
            transform=axes.transAxes if at is None else axes.get_xaxis_transform(),
            **_ARROW,
        )
        return "above"
    if at is None:
        axes.axhline(height, linestyle=DASH, **LOOK)
    else:
        axes.plot([at - half, at + half], [height, height], zorder=2, **LOOK)
    return "within"


def handles(kinds: Collection[str], **more: Any) -> list[Line2D]:
    """The entries in a legend of what `drawn` returned."""
    entries = [entry(EXPECTED, **LOOK, **more)] if "within" in kinds else []
    if "above" in kinds:
        entries.append(entry(f"{EXPECTED} {ABOVE}", **_ARROW))
    return entries
