"""Ellipses around the runs of a flow, in the figure of delay against throughput."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.patches import Ellipse
from scipy import stats

from cclab.report.figures import tradeoff
from drawing import swept, told_in

if TYPE_CHECKING:
    from pathlib import Path


def test_the_ellipse_is_that_of_one_standard_deviation(tmp_path: Path) -> None:
    results = swept(tmp_path, '"flow.short.cc" = ["cubic"]\n"flow.long.cc" = ["vegas"]\n')
    figure = results.figure("tradeoff")
    [axes] = figure.axes
    assert axes.xaxis_inverted()
    assert told_in(figure) == ["short (cubic)", "long (vegas)"]
    ellipses = [patch for patch in axes.patches if isinstance(patch, Ellipse)]
    dots = [line for line in axes.lines if line.get_marker() == "."]
    assert len(ellipses) == len(dots) == 2
    for name, ellipse, runs in zip(["short", "long"], ellipses, dots, strict=True):
        own = results.flows.filter(name=name)
        # The study has a warm-up.
        x = own["window_rtt_p95_s"].to_numpy() * 1e3
        y = own["window_goodput_bps"].to_numpy() / 1e6
        assert np.asarray(runs.get_xdata()) == pytest.approx(x)
        assert np.asarray(runs.get_ydata()) == pytest.approx(y)
        assert ellipse.get_center() == pytest.approx((x.mean(), y.mean()))
        covariance = np.cov(x, y)
        turn = math.radians(ellipse.angle)
        turned = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        halves = np.diag([(ellipse.width / 2) ** 2, (ellipse.height / 2) ** 2])
        assert turned @ halves @ turned.T == pytest.approx(covariance, rel=1e-6, abs=1e-9)


def test_the_confidence_ellipse_holds_the_mean_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    mixed = np.array([[2.0, 0.5], [0.0, 1.0]])
    for n in (5, 20):
        far = tradeoff.deviations_of_confidence(n)
        quantile = stats.f.ppf(0.95, 2, n - 2)
        assert far**2 == pytest.approx(2 * (n - 1) / (n - 2) * quantile / n, rel=1e-9)
        held = 0
        for _ in range(4000):
            x, y = mixed @ random.standard_normal((2, n))
            mean = np.array([x.mean(), y.mean()])
            held += bool(mean @ np.linalg.solve(np.cov(x, y), mean) <= far**2)
        assert held / 4000 == pytest.approx(0.95, abs=0.011)  # three standard errors
    narrow, wide = tradeoff.ellipse(x, y), tradeoff.ellipse(x, y, far)
    assert (wide.width, wide.angle) == (pytest.approx(far * narrow.width), narrow.angle)


def test_from_five_runs_there_are_both_ellipses(tmp_path: Path) -> None:
    figure = swept(tmp_path, '"flow.long.cc" = ["reno", "vegas"]\n', repeat=5).figure("tradeoff")
    patches = [p for axes in figure.axes for p in axes.patches if isinstance(p, Ellipse)]
    assert [patch.get_linestyle() for patch in patches] == [":", "solid"] * (len(patches) // 2)
    assert len(patches) == 8
    for spread, sure in zip(patches[::2], patches[1::2], strict=True):
        assert sure.get_center() == spread.get_center()
        # 2 x 4 / 3 x 9.552 / 5, with the F of tables.
        assert sure.width / spread.width == pytest.approx(math.sqrt(5.0944), rel=1e-3)


def test_two_runs_have_no_ellipse(tmp_path: Path) -> None:
    figure = swept(tmp_path, '"flow.long.cc" = ["reno", "vegas"]\n', repeat=2).figure("tradeoff")
    assert not figure.axes[0].patches
    assert [line.get_marker() for line in figure.axes[0].lines].count(".") == 4
