"""The kit that all figures are made with: panels with their labels, and intervals in them."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection

from cclab.drawing import thin
from cclab.drawing.marks import band, whisker
from cclab.drawing.sheet import alone, folded, sheet
from cclab.drawing.style import Drawing, styled, svg
from cclab.drawing.ticks import finished, labels, logged, spanned
from cclab.measure.stats import Estimate


def _estimate(mean: float, half: float | None) -> Estimate:
    if half is None:
        return Estimate(mean, None, None, 1)
    return Estimate(mean, mean - half, mean + half, 5)


def test_labels_stand_at_the_foot_and_on_the_left_alone() -> None:
    made = sheet((6.0, 4.0), 5, 3)
    made.label("across", "up")
    assert [axes.get_xlabel() for axes in made.panels] == ["", "", "across", "across", "across"]
    assert [axes.get_ylabel() for axes in made.panels] == ["up", "", "", "up", ""]
    shown = [axes.xaxis.get_tick_params()["labelbottom"] for axes in made.panels]
    assert shown == [False, False, True, True, True]


def test_stacked_axes_of_a_panel_share_time_and_only_the_lowest_tells_it() -> None:
    made = sheet((6.0, 4.0), 2, 2, rows_each=2, one_y=False, every_x=True)
    (upper, _), (lower, _) = made.rows
    upper.set_xlim(0, 7)
    upper.set_ylim(0, 3)
    assert [axes.get_xlim() for row in made.rows for axes in row] == [(0, 7)] * 4
    assert lower.get_ylim() != (0, 3)
    assert lower.get_position().y1 <= upper.get_position().y0
    assert not upper.xaxis.get_tick_params()["labelbottom"]
    assert lower.xaxis.get_tick_params()["labelbottom"]


def test_a_band_has_a_gap_where_an_estimate_has_no_interval() -> None:
    _, axes = alone((4.0, 3.0))
    halves = (0.1, 0.1, None, 0.2, 0.2)
    band(axes, [(float(x), _estimate(1.0, half)) for x, half in enumerate(halves)], "#000000", 0.5)
    (drawn,) = axes.collections
    assert isinstance(drawn, PolyCollection)
    shapes = [np.asarray(path.vertices) for path in drawn.get_paths()]
    assert [(shape[:, 0].min(), shape[:, 0].max()) for shape in shapes] == [(0.0, 1.0), (3.0, 4.0)]
    assert np.isclose(shapes[1][:, 1].max(), 2.4)


def test_without_intervals_there_is_neither_band_nor_whisker() -> None:
    _, axes = alone((4.0, 3.0))
    band(axes, [(0.0, _estimate(1.0, None)), (1.0, _estimate(2.0, None))], "#000000")
    whisker(axes, 0.0, _estimate(1.0, None))
    assert not axes.collections
    assert not axes.lines
    whisker(axes, 0.0, _estimate(2.0, 0.5), 10.0)
    assert np.allclose(axes.lines[0].get_ydata(), (0.15, 0.25))


def test_a_span_is_logarithmic_where_values_are_far_apart() -> None:
    for least, most, scale, ends in (
        (1.0, 3.9, "linear", (0.0, 4.017)),
        (1.0, 4.1, "log", (0.9, 4.51)),
        (0.0, 9.0, "linear", (0.0, 9.27)),
        (0.0, 0.0, "linear", (0.0, 1.0)),
    ):
        _, axes = alone((4.0, 3.0))
        spanned(axes.xaxis, least, most, 4.0)
        assert axes.get_xscale() == scale
        assert np.allclose(axes.get_xlim(), ends)


def test_a_title_breaks_between_its_parts() -> None:
    title = folded(["rate = 10Mbit", "limit = 1bdp"], 16)
    assert title.replace("\u00a0", " ") == "rate = 10Mbit,\nlimit = 1bdp"
    assert folded(["a = b"], 3) == "a =\nb"


def test_the_extremes_of_a_long_curve_stay() -> None:
    x = np.arange(100_000.0)
    y = np.zeros(100_000)
    y[[31_415, 65_358]] = 7.0, -2.0
    kept_x, kept_y = thin.extremes(x, y, 1200)
    assert len(kept_x) < 1300
    assert {31_415.0, 65_358.0} <= set(kept_x)
    assert (kept_y.min(), kept_y.max()) == (-2.0, 7.0)
    assert (kept_x[0], kept_x[-1]) == (0.0, 99_999.0)


def test_dollars_in_names_are_dollars_and_no_figure_sets_mathematics() -> None:
    """`kill -SEGV $$` in a swept command ended the report; `$a$` would have been slanted."""

    def draw() -> Drawing:
        made = sheet((4, 3), 1, 1)
        [axes] = made.panels
        axes.set_title("kill -SEGV $$, then $a_b$")
        axes.plot([1, 2], [1e-5, 10.0])
        logged(axes.yaxis)
        return made.figure

    figure = finished(draw)
    assert figure is not None
    assert svg(figure).startswith(b"<?xml")
    with styled():
        [axes] = figure.axes
        figure.draw_without_rendering()
        shown = [label.get_text() for label in labels(axes.yaxis)]
    assert len(shown) >= 2
    assert all(float(text.replace("\N{MINUS SIGN}", "-")) > 0 for text in shown)
