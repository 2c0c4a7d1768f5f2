"""How completion times, round trips and waits of a run are distributed, as the figures draw it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_hex

from cclab import metrics
from cclab.drawing.marks import dash_lengths
from cclab.drawing.palette import Looks, lent
from cclab.report.explore.numbers import packed
from cclab.report.figures import completion, named, probes, queue_cdf
from cclab.report.quantities import transfers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cclab.measure.points import Measured, Point
    from cclab.report.explore.document import Distribution, Share
    from cclab.store.trace import Columns

MOST_POINTS = 200
"""Steps of a line; of more values evenly chosen ones are drawn."""


class Distributions:
    """Those of runs of a sweep, whose flows look the same in all of them."""

    def __init__(self, points: Sequence[Point]) -> None:
        """Of runs of these `points`."""
        kinds = {metrics.kind(flow) for point in points for flow in point.flows}
        self._looks = Looks(lent([kinds]))

    def of(
        self, point: Point, run: Measured, read: Mapping[str, Columns | None]
    ) -> list[Distribution]:
        """All that there are of a run of a point, whose trace has been `read`."""
        every = (self._completion(point, run), _round_trips(run, read), _waits(run))
        return [distribution for distribution in every if distribution["curves"]]

    def _completion(self, point: Point, run: Measured) -> Distribution:
        def curves() -> Iterator[Share]:
            if not transfers(point):
                return
            alone = dataclasses.replace(point, runs=[run])
            for label, variant, took in completion.times_of(alone, []):
                ends = np.sort([time for time in took if time is not None])
                look = self._looks.of(label, variant)
                if len(took) >= completion.LEAST and len(ends):
                    shares = np.arange(1, len(ends) + 1) / len(took)
                    yield _share(label, ends, shares, color=look.colour, linestyle=look.dash)

        return {
            "quantity": "completion time",
            "share": completion.SHARE,
            "spread": completion.SPREAD,
            "span": 0.0,
            "curves": list(curves()),
        }


def _round_trips(run: Measured, read: Mapping[str, Columns | None]) -> Distribution:
    def curves() -> Iterator[Share]:
        table, samples = read["probes"], read["probe_samples"]
        if table is None or samples is None:
            return
        warmup = run.run.scenario["warmup"] * 1e-9
        for place, (number, name) in enumerate(zip(table["probe"], table["name"], strict=True)):
            rows = samples["probe"] == number
            sent, rtts = samples["sent_ns"][rows] * 1e-9, samples["rtt_ns"][rows] * 1e-9
            rtts = probes.answered(sent, rtts, warmup)
            if len(rtts):
                sent_in_all = max(probes.requests(run, name), len(rtts))
                shares = np.arange(1, len(rtts) + 1) / sent_in_all
                yield _share(name, rtts, shares, **named.look_by_hue(place))

    return {
        "quantity": probes.ROUND_TRIP,
        "share": probes.SHARE,
        "spread": probes.SPREAD,
        "span": 0.0,
        "curves": list(curves()),
    }


def _waits(run: Measured) -> Distribution:
    def curves() -> Iterator[Share]:
        for place, (name, (times, counts)) in enumerate(queue_cdf.waits([run]).items()):
            shares = np.cumsum(counts) / counts.sum()
            yield _share(f"queue {name}", times, shares, **named.look(place, place))

    return {
        "quantity": "queue delay",
        "share": queue_cdf.SHARE,
        "spread": 0.0,
        "span": queue_cdf.SPAN,
        "curves": list(curves()),
    }


def _share(label: str, values: np.ndarray, shares: np.ndarray, **look: Any) -> Share:
    """A line, in the look of a figure's."""
    last = len(values) - 1
    kept = np.unique(np.linspace(0, last, min(len(values), MOST_POINTS)).round().astype(int))
    return {
        "label": label,
        "colour": to_hex(look["color"]),
        "dash": dash_lengths(look["linestyle"]),
        "values": packed(values[kept].astype("<f4")),
        "shares": packed(shares[kept].astype("<f4")),
    }
