"""Figures: panels keep their size and stay clear of the legend, however many flows there are."""

from __future__ import annotations

import colorsys
import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

import cclab
from cclab import _core, report
from cclab.cli.exits import WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError
from cclab.report import figures
from cclab.report.figures import ticks
from cclab.report.figures.style import Drawing, styled
from cclab.report.palette import LOOKS
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from cclab import Results

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
    delay = np.asarray(figure.axes[0].lines[0].get_ydata())
    packet = 1514 * 8 / 5e6 * 1e3
    assert 15 * packet < delay.max() <= 20 * packet
    assert figure.axes[0].get_ylabel() == "queue delay (ms)"
    assert [text.get_text() for text in figure.axes[0].texts] == ["limit: 20 packets"]
    assert _told(figure) == ["queue delay", "drops"]


def test_marks_of_the_queue_are_shown_beside_drops(tmp_path: Path) -> None:
    marking = "network.link.1.queue={kind='codel', limit='30kB', ecn=true}"
    figure = _of_graph(tmp_path, marking, "flow.flow1.ecn=true").figure("queue")
    assert "ECN marks" in _told(figure)
    [told] = [text.get_text() for text in figure.axes[0].texts]
    assert told == "limit: 30 kB = 48 ms"


def test_no_legend_lies_over_sequence_numbers(tmp_path: Path) -> None:
    figure = _of_graph(tmp_path).figure("sequence")
    assert "loss repaired" in _told(figure)
    assert all(axes.get_legend() is None for axes in figure.axes)


def test_the_key_of_the_queue_names_drops_only_where_there_are_some(tmp_path: Path) -> None:
    figure = _of_graph(tmp_path, "network.link.1.queue.limit=10000p").figure("queue")
    assert _told(figure) == ["queue delay"]


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
    assert told == ["empty in every sample", "limit: 20 packets"]


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


_LATE = """
title = "Flows of one variant that start one after the other"
duration = "4s"

[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "1bdp" }
"""


def _late(folder: Path, flows: str, *settings: str) -> Results:
    file = folder / "study.toml"
    file.write_text(_LATE + flows)
    return cclab.run(file, out=folder / "out", repeat=1, set=list(settings))


_FOUR = "".join(
    f'[[flow]]\nname = "{name}"\ncc = "cubic"\nrtt = "40ms"\nstart = "{start}s"\n{more}'
    for name, start, more in (
        ("a", 0, ""), ("b", 1, 'duration = "1s"\n'), ("c", 2, ""), ("d", 1, 'transfer = "100kB"\n')
    )
)  # fmt: skip


def _drawn(axes: Axes) -> dict[str, np.ndarray]:
    """The times at which a panel has something, of each of the flows a to d, by their order."""
    named = zip("abcd", axes.lines[:4], strict=True)  # Marks of losses come later.
    return {name: np.asarray(line.get_xdata(), dtype=float) for name, line in named}


def test_a_flow_is_drawn_while_it_lasts_and_at_no_other_time(tmp_path: Path) -> None:
    results = _late(tmp_path, _FOUR)
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


def test_four_flows_of_one_variant_have_four_hues(tmp_path: Path) -> None:
    figure = _late(tmp_path, _FOUR).figure("cwnd")
    colours = {str(line.get_color()) for line in figure.axes[0].lines}
    assert len(colours) == 4
    assert all(_far_apart(a, b) > 20 for a, b in itertools.combinations(colours, 2))
    assert figure.axes[0].lines[0].get_color() == LOOKS["cubic"].colour


def test_flows_of_several_variants_keep_the_hues_of_their_variants(tmp_path: Path) -> None:
    flows = _FOUR.replace('"cubic"', '"reno"', 2)
    figure = _late(tmp_path, flows).figure("cwnd")
    lines = figure.axes[0].lines
    first = {0: LOOKS["reno"].colour, 2: LOOKS["cubic"].colour}
    for place, colour in first.items():
        assert lines[place].get_color() == colour
        other = lines[place + 1]
        # Lighter or darker, and with another dash.
        assert _hue(str(other.get_color())) == pytest.approx(_hue(colour), abs=0.02)
        assert other.get_color() != colour
        assert other.get_linestyle() != lines[place].get_linestyle()


def _hue(colour: str) -> float:
    red, green, blue = to_rgb(colour)
    return colorsys.rgb_to_hls(red, green, blue)[0]


# Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision
# Deficiency, 2009: red, green and blue in linear light, as they are seen without one kind of cones.
_VISIONS = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
              [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
              [-0.011820, 0.042940, 0.968881]]),
    np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
              [0.004733, 0.691367, 0.303900]]),
)  # fmt: skip


def _lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear red, green and blue, under daylight (D65)."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    part = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    root = np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116)
    x, y, z = root
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _far_apart(one: str, other: str) -> float:
    """The least difference of two colours (CIE 1976), over how people see them."""
    both = [np.array(to_rgb(colour)) for colour in (one, other)]
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in both]
    seen = [[_lab(vision @ colour) for colour in linear] for vision in _VISIONS]
    return min(float(np.linalg.norm(a - b)) for a, b in seen)


@pytest.mark.parametrize(
    ("one", "other"), [("bbr", "bbr3"), ("vegas", "copa"), ("cubic", "bbr"), ("cubic", "reno"),
                       ("reno", "bbr"), ("dctcp", "cubic"), ("newreno", "reno"), ("lp", "vegas")],
)  # fmt: skip
def test_variants_that_meet_often_are_told_apart_by_anybody(one: str, other: str) -> None:
    assert _far_apart(LOOKS[one].colour, LOOKS[other].colour) > 15


def _many(folder: Path) -> Results:
    flows = "".join(
        f'[[flow]]\nname = "{cc}"\ncc = "{cc}"\ncount = {count}\nrtt = "40ms"\nstart = "{start}"\n'
        for cc, count, start in (("cubic", 6, "0s"), ("bbr", 3, "1s"))
    )
    return _late(folder, flows)


def test_more_than_eight_flows_are_bands_of_quantiles(tmp_path: Path) -> None:
    results = _many(tmp_path)
    figure = results.figure("cwnd")
    [cubic, bbr] = figure.axes[0].lines
    assert _told(figure)[:2] == ["cubic, 6 flows", "bbr, 3 flows"]
    assert _told(figure)[2:] == ["median of the flows", "half of them", "nine in ten"]
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


def test_the_queue_is_drawn_in_time_and_as_high_as_it_was(tmp_path: Path) -> None:
    short = "network.link.1.queue={kind='codel', limit='1000p'}"
    results = _of_graph(tmp_path, short)
    [axes] = results.figure("queue").axes
    samples = results.samples(0, "queue_samples").filter(link="narrow")
    delays = samples["backlog_bytes"].to_numpy() * 8 / 5e6 * 1e3
    assert axes.get_ylabel() == "queue delay (ms)"
    assert np.asarray(axes.lines[0].get_ydata()) == pytest.approx(delays)
    # The limit, 2.4 s at this rate, is told and does not set the scale.
    assert axes.get_ylim()[1] < 2 * delays.max() < 1000
    assert "limit: 1,000 packets" in [text.get_text() for text in axes.texts]


def test_the_queue_of_a_rate_that_changes_is_in_time_too(tmp_path: Path) -> None:
    head = _LATE.replace(
        'delay = "5ms"', 'delay = "5ms"\nschedule = [{ at = "2s", rate = "2Mbit" }]'
    )
    file = tmp_path / "study.toml"
    file.write_text(head.replace("1bdp", "20p") + '[[flow]]\ncc = "cubic"\nrtt = "40ms"\n')
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    [axes] = results.figure("queue").axes
    seconds, delay = (np.asarray(part, dtype=float) for part in axes.lines[0].get_data())
    # Twenty packets of 1514 bytes: 24 ms at 10 Mbit/s, 121 ms at 2.
    assert np.nanmax(delay[seconds < 1.9]) == pytest.approx(24, abs=2)
    assert np.nanmax(delay[seconds > 2.5]) == pytest.approx(121, abs=8)


def test_legends_say_what_is_the_same_once(tmp_path: Path) -> None:
    flows = "".join(f'[[flow]]\nname = "{n}"\ncc = "{n}"\nrtt = "40ms"\n' for n in ("bbr", "cubic"))
    sweep = '[sweep]\n"flow.bbr.cc" = ["bbr", "bbr3"]\n'
    results = _late(tmp_path, flows + sweep)
    assert _told(results.figure("cwnd")) == ["bbr", "cubic", "bbr (bbr3)"]
    assert _told(results.figure("tradeoff")) == [
        "bbr", "cubic beside bbr", "bbr (bbr3)", "cubic beside bbr3",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def transfers(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Six transfers at a time: with 500 ms of start between them, or all at once."""
    flow = '[[flow]]\nname = "web"\ncc = "cubic"\ncount = 6\nrtt = "20ms"\ntransfer = "200kB"\n'
    sweep = '[sweep]\n"flow.web.cc" = ["cubic", "bbr"]\n'
    folder = tmp_path_factory.mktemp("transfers")
    file = folder / "study.toml"
    file.write_text(_LATE + flow + sweep)
    return cclab.run(file, out=folder / "out", repeat=2)


def test_completion_times_are_a_distribution_over_flows_and_runs(transfers: Results) -> None:
    figure = transfers.figure("completion")
    [axes] = figure.axes
    assert _told(figure) == ["cubic, 6 flows", "bbr, 6 flows"]
    for line, point in zip(axes.lines, transfers.points, strict=True):
        times = sorted(f["fct_s"] for run in point.runs for f in run.metrics["flows"])
        x, y = (np.asarray(part, dtype=float) for part in line.get_data())
        scale = 1e3 if axes.get_xlabel() == "completion time (ms)" else 1
        assert x[1:] == pytest.approx(np.array(times) * scale)
        assert y[0] == 0
        assert y[1:] == pytest.approx(np.arange(1, 13) / 12)


def test_transfers_that_did_not_end_keep_their_line_below_all(tmp_path: Path) -> None:
    flow = '[[flow]]\nname = "web"\ncc = "cubic"\ncount = 6\nrtt = "20ms"\ntransfer = "700kB"\n'
    results = _late(tmp_path, flow, "duration=3s")
    ended = [f["fct_s"] is not None for f in results.runs[0].metrics["flows"]]
    assert 0 < sum(ended) < 6
    [line] = results.figure("completion").axes[0].lines
    assert np.asarray(line.get_ydata(), dtype=float).max() == pytest.approx(sum(ended) / 6)


def test_transfers_beside_a_bulk_flow_have_their_line(tmp_path: Path) -> None:
    flows = (
        '[[flow]]\nname = "web"\ncc = "cubic"\ncount = 6\nrtt = "20ms"\ntransfer = "100kB"\n'
        '[[flow]]\nname = "bulk"\ncc = "cubic"\nrtt = "20ms"\n'
    )
    figure = _late(tmp_path, flows, "duration=3s").figure("completion")
    assert _told(figure) == ["web (cubic, 6 flows)"]
    [line] = figure.axes[0].lines
    assert len(np.asarray(line.get_xdata())) == 6 + 1


def test_groups_of_one_variant_have_hues_of_their_own(tmp_path: Path) -> None:
    flows = "".join(
        f'[[flow]]\nname = "{name}"\ncc = "cubic"\ncount = 4\nrtt = "20ms"\n'
        for name in ("a", "b", "c")
    )
    figure = _late(tmp_path, flows, "duration=2s").figure("groups")
    bars = [one for one in figure.axes[0].patches if isinstance(one, Rectangle)]
    hues = [_hue(to_hex(bar.get_facecolor())) for bar in bars]
    assert len(bars) == 3
    assert min(abs(one - other) for one, other in itertools.combinations(hues, 2)) > 0.05


def test_transfers_are_compared_by_how_long_they_take(transfers: Results) -> None:
    [axes] = transfers.figure("tradeoff").axes
    assert "fct" in axes.get_ylabel()
    assert axes.yaxis_inverted()
    marks = [line for line in axes.lines if line.get_label() in ("cubic, 6 flows", "bbr, 6 flows")]
    assert len(marks) == 2
    for mark, point in zip(marks, transfers.points, strict=True):
        times = [f["fct_s"] for run in point.runs for f in run.metrics["flows"]]
        [y] = np.asarray(mark.get_ydata(), dtype=float)
        scale = 1e3 if "ms" in axes.get_ylabel() else 1
        assert y == pytest.approx(scale * np.mean(times))


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


def _all_labels_apart(figure: Drawing, kind: str) -> None:
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            texts = [text.get_text() for text in ticks.labels(axis)]
            assert not ticks.overlaps(axis), (kind, texts)


def test_no_label_of_a_tick_runs_into_the_next_in_any_figure(
    transfers: Results, tmp_path: Path
) -> None:
    head, short, long = _parts()
    file = tmp_path / "wide.toml"
    variants = '["reno", "cubic"]'
    sweep = (
        f'[sweep]\n"flow.short.cc" = {variants}\n"flow.long.cc" = {variants}\n'
        '"network.bottleneck.queue.limit" = ["0.5bdp", "1bdp", "1.25bdp", "2bdp", "8bdp"]\n'
    )
    file.write_text(head + short + long + sweep)
    wide = cclab.run(file, out=tmp_path / "wide", repeat=5, set=["duration=600ms", "warmup=0s"])
    part = {"flow.short.cc": "reno", "flow.long.cc": "cubic"}
    many = (
        '[[flow]]\ncc = "cubic"\ncount = 9\nrtt = "40ms"\n[[probe]]\nname = "ping"\nrtt = "20ms"\n'
    )
    (tmp_path / "many").mkdir()
    queue = ("network.bottleneck.queue.kind=dualpi2", "network.bottleneck.queue.limit=1000p")
    crowd = _late(tmp_path / "many", many, "duration=1s", *queue)
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


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("figure.widht=3", "no key figure.widht (did you mean figure.width?)"),
        ("figure.width=wide", "figure.width=wide: a length is meant: inches (7)"),
        ("figure.width=900", "from 1 to 40 inches are meant"),
        ("figure.queue.ylim=5,3", "the first number must be below the second"),
        ("figure.cwnd.xlim=5", "two numbers are meant, in the unit of the axis"),
        ("figure.ylim=0,3", "name the kind (figure.queue.ylim), or one figure (--figure)"),
        ("figure.goodput.xlim=0,1", "that axis of the figure goodput has names, no numbers"),
        ("figure.label.nobody=me", "no legend names 'nobody'; they name"),
        ("figure.cwnd", "figure.KEY=VALUE is meant, such as figure.width=7"),
    ],
)
def test_what_cannot_be_set_is_refused(
    results: Results, setting: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["report", str(results.store.path), "--set", setting]) == WRONG_INPUT
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("error:") == 1


def test_size_limits_and_words_of_figures_are_set(results: Results) -> None:
    wanted = {
        "width": "16cm", "height": 3, "xlim": (0.5, 1.5), "ylim": "0,", "title": "Two flows",
        "ylabel": "window", "label.short (reno)": "first",
    }  # fmt: skip
    figure = results.figure("cwnd", set=wanted)
    assert figure.get_size_inches() == pytest.approx((16 / 2.54, 3))
    assert all(axes.get_xlim() == (0.5, 1.5) for axes in figure.axes)
    assert figure.axes[0].get_ylabel() == "window"
    assert figure.axes[1].get_ylabel().startswith("srtt")
    assert "first" in _told(figure)
    assert [legend.get_title().get_text() for legend in figure.legends] == ["Two flows"]
    # One that runs to the left still does.
    [axes, *_] = results.figure("tradeoff", set="figure.tradeoff.xlim=0,100").axes
    assert axes.get_xlim() == (100, 0)
    with pytest.raises(InputError, match="no room for its axes in"):
        results.figure("cwnd", set={"height": 1})


def test_a_report_has_its_figures_as_they_are_set(results: Results, tmp_path: Path) -> None:
    wanted = ["figure.width=9", "figure.queue.ylim=0,500", "figure.xlim=0,1"]
    page = report.write(results, tmp_path, set=wanted)
    for kind in ("cwnd", "queue"):
        text = (page.parent / f"{kind}.svg").read_text()
        assert 'width="648pt"' in text
    plain = tmp_path / "plain"
    report.write(results, plain)
    assert (plain / "tradeoff.svg").read_text() != (tmp_path / "tradeoff.svg").read_text()
