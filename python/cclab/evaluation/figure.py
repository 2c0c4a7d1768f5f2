"""The figure of a criterion: the subject and each standard at every setting."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

from cclab.drawing import legend
from cclab.drawing.marks import settings as looks_of
from cclab.drawing.palette import apart
from cclab.drawing.sheet import alone
from cclab.drawing.style import LOST
from cclab.drawing.ticks import finished, logged
from cclab.evaluation import told

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.evaluation.evidence import Line, Sample, Setting

_ROW_IN = 0.32
_LETTER_IN = 0.068
_PANEL_IN = 4.2
_LETTERS = int(_PANEL_IN / _LETTER_IN)
"""What of a label fits below a panel."""
_SPREAD = 0.5
"""Of a row, that its variants are spread over."""

_LOGARITHMIC = 30.0
"""The ratio of the largest mean to the smallest from which on the axis is logarithmic."""


def draw(line: Line) -> Drawing | None:
    """The figure; None where nothing was measured."""
    if not _means(line):
        return None
    return finished(lambda: _drawn(line))


def _means(line: Line) -> list[float]:
    samples = [sample for setting in line.settings for sample in _samples(setting)]
    return [sample.estimate.mean for sample in samples if sample.estimate is not None]


def _samples(setting: Setting) -> list[Sample]:
    """The subject's, and those of the standards that are others than it: a file that is called as a
    standard has another name."""
    beside = [b.standard for b in setting.besides if b.standard.variant != setting.subject.variant]
    return [setting.subject, *beside]


def _drawn(line: Line) -> Drawing:
    criterion, means = line.criterion, _means(line)
    bounds = [bound for bound in (criterion.below, criterion.above) if bound is not None]
    divisor, unit = told.scale(criterion, max(abs(number) for number in (*means, *bounds)))
    labels = [setting.label for setting in line.settings]
    variants = dict.fromkeys(s.variant for setting in line.settings for s in _samples(setting))
    looks = apart(variants)
    height = 0.55 + _ROW_IN * max(len(labels), 2)
    width = _PANEL_IN + _LETTER_IN * max(map(len, labels))
    figure, axes = alone((width, height))
    for row, setting in enumerate(line.settings):
        samples = _samples(setting)
        for place, sample in enumerate(samples):
            shift = _SPREAD * (place - (len(samples) - 1) / 2) / len(samples)
            _mark(axes, row + shift, sample, looks[sample.variant], divisor)
    least = min(number for number in means)
    if least > 0 and max(means) > _LOGARITHMIC * least:
        logged(axes.xaxis)
    for bound in bounds:
        axes.axvline(bound / divisor, color=LOST, linewidth=0.8, linestyle="--", zorder=1)
    axes.margins(x=0.05)
    if least >= 0 and axes.get_xscale() == "linear":
        axes.set_xlim(0, 1.04 * axes.get_xlim()[1])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    better = {"higher": "more is better", "lower": "less is better"}[criterion.better]
    measure = criterion.measure[0].upper() + criterion.measure[1:]
    scaled = ", logarithmic" if axes.get_xscale() == "log" else ""
    label = f"{measure}{f' ({unit})' if unit else ''}; {better}{scaled}"
    axes.set_xlabel(fill(label, _LETTERS))
    legend.above(figure, _entries(looks, bounded=bool(bounds)))
    return figure


def _mark(axes: Axes, place: float, sample: Sample, look: Look, divisor: float) -> None:
    value = sample.estimate
    if value is None:
        return
    if value.low is not None and value.high is not None:
        ends = [value.low / divisor, value.high / divisor]
        axes.plot(ends, [place, place], color=look.colour, linewidth=1.4)
    looks = looks_of(look, 5.0, linestyle="none", zorder=3)
    axes.plot([value.mean / divisor], [place], **looks)


def _entries(looks: dict[str, Look], *, bounded: bool) -> list[Artist]:
    entries: list[Artist] = [
        legend.entry(variant, look, linestyle="none") for variant, look in looks.items()
    ]
    if bounded:
        entries.append(Line2D([], [], color=LOST, linewidth=0.8, linestyle="--", label="bound"))
    return entries
