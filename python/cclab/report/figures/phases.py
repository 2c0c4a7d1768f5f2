"""The phases of variants that are machines, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from cclab.drawing.legend import above
from cclab.drawing.palette import BLUE, GREEN, ORANGE, VERMILLION
from cclab.errors import InputError
from cclab.report.figures.panels import finish, grid, panels
from cclab.store.trace import PHASE

if TYPE_CHECKING:
    import polars as pl

    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.panels import Panel

TITLE = "Phases of the variants over time"
CAPTION = (
    "Which phase each flow's variant was in, where the variant is a machine that has phases and "
    "tells them. First run of each sweep point."
)
NEEDS = 'events = ["state"], and a variant that tells its phase'

PHASES = "phases"
"""What is drawn of a flow."""

_HUES = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", VERMILLION, "#332288", "#7A4A1E")
_HATCHES = ("", "////", "....", "xxxx")
_HEIGHT = 0.7


def draw(results: Results) -> Drawing | None:
    """The figure; None if no flow's variant told phases."""
    stays = [(panel, own) for panel in panels(results) if (own := _stays(panel))]
    if not stays:
        return None
    # In the order in which they occur.
    phases = list(
        dict.fromkeys(phase for _, own in stays for frame in own.values() for phase in frame[PHASE])
    )
    looks: dict[str, dict[str, Any]] = {
        phase: {
            "edgecolor": "white",
            "linewidth": 0,
            "facecolor": look(n)[0],
            "hatch": _HATCHES[look(n)[1]],
        }
        for n, phase in enumerate(phases)
    }
    most = max(len(own) for _, own in stays)
    sheet = grid(len(stays), height=0.7 + 0.35 * most)
    for index, (_, own) in enumerate(stays):
        axes = sheet.rows[0][index]
        for row, frame in enumerate(own.values()):
            for phase in phases:
                here = frame.filter(phase=phase)
                spans = zip(here["from_s"], here["until_s"] - here["from_s"], strict=True)
                axes.broken_barh([*spans], (row - _HEIGHT / 2, _HEIGHT), **looks[phase])
        axes.grid(visible=False)
    above(sheet.figure, [Patch(label=phase, **looks[phase]) for phase in phases])
    drawing = finish(sheet, [panel for panel, _ in stays], [""], legend=False)
    for index, (panel, own) in enumerate(stays):
        axes = sheet.rows[0][index]
        labels = {flow.name: flow.label for flow in panel.flows}
        axes.set_yticks(range(len(own)), [labels[flow] for flow in own])
        axes.set_ylim(len(own) - 0.5, -0.5)
    return drawing


def look(nth: int) -> tuple[str, int]:
    """The colour of a phase, the `nth` to occur, and the number of its hatch: 0 is none."""
    return _HUES[nth % len(_HUES)], nth // len(_HUES) % len(_HATCHES)


def _stays(panel: Panel) -> dict[str, pl.DataFrame]:
    """The stays in phases of each flow that has some."""
    own = {}
    for flow in panel.flows:
        try:
            stays = panel.run.trace.phases_of(flow.name)
        except InputError:
            continue
        if stays.height:
            own[flow.name] = stays
    return own
