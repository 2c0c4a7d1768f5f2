"""The data of the interactive page: layers of typed arrays, thinned to what a screen can show."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np

from cclab.captures.series import (
    inter_arrival,
    jain,
    outstanding,
    rtt,
    throughput,
    time_sequence,
)
from cclab.captures.series.figures.across import HUES, stacked
from cclab.captures.series.figures.curves import AMBER
from cclab.captures.series.figures.time_sequence import lines
from cclab.captures.series.looks import ACK, LOOKS, WINDOW
from cclab.drawing import thin
from cclab.drawing.palette import BLUE, GREEN, VERMILLION

if TYPE_CHECKING:
    import polars as pl

    from cclab.captures.series.across import Across
    from cclab.captures.series.page.document import Kind, Layer, Panel, Unit
    from cclab.captures.series.tables import Direction
    from cclab.captures.series.talks import Talk

MOST = 20_000
"""Marks of one kind, in one panel of one direction, at most."""

_HEIGHT = 160
_HEIGHTS = {"time-sequence": 400, "outstanding": 180, "throughput": 180, "share": 190, "jain": 150}
"""Of panels, in pixels, where it is not `_HEIGHT`."""

_COLUMNS = thin.FINEST[0]
_DARK = {BLUE: "#5aaeea", VERMILLION: "#ff8b3d", GREEN: "#2fc798", AMBER: "#e0cb3c"}


def panels(direction: Direction) -> tuple[list[Panel], int, int]:
    """The panels of a direction, and how many of how many points are in them."""
    tally = _Tally()
    made = [
        _panel("time-sequence", "Sequence number", "bytes", _sequence(direction, tally)),
        _panel("outstanding", "Outstanding data and window", "bytes", _flight(direction, tally)),
        _panel("throughput", "Throughput", "rate", _rates(direction, tally)),
        _panel("rtt", "Round-trip time", "time", _samples(direction, tally)),
        _panel("inter-arrival", "Time between packets", "time", _gaps(direction, tally), log=True),
    ]
    return _with_points(made), tally.kept, tally.all


def talk_panels(talk: Talk) -> tuple[list[Panel], int, int]:
    """The panels of a direction over UDP, and how many of how many points are in them."""
    tally = _Tally()
    rates, size = talk.throughput(), talk.size()
    label = f"payload, in {1e3 * rates['bin_s'][0]:g} ms"
    shown = [
        _curve("step", label, (BLUE, _DARK[BLUE]), rates, "throughput_bps", tally),
        _curve("line", "mean so far", (GREEN, _DARK[GREEN]), rates, "mean_bps", tally),
    ]
    times, sizes = size["time_s"].to_numpy(), size["payload_bytes"].to_numpy()
    made = [
        _panel("throughput", "Throughput", "rate", shown),
        _panel("inter-arrival", "Time between datagrams", "time", _gaps(talk, tally), log=True),
        _panel("size", "Size of datagrams", "bytes", _dots("datagram", times, sizes, tally)),
    ]
    return _with_points(made), tally.kept, tally.all


def _with_points(panels: list[Panel]) -> list[Panel]:
    """The panels that have anything to show, such as an RTT that was sampled."""
    return [panel for panel in panels if any(layer["x"] for layer in panel["layers"])]


def across(sums: Across) -> list[Panel]:
    """The panels across flows."""
    if not sums.bins:
        return []
    names, bits = stacked(sums)
    edges = np.arange(sums.bins + 1) * sums.bin_s
    floor = np.zeros(sums.bins + 1)
    areas = []
    for place, (label, own) in enumerate(zip(names, bits, strict=True)):
        top = floor + np.append(own, own[-1])
        colour = HUES[place] if label != "others" else "#a3a09a"
        layer = _layer("area", label, colour, colour, edges, top, floor)
        areas.append(layer)
        floor = top
    made = [_panel("share", "Share over time", "rate", areas)]
    if len(sums.compared) > 1:
        frame = jain.of(sums).drop_nulls()
        middle = frame["time_s"].to_numpy() + sums.bin_s / 2
        index = _layer("line", "Jain's index", BLUE, _DARK[BLUE], middle, frame["jain"].to_numpy())
        made.append(_panel("jain", "Jain's index", "plain", [index], top=1.0))
    return made


class _Tally:
    """How many points there were and are."""

    def __init__(self) -> None:
        self.kept = 0
        self.all = 0

    def count(self, kept: int, of: int) -> None:
        self.kept += kept
        self.all += of


def _sequence(direction: Direction, tally: _Tally) -> list[Layer]:
    rows = time_sequence.compute(direction)
    layers = []
    for which in (WINDOW, ACK):
        frame = lines(rows, which)
        colours = (which.colour, which.dark)
        layers.append(_curve("step", which.label, colours, frame, "end_bytes", tally))
    for what, look in LOOKS.items():
        own = rows.filter(what=what)
        x, low, high = (own[c].to_numpy() for c in ("time_s", "start_bytes", "end_bytes"))
        if len(x) == 0:
            continue
        if what == "new" and len(x) > MOST:
            x, low, high = thin.bars(x, low, high, *thin.FINEST)
        kept = thin.dots_at_most(x, low, MOST)
        x, low, high = x[kept], low[kept], high[kept]
        tally.count(len(x), len(own))
        kind: Kind = "bars" if look.bar else "marks"
        layer = _layer(kind, look.label, look.colour, look.dark, x, high, low)
        layer["marker"], layer["hollow"] = look.marker, look.hollow
        layers.append(layer)
    return layers


def _flight(direction: Direction, tally: _Tally) -> list[Layer]:
    frame = outstanding.compute(direction)
    return [
        _curve("step", "receiver's window", (AMBER, _DARK[AMBER]), frame, "window_bytes", tally),
        _curve("step", "in flight", (BLUE, _DARK[BLUE]), frame, "outstanding_bytes", tally),
    ]


def _rates(direction: Direction, tally: _Tally) -> list[Layer]:
    frame = throughput.compute(direction)
    length = 1e3 * frame["bin_s"][0]
    repeated = (VERMILLION, _DARK[VERMILLION])
    unique = f"unique bytes, in {length:g} ms"
    return [
        _curve("step", "with repeated bytes", repeated, frame, "sent_bps", tally),
        _curve("step", unique, (BLUE, _DARK[BLUE]), frame, "throughput_bps", tally),
        _curve("line", "mean so far", (GREEN, _DARK[GREEN]), frame, "mean_bps", tally),
    ]


def _samples(direction: Direction, tally: _Tally) -> list[Layer]:
    frame = rtt.compute(direction)
    return _dots("sample", frame["time_s"].to_numpy(), frame["rtt_s"].to_numpy(), tally)


def _gaps(direction: Direction | Talk, tally: _Tally) -> list[Layer]:
    frame = inter_arrival.compute(direction)
    gap = frame["gap_s"].to_numpy()
    positive = gap[gap > 0]
    # A logarithmic axis has no 0: packets of one instant lie on its lowest line.
    shown = np.maximum(gap, float(positive.min()) if len(positive) else 1e-9)
    return _dots("packet", frame["time_s"].to_numpy(), shown, tally, log=True)


def _dots(
    label: str, x: np.ndarray, y: np.ndarray, tally: _Tally, *, log: bool = False
) -> list[Layer]:
    kept = thin.dots_at_most(x, np.log(y) if log else y, MOST)
    tally.count(len(kept), len(x))
    return [_layer("dots", label, BLUE, _DARK[BLUE], x[kept], y[kept])]


def _curve(
    kind: Kind,
    label: str,
    colours: tuple[str, str],
    frame: pl.DataFrame,
    column: str,
    tally: _Tally,
) -> Layer:
    known = frame.select("time_s", column).drop_nulls()
    x, y = known["time_s"].to_numpy(), known[column].to_numpy()
    kept = thin.line(x, y, _COLUMNS)
    tally.count(len(kept), len(x))
    return _layer(kind, label, *colours, x[kept], y[kept])


def _layer(
    kind: Kind,
    label: str,
    colour: str,
    dark: str,
    x: np.ndarray,
    y: np.ndarray,
    low: np.ndarray | None = None,
) -> Layer:
    layer: Layer = {
        "kind": kind,
        "label": label,
        "colour": colour,
        "dark": dark,
        "x": _packed(x),
        "y": _packed(y),
    }
    if low is not None:
        layer["low"] = _packed(low)
    return layer


def _panel(
    name: str,
    title: str,
    unit: Unit,
    layers: list[Layer],
    *,
    log: bool = False,
    top: float | None = None,
) -> Panel:
    return {
        "name": name,
        "title": title,
        "height": _HEIGHTS.get(name, _HEIGHT),
        "unit": unit,
        "log": log,
        "top": top,
        "layers": layers,
    }


def _packed(values: np.ndarray) -> str:
    """Doubles, little-endian, in base64."""
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()
