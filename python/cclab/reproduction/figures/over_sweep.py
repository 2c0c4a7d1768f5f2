"""Figures over a sweep: lines or bars of a metric, the printed points over them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from cclab.drawing.legend import above, entry
from cclab.drawing.marks import band, settings, whisker
from cclab.drawing.palette import LOOKS, Look, lent, look
from cclab.drawing.sheet import sheet
from cclab.drawing.style import INK
from cclab.drawing.ticks import logged, slanted
from cclab.measure.stats import estimate
from cclab.plan import in_words, short_key, text
from cclab.quantities import names, points
from cclab.reproduction import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing
    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.reproduction.file import Published
    from cclab.reproduction.schema import FigureOf

_COLUMNS = 3
_DASHES: dict[str, Any] = {"sim": "solid", "linux": (0, (4.0, 1.6)), "netns": (0, (1.2, 1.4))}
_NEUTRAL = ("reno", "cubic", "bbr", "vegas", "highspeed", "dctcp", "lp", "tahoe")
"""Variants whose looks are lent to series that are no variants."""


@dataclass
class Series:
    """The points of one line, or the bars of one colour, in one panel."""

    backend: str
    ours: dict[float, Estimate] = field(default_factory=dict)
    """Our estimates by place on the axis."""
    printed: dict[float, list[float]] = field(default_factory=dict)


Label = tuple[str, str]
"""A panel and a series in words."""


def draw(published: Published, figure: FigureOf, measured: dict[str, Results]) -> Drawing | None:
    """The figure; None if none of its points was run."""
    axis = _Axis(figure, next(iter(measured.values())))
    by_label: dict[tuple[Label, str], Series] = {}
    for backend, results in measured.items():
        for point in points.at(results.points, figure.at):
            for flow in _flows(figure, point):
                at = axis.place(point)
                key = (_label(figure, point, flow), backend)
                value = estimate(
                    names.evaluated(figure.y, point, i, flow) for i in range(len(point.runs))
                )
                if value is not None:
                    by_label.setdefault(key, Series(backend)).ours[at] = value
    if not by_label:
        return None
    _add_printed(published, figure, measured, axis, by_label)
    return _Sheet(figure, axis, by_label).draw()


class _Axis:
    """The places of the values of the swept key: by size if they are numbers, else in turn."""

    def __init__(self, figure: FigureOf, results: Results) -> None:
        self.key = figure.x
        chosen = points.at(results.points, figure.at)
        self.values = [v for v, _ in points.along(chosen, figure.x)] if figure.x else [""]
        numbers = [points.number(value) for value in self.values]
        self.numeric = figure.kind == "lines" and all(n is not None for n in numbers)
        self.unit, self.unit_name = _unit(self.values) if self.numeric else (1.0, "")

    def place(self, point: Point) -> float:
        value = point.params[self.key] if self.key else ""
        if self.numeric:
            return float(points.number(value) or 0.0) / self.unit
        return float(next((i for i, v in enumerate(self.values) if points.same(v, value)), 0))

    @property
    def label(self) -> str:
        if not self.key:
            return ""
        return (
            f"{short_key(self.key)} ({self.unit_name})" if self.unit_name else short_key(self.key)
        )


def _unit(values: Sequence[object]) -> tuple[float, str]:
    """The unit that the values are written in, if they share one."""
    names = {str(v).lstrip("0123456789.+-e ") if isinstance(v, str) else "" for v in values}
    name = next(iter(names)) if len(names) == 1 else ""
    factor = points.number(f"1{name}") if name else 1.0
    return (factor or 1.0, name if factor else "")


def _flows(figure: FigureOf, point: Point) -> list[str]:
    named = [name for pattern in figure.flows for name in points.flows(point, pattern)]
    return list(dict.fromkeys(named)) or [""]


def _label(figure: FigureOf, point: Point, flow: str) -> Label:
    panel = ", ".join(in_words({key: point.params[key] for key in figure.panels}))
    several = "flow" in figure.series
    words = [flow] if several else []
    words += [text(point.params[k]) for k in figure.series if k != "flow"]
    return panel, ", ".join(words)


def _add_printed(
    published: Published,
    figure: FigureOf,
    measured: dict[str, Results],
    axis: _Axis,
    by_label: dict[tuple[Label, str], Series],
) -> None:
    """The printed points, each in the series that its row belongs to."""
    experiment = published.experiment(figure.experiment)
    if figure.published is None or experiment.rows is None:
        return
    backend, results = next(iter(measured.items()))
    drawn = {p.index for p in points.at(results.points, figure.at)}
    for row in printed.rows_of(published, experiment, figure.published.where):
        point, flow = printed.place(experiment.rows, row, results)
        value = printed.printed(figure.published.y, row)
        if point is None or point.index not in drawn or value is None:
            continue
        if flow and flow not in _flows(figure, point):
            continue
        series = by_label.get((_label(figure, point, flow), backend))
        if series is not None:
            series.printed.setdefault(axis.place(point), []).append(value)


class _Sheet:
    """A figure in the making."""

    def __init__(
        self, figure: FigureOf, axis: _Axis, by_label: dict[tuple[Label, str], Series]
    ) -> None:
        self.figure = figure
        self.axis = axis
        self.by_label = by_label
        self.panels = list(dict.fromkeys(panel for (panel, _), _ in by_label))
        self.series = list(dict.fromkeys(series for (_, series), _ in by_label))
        self.backends = list(dict.fromkeys(backend for _, backend in by_label))
        self.looks = {s: self._look(s, i) for i, s in enumerate(self.series)}

    def _look(self, series: str, index: int) -> Look:
        variant = next((word for word in series.split(", ") if word in LOOKS), None)
        if variant is None:
            return look(_NEUTRAL[index % len(_NEUTRAL)], index // len(_NEUTRAL))
        alike = [s for s in self.series if variant in s.split(", ")]
        hues = lent([[variant]]) if len(alike) == len(self.series) else ()
        return look(variant, alike.index(series), hues)

    def draw(self) -> Drawing:
        across = min(len(self.panels), _COLUMNS)
        down = math.ceil(len(self.panels) / across)
        width = 5.6 if across == 1 else 3.4 * across
        if self.figure.kind == "bars" and across == 1:
            bars = len(self.axis.values) * len(self.series) * len(self.backends)
            width = min(11.0, max(width, 1.2 + 0.16 * bars))
        made = sheet((width, (3.0 if across == 1 else 2.4) * down), len(self.panels), across)
        for axes, panel in zip(made.panels, self.panels, strict=True):
            if panel:
                axes.set_title(panel, fontsize=7.5)
            self._panel(axes, panel)
        made.label(self.figure.xlabel or self.axis.label, self.figure.ylabel or self.figure.y)
        self._scales(made.panels[0])
        above(made.figure, self._legend())
        return made.figure

    def _panel(self, axes: Axes, panel: str) -> None:
        for (label, backend), series in self.by_label.items():
            if label[0] == panel:
                style = self.looks[label[1]]
                if self.figure.kind == "lines":
                    _line(axes, series, style, self._dash(backend, style))
                else:
                    self._bars(axes, label[1], backend, series, style)
        if not self.axis.numeric:
            axes.set_xticks(range(len(self.axis.values)), [text(v) for v in self.axis.values])
            axes.grid(visible=False, axis="x")
            axes.set_xlim(-0.6, len(self.axis.values) - 0.4)
            if sum(len(text(v)) for v in self.axis.values) > 36:
                slanted(axes, 35)

    def _dash(self, backend: str, style: Look) -> Any:
        """The backend's where there are several, else the variant's: kin share a colour."""
        return _DASHES[backend] if len(self.backends) > 1 else style.dash

    def _bars(self, axes: Axes, name: str, backend: str, series: Series, style: Look) -> None:
        lanes = len(self.series) * len(self.backends)
        lane = self.series.index(name) * len(self.backends) + self.backends.index(backend)
        step = 0.8 / lanes
        shift = (lane - (lanes - 1) / 2) * step
        hatch = "" if backend == self.backends[0] else "////"
        for at, value in series.ours.items():
            axes.bar(
                at + shift, value.mean, 0.92 * step, color="white" if hatch else style.colour,
                edgecolor=style.colour, hatch=hatch, linewidth=0.6,
            )  # fmt: skip
            whisker(axes, at + shift, value, color=INK, linewidth=0.9, zorder=3)
        for at, values in series.printed.items():
            # Over the bars of every backend: the printed number is of none of them.
            middle = shift + (len(self.backends) - 1) / 2 * step
            _points(axes, [at + middle] * len(values), values, style)

    def _scales(self, axes: Axes) -> None:
        if self.axis.numeric:
            places = [at for series in self.by_label.values() for at in series.ours]
            if "x" in self.figure.log and min(places) > 0:
                logged(axes.xaxis)
                axes.set_xlim(min(places) / 1.15, max(places) * 1.15)
            else:
                margin = 0.03 * (max(places) - min(places) or 1.0)
                axes.set_xlim(min(places) - margin, max(places) + margin)
        if "y" in self.figure.log:
            logged(axes.yaxis)
        else:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))

    def _legend(self) -> list[Artist]:
        handles: list[Artist] = []
        if len(self.series) > 1 or self.series[0]:
            for name in self.series:
                style = self.looks[name]
                handles.append(
                    entry(name, style, linestyle=self._dash(self.backends[0], style))
                    if self.figure.kind == "lines"
                    else Patch(facecolor=style.colour, label=name)
                )
        if len(self.backends) > 1:
            for backend in self.backends:
                first = backend == self.backends[0]
                handles.append(
                    entry(backend, color=INK, linestyle=_DASHES[backend])
                    if self.figure.kind == "lines"
                    else Patch(
                        facecolor=INK if first else "white",
                        edgecolor=INK,
                        hatch="" if first else "////",
                        label=backend,
                    )
                )
        if any(series.printed for series in self.by_label.values()):
            handles.append(entry("published", color=INK, **_PRINTED))
        return handles


_PRINTED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 5,
    "markerfacecolor": "white",
    "markeredgewidth": 1.0,
}


def _line(axes: Axes, series: Series, style: Look, dash: Any) -> None:
    points = sorted(series.ours.items(), key=lambda pair: pair[0])
    look = settings(style, 3.2, linestyle=dash, markeredgewidth=0.4)
    axes.plot([x for x, _ in points], [value.mean for _, value in points], **look)
    band(axes, points, style.colour)
    for at, printed_values in series.printed.items():
        _points(axes, [at] * len(printed_values), printed_values, style)


def _points(axes: Axes, x: list[float], y: list[float], style: Look) -> None:
    axes.plot(x, y, **_PRINTED, markeredgecolor=style.colour, zorder=4)
