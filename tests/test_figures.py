"""Figures: panels keep their size and stay clear of the legend, however many flows there are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Rectangle

import cclab
from cclab import report
from cclab.errors import InputError
from cclab.report import figures, tables
from cclab.report.figures.panels import panels
from cclab.report.figures.throughput import binned
from drawing import FOUR, late, of_graph, parts, sweep_of_flows, told_in

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from cclab import Results


_LEAST_HEIGHT_IN = 1.2


@pytest.mark.parametrize(("flows", "points"), [(1, 2), (2, 4), (8, 2), (20, 4)])
def test_panels_keep_their_height_beside_a_legend_of_any_length(
    tmp_path: Path, flows: int, points: int
) -> None:
    results = sweep_of_flows(tmp_path, flows, points)
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
    figure = sweep_of_flows(tmp_path, 2, 4).figure("queue")
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


def test_no_legend_lies_over_sequence_numbers(tmp_path: Path) -> None:
    figure = of_graph(tmp_path).figure("sequence")
    assert "loss repaired" in told_in(figure)
    assert all(axes.get_legend() is None for axes in figure.axes)


def test_the_axis_of_the_goodput_holds_every_expectation(tmp_path: Path) -> None:
    head, short, _ = parts()
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
    assert told_in(figure) == ["cubic", "expected"]


def test_no_mark_of_a_goodput_hides_how_sure_it_is(results: Results) -> None:
    """An interval that is shorter than its mark is high was under it."""
    figure = results.figure("goodput")
    (axes,) = figure.axes
    assert _marks_with_wider_caps(axes) == 4
    written = [" ".join(text.get_text().split("\n")) for text in axes.texts]
    cells = [row[3] for group in tables.table(results).groups for row in group]
    assert sorted(written) == sorted(cells)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def _marks_with_wider_caps(axes: Axes) -> int:
    """How many marks stand in a panel, each before an interval whose caps are wider."""
    intervals = [line for line in axes.lines if line.get_marker() == "_"]
    marks = [line for line in axes.lines if str(line.get_marker()) in "osD^v"]
    assert len(intervals) == len(marks)
    for interval, mark in zip(intervals, marks, strict=True):
        assert interval.get_markersize() >= 1.8 * mark.get_markersize()
        assert np.ptp(interval.get_ydata()) > 0
    return len(marks)


def test_no_mark_of_an_index_hides_how_sure_it_is(results: Results) -> None:
    (axes,) = results.figure("jain").axes
    assert _marks_with_wider_caps(axes) == 2


def test_what_datagrams_leave_is_expected_and_the_captions_say_so(tmp_path: Path) -> None:
    head, short, _ = parts()
    file = tmp_path / "study.toml"
    call = '[[flow]]\nname = "call"\ntransport = "udp"\n'
    call += 'application = { kind = "constant-rate", rate = "4Mbit" }\n'
    beside = short + call + '[sweep]\n"flow.short.cc" = ["reno", "cubic"]\n'
    file.write_text(head + beside)
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    told = cclab.Study.load(file).explain()[0].flows[0]
    assert told.binds == "left"
    assert told.expected_bps is not None
    for kind in ("goodput", "throughput"):
        figure = results.figure(kind)
        grey = [line for line in figure.axes[0].lines if line.get_color() == "0.45"]
        heights = [float(np.asarray(line.get_ydata())[0]) for line in grey]
        assert pytest.approx(told.expected_bps / 1e6) in heights
        caption = " ".join(figures.kind_called(kind).caption.split())
        assert "what datagrams and cross traffic leave of a link" in caption


def test_an_expectation_far_above_does_not_squash_what_was_measured(tmp_path: Path) -> None:
    """A window of 77 Mbit/s through a queue of two packets: an arrow at the top stands for it."""
    head, short, _ = parts()
    file = tmp_path / "study.toml"
    head = head.replace('"1bdp"', '"2p"').replace('"10Mbit"', '"100Mbit"')
    file.write_text(head + short + 'rwnd = "193kB"\n[sweep]\n"flow.mss" = ["536B", "957B"]\n')
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    for kind in ("goodput", "throughput"):
        figure = results.figure(kind)
        highest = 0.0
        for axes in figure.axes:
            grey = [line for line in axes.lines if line.get_color() == "0.45"]
            assert {line.get_marker() for line in grey} == {"^"}
            heights = [np.max(line.get_ydata()) for line in axes.lines if line not in grey]
            highest = max(highest, *heights)
        assert highest > 0.6 * figure.axes[0].get_ylim()[1]
        assert "expected above the axis" in told_in(figure)


def test_an_expectation_is_drawn_over_time_without_a_sweep(tmp_path: Path) -> None:
    head, short, _ = parts()
    file = tmp_path / "study.toml"
    file.write_text(head.replace('"10Mbit"', '"100Mbit"') + short + 'rwnd = "20kB"\n')
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    (axes,) = results.figure("throughput").axes
    (level,) = [line for line in axes.lines if line.get_color() == "0.45"]
    expected = cclab.Study.load(file).explain()[0].flows[0].expected_bps
    assert expected is not None
    assert axes.get_ylabel() == "throughput (Mbit/s)"
    assert np.asarray(level.get_ydata())[0] * 1e6 == pytest.approx(expected)


def test_a_figure_with_nothing_to_show_says_what_it_needs(tmp_path: Path) -> None:
    results = of_graph(tmp_path)
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


def _drawn(axes: Axes) -> dict[str, np.ndarray]:
    """The times at which a panel has something, of each of the flows a to d, by their order."""
    named = zip("abcd", axes.lines[:4], strict=True)  # Marks of losses come later.
    return {name: np.asarray(line.get_xdata(), dtype=float) for name, line in named}


def test_a_flow_is_drawn_while_it_lasts_and_at_no_other_time(tmp_path: Path) -> None:
    results = late(tmp_path, FOUR)
    flows = {flow["name"]: flow for flow in results.runs[0].metrics["flows"]}
    for kind in ("cwnd", "throughput", "sequence"):
        figure = results.figure(kind)
        # A bin of throughput has its mark in its middle.
        width = 0.05 if kind == "throughput" else 1e-9
        for axes in figure.axes:
            for name, seconds in _drawn(axes).items():
                flow = flows[name]
                assert len(seconds), (kind, name)
                assert flow["started_s"] - width <= seconds.min(), (kind, name)
                end = flow["ended_s"] if flow["ended_s"] is not None else 4.0
                assert seconds.max() <= end + width, (kind, name)
                # And it is there from its start to its end, or to the last sample.
                assert seconds.min() < flow["started_s"] + 0.1, (kind, name)
                assert seconds.max() > end - 0.15, (kind, name)


def _many(folder: Path) -> Results:
    flows = "".join(
        f'[[flow]]\nname = "{cc}"\ncc = "{cc}"\ncount = {count}\nrtt = "40ms"\nstart = "{start}"\n'
        for cc, count, start in (("cubic", 6, "0s"), ("bbr", 3, "1s"))
    )
    return late(folder, flows)


def test_more_than_eight_flows_are_bands_of_quantiles(tmp_path: Path) -> None:
    results = _many(tmp_path)
    figure = results.figure("cwnd")
    [cubic, bbr] = figure.axes[0].lines
    assert told_in(figure)[:2] == ["cubic, 6 flows", "bbr, 3 flows"]
    assert told_in(figure)[2:] == ["median of the flows", "half of them", "nine in ten"]
    assert np.asarray(bbr.get_xdata(), dtype=float).min() >= 1
    # At a time in the middle, the median and the bands are those of the six windows.
    samples = results.samples(0)
    mss = dict(results.samples(0, "flows").select("name", "mss_bytes").iter_rows())
    time_s = samples["time_s"].unique().sort()[20]
    then = samples.filter(pl.col("time_s") == time_s, pl.col("flow").str.starts_with("cubic"))
    windows = [row["cwnd_bytes"] / mss[row["flow"]] for row in then.iter_rows(named=True)]
    assert len(windows) == 6
    at = np.asarray(cubic.get_xdata(), dtype=float) == time_s
    assert np.asarray(cubic.get_ydata())[at] == pytest.approx([np.median(windows)])
    wide, narrow = figure.axes[0].collections[:2]
    for band, ends in ((wide, (0.05, 0.95)), (narrow, (0.25, 0.75))):
        vertices = np.asarray(band.get_paths()[0].vertices)
        y = vertices[np.isclose(vertices[:, 0], time_s)][:, 1]
        assert (y.min(), y.max()) == pytest.approx(tuple(np.quantile(windows, ends)))
    for kind in ("throughput", "sequence"):
        assert len(results.figure(kind).axes[0].lines) == 2, kind


def test_boxes_hold_the_middle_half_of_the_runs(study: Path, tmp_path: Path) -> None:
    few = cclab.run(study, out=tmp_path / "out", set=["warmup=0s"])
    with pytest.raises(InputError, match="it needs 5 runs of a sweep point or more"):
        few.figure("box")
    results = cclab.run(study, out=tmp_path / "out", repeat=5, set=["warmup=0s"])
    figure = results.figure("box")
    [axes] = figure.axes
    boxes = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(boxes) == 4
    rows = results.flows
    for point in results.points:
        for flow in ("short", "long"):
            own = rows.filter(pl.col("run").is_in([run.run.id for run in point.runs]), name=flow)
            low, high = np.quantile(own["goodput_bps"].to_numpy() / 1e6, (0.25, 0.75))
            assert any(
                (box.get_y(), box.get_y() + box.get_height()) == pytest.approx((low, high))
                for box in boxes
            )
    delay = results.figure("box", metric="queue_delay_p95_s")
    assert delay.axes[0].get_ylabel() == "queue delay p95 (ms)"


_LOSSY = """
title = "In-order bytes after a repair"
duration = "6s"

[network.bottleneck]
rate = "10Mbit"
delay = "20ms"
queue = { limit = "1bdp" }

[[flow]]
name = "one"
cc = "cubic"
rtt = "80ms"

[[flow]]
name = "brief"
cc = "cubic"
rtt = "80ms"
start = "1s"
duration = "1.53s"
"""


def test_a_point_above_the_rate_of_the_link_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(_LOSSY)
    fine = ["network.bottleneck.queue.limit=8bdp", "trace.interval=20ms", "flow.brief.cc=reno"]
    results = cclab.run(file, out=tmp_path / "out", repeat=1, set=fine)
    figure = results.figure("throughput")
    lines = [line for line in figure.axes[0].lines if len(np.asarray(line.get_xdata())) > 2]
    assert max(float(np.max(np.asarray(line.get_ydata()))) for line in lines) > 10
    told = [text for text in told_in(figure) if text.startswith("rate of the link")]
    assert told == ["rate of the link: above it, bytes of a repair"]


def test_the_last_bin_of_a_flow_is_no_dip(tmp_path: Path) -> None:
    """One that writes evenly has its rate in each bin, also in that in which it ends."""
    file = tmp_path / "study.toml"
    even = _LOSSY.replace(
        'cc = "cubic"', 'cc = "cubic"\nwrite_size = "1448B"\nwrites_per_second = 100'
    )
    file.write_text(even)
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    [panel] = panels(results)
    for _, bps in binned(panel).values():
        assert bps[-1] > 0.8 * float(np.median(bps))


def test_without_a_sweep_boxes_have_no_tick_without_a_name(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(_LOSSY)
    results = cclab.run(file, out=tmp_path / "out", repeat=5, set=["duration=2s"])
    assert list(results.figure("box").axes[0].get_xticks()) == []
