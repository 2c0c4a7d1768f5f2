"""Labels at the axes of figures stay apart."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from cclab.drawing import ticks
from cclab.drawing.style import Drawing, styled
from cclab.errors import InputError
from cclab.report import figures
from drawing import late, parts, six_transfers, sweep_of_flows

if TYPE_CHECKING:
    from pathlib import Path


def _all_labels_apart(figure: Drawing, kind: str) -> None:
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            texts = [text.get_text() for text in ticks.labels(axis)]
            assert not ticks.overlaps(axis), (kind, texts)


def test_no_label_of_a_tick_runs_into_the_next_in_any_figure(tmp_path: Path) -> None:
    (tmp_path / "transfers").mkdir()
    transfers = six_transfers(tmp_path / "transfers")
    head, short, long = parts()
    file = tmp_path / "wide.toml"
    variants = '["reno", "cubic"]'
    sweep = (
        f'[sweep]\n"flow.short.cc" = {variants}\n"flow.long.cc" = {variants}\n'
        '"network.bottleneck.queue.limit" = ["0.5bdp", "1bdp", "1.25bdp", "2bdp", "8bdp"]\n'
    )
    file.write_text(head + short + long + sweep)
    short_runs = ["duration=600ms", "warmup=0s", 'trace.events=["state"]']
    wide = cclab.run(file, out=tmp_path / "wide", repeat=5, set=short_runs)
    part = {"flow.short.cc": "reno", "flow.long.cc": "cubic"}
    many = (
        '[[flow]]\ncc = "cubic"\ncount = 9\nrtt = "40ms"\n[[probe]]\nname = "ping"\nrtt = "20ms"\n'
    )
    (tmp_path / "many").mkdir()
    queue = ("network.bottleneck.queue.kind=dualpi2", "network.bottleneck.queue.limit=1000p")
    crowd = late(tmp_path / "many", many, "duration=1s", *queue)
    drawn = set()
    for kind in figures.FIGURES:
        for results, where in ((transfers, None), (wide, None), (wide, part), (crowd, None)):
            for narrow in ({}, {"width": 2.4}):
                try:
                    figure = results.figure(kind.name, where=where, set=narrow)
                except InputError:
                    continue  # Too much, or nothing of its kind.
                _all_labels_apart(figure, kind.name)
                drawn.add(kind.name)
    assert drawn == {kind.name for kind in figures.FIGURES}


def test_ticks_that_would_run_into_each_other_become_fewer() -> None:
    with styled():
        figure = Drawing(figsize=(1.6, 1.6), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([0.015, 0.0225], [0, 1])
        axes.set_xticks(np.arange(0.015, 0.0226, 0.00125))
        figure.draw_without_rendering()
        assert ticks.overlaps(axes.xaxis)
        ticks.settled(figure)
    assert len(ticks.labels(axes.xaxis)) > 1
    _all_labels_apart(figure, "plain")


@pytest.mark.parametrize("kind", ["goodput", "jain"])
def test_labels_of_many_sweep_points_stay_apart(tmp_path: Path, kind: str) -> None:
    figure = sweep_of_flows(tmp_path, 2, 60).figure(kind)
    (axes,) = figure.axes
    labels = [t.get_window_extent() for t in axes.get_xticklabels() if t.get_text()]
    assert len(labels) > 8
    # They end at their ticks, slanted: apart where the ticks are further apart than a line is high.
    height = 8 / 72 * figure.dpi / np.sin(np.radians(35))
    assert all(b.x1 - a.x1 > height for a, b in itertools.pairwise(labels))
    assert all("one flow has all" in text.get_text() for text in axes.texts)
