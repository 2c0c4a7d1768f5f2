"""Figures: panels keep their size and stay clear of the legend, however many flows there are."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from cclab import _core, report
from cclab.errors import InputError
from cclab.report import figures
from cclab.report.palette import LOOKS
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.report.figures.style import Drawing

_LEAST_HEIGHT_IN = 1.2


def _results(folder: Path, flows: int, points: int) -> Results:
    """Short runs of `flows` flows in all at `points` sweep points."""
    each = max(1, flows // 2)
    head, short, long = _parts()
    counted = [part.replace("cc ", f"count = {each}\ncc ") for part in (short, long)]
    limits = ", ".join(f'"{number + 1}bdp"' for number in range(points))
    sweep = f'[sweep]\n"network.bottleneck.queue.limit" = [{limits}]\n'
    file = folder / "study.toml"
    file.write_text(head + "".join(counted[: min(flows, 2)]) + sweep)
    settings = ["duration=1s", "warmup=100ms"]
    return cclab.run(file, out=folder / "out", repeat=1, set=settings)


def _parts() -> list[str]:
    """What the study of the tests says before its flows, and of each of them."""
    head, short, rest = STUDY.split("[[flow]]")
    long, _ = rest.split("[sweep]")
    return [head, "[[flow]]" + short, "[[flow]]" + long]


@pytest.mark.parametrize(("flows", "points"), [(1, 2), (2, 4), (8, 2), (20, 4)])
def test_panels_keep_their_height_beside_a_legend_of_any_length(
    tmp_path: Path, flows: int, points: int
) -> None:
    results = _results(tmp_path, flows, points)
    for kind in figures.FIGURES:
        figure = figures.draw(results, kind.name)
        if figure is None:
            continue
        for axes in figure.axes:
            height = axes.get_position().height * figure.get_figheight()
            assert height > _LEAST_HEIGHT_IN, kind.name
            for legend in figure.legends:
                taken, free = legend.get_window_extent(), axes.get_window_extent()
                assert not taken.overlaps(free), kind.name
                assert taken.x0 >= 0, kind.name
                assert taken.x1 <= figure.bbox.x1, kind.name


def test_four_sweep_points_make_a_square(tmp_path: Path) -> None:
    figure = _results(tmp_path, 2, 4).figure("queue")
    places = [axes.get_position() for axes in figure.axes]
    assert len({round(place.x0, 3) for place in places}) == 2
    assert len({round(place.y0, 3) for place in places}) == 2


_TRAFFIC_ALONE = """
title = "Traffic alone"
duration = "1s"

[network]
topology = "dumbbell"

[network.bottleneck]
rate = "10Mbit"
delay = "10ms"
queue = { limit = "50p" }

[[traffic]]
kind = "poisson"
load = 0.5
transfer = "30kB"
"""


@pytest.mark.parametrize("sweep", ["", '[sweep]\n"traffic.traffic1.load" = [0.2, 0.8]\n'])
def test_traffic_alone_has_no_figures_of_flows(tmp_path: Path, sweep: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(_TRAFFIC_ALONE + sweep)
    results = cclab.run(file, out=tmp_path / "out")
    drawn = [kind.name for kind in figures.FIGURES if figures.draw(results, kind.name)]
    assert drawn == ["queue"]


_GRAPH = """
title = "A graph whose link under study has a name of its own"
duration = "3s"

[network]
topology = "graph"

[[network.link]]
name = "first"
from = "a"
to = "b"
rate = "100Mbit"
delay = "1ms"

[[network.link]]
name = "narrow"
from = "b"
to = "c"
rate = "5Mbit"
delay = "10ms"
queue = { limit = "20p" }
bottleneck = true

[[flow]]
cc = "reno"
from = "a"
to = "c"
"""


def _of_graph(folder: Path, *settings: str) -> Results:
    file = folder / "study.toml"
    file.write_text(_GRAPH)
    return cclab.run(file, out=folder / "out", set=list(settings))


def _told(figure: Drawing) -> list[str]:
    """What the legend above a figure names."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_the_queue_of_a_bottleneck_of_any_name_is_drawn(tmp_path: Path) -> None:
    figure = _of_graph(tmp_path).figure("queue")
    backlog = np.asarray(figure.axes[0].lines[0].get_ydata())
    assert 15 < backlog.max() <= 20  # in packets, as its limit is
    assert figure.axes[0].get_ylabel() == "backlog (packets)"
    heights = [np.unique(np.asarray(line.get_ydata())) for line in figure.axes[0].lines]
    assert [20] in [list(height) for height in heights]  # the limit
    assert _told(figure) == ["backlog", "drops"]


def test_marks_of_the_queue_are_shown_beside_drops(tmp_path: Path) -> None:
    marking = "network.link.1.queue={kind='codel', limit='30kB', ecn=true}"
    figure = _of_graph(tmp_path, marking, "flow.flow1.ecn=true").figure("queue")
    assert "ECN marks" in _told(figure)
    assert figure.axes[0].get_ylabel() == "backlog (kB)"


def test_no_legend_lies_over_sequence_numbers(tmp_path: Path) -> None:
    figure = _of_graph(tmp_path).figure("sequence")
    assert "loss repaired" in _told(figure)
    assert all(axes.get_legend() is None for axes in figure.axes)


def test_the_key_of_the_queue_names_drops_only_where_there_are_some(tmp_path: Path) -> None:
    figure = _of_graph(tmp_path, "network.link.1.queue.limit=10000p").figure("queue")
    assert _told(figure) == ["backlog"]


@pytest.mark.parametrize("kind", ["goodput", "jain"])
def test_labels_of_many_sweep_points_stay_apart(tmp_path: Path, kind: str) -> None:
    figure = _results(tmp_path, 2, 60).figure(kind)
    (axes,) = figure.axes
    labels = [t.get_window_extent() for t in axes.get_xticklabels() if t.get_text()]
    assert len(labels) > 8
    # They end at their ticks, slanted: apart where the ticks are further apart than a line is high.
    height = 8 / 72 * figure.dpi / np.sin(np.radians(35))
    assert all(b.x1 - a.x1 > height for a, b in itertools.pairwise(labels))
    assert all("1/n" in text.get_text() for text in axes.texts)


def test_the_axis_of_the_goodput_holds_every_expectation(tmp_path: Path) -> None:
    head, short, _ = _parts()
    file = tmp_path / "study.toml"
    # Half as many segments as packets; a queue of one packet keeps the flow well below that.
    head = head.replace('"1bdp"', '"1p"').replace('"10Mbit"', '"100Mbit"')
    file.write_text(head + short + 'packet_rate = 10000\n[sweep]\n"flow.mss" = ["536B", "957B"]\n')
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    figure = results.figure("goodput")
    (axes,) = figure.axes
    bars = [np.asarray(line.get_ydata()) for line in axes.lines if line.get_color() == "0.45"]
    assert len(bars) == 2
    assert np.max(bars) < axes.get_ylim()[1]
    assert _told(figure) == ["cubic", "expected"]


def test_an_expectation_is_drawn_over_time_without_a_sweep(tmp_path: Path) -> None:
    head, short, _ = _parts()
    file = tmp_path / "study.toml"
    file.write_text(head.replace('"10Mbit"', '"100Mbit"') + short + 'rwnd = "20kB"\n')
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    (axes,) = results.figure("throughput").axes
    (level,) = [line for line in axes.lines if line.get_color() == "0.45"]
    expected = cclab.Study.load(file).explain()[0].flows[0].expected_bps
    assert expected is not None
    assert axes.get_ylabel() == "throughput (Mbit/s)"
    assert np.asarray(level.get_ydata())[0] * 1e6 == pytest.approx(expected)


def test_no_two_variants_look_the_same() -> None:
    known = {variant["name"] for variant in json.loads(_core.variants())}
    assert known <= LOOKS.keys()
    points = [(style.colour, style.marker) for style in LOOKS.values()]
    assert len(set(points)) == len(points)


def test_a_queue_that_is_never_seen_full_is_said_to_be_empty(tmp_path: Path) -> None:
    figure = _of_graph(tmp_path, "network.link.0.rate=1Mbit").figure("queue")
    told = [text.get_text() for text in figure.axes[0].texts]
    assert told == ["empty in every sample", "limit"]


def test_a_figure_with_nothing_to_show_says_what_it_needs(tmp_path: Path) -> None:
    results = _of_graph(tmp_path)
    with pytest.raises(InputError, match=r"'share': it needs two flows .* 5 or more numbers"):
        results.figure("share")
    with pytest.raises(InputError, match=r"'goodput': it needs a sweep"):
        results.figure("goodput")


def test_a_trace_without_samples_has_no_figures_over_time(study: Path, tmp_path: Path) -> None:
    words = ["trace.interval=0s", "duration=1s"]
    results = cclab.run(study, out=tmp_path / "out", repeat=1, set=words)
    assert all(run.run.scenario["trace"]["interval"] == 0 for run in results.runs)
    drawn = {path.name for path in report.write(results, tmp_path / "report").parent.iterdir()}
    assert drawn.isdisjoint({"cwnd.svg", "queue.svg", "sequence.svg", "throughput.svg"})
    assert "goodput.svg" in drawn
