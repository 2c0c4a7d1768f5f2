"""Figures over sweeps: what they draw is what the runs measured, and they say what they cannot."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.patches import Rectangle

import cclab
from cclab import report
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.drawing.palette import Looks, look
from cclab.errors import InputError
from cclab.report import figures, page
from cclab.report.figures import expectation, facets, tradeoff
from cclab.report.swept import axes_of
from conftest import ROOT, STUDY, files_of
from drawing import LATE, swept, told_in

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from cclab import Results
    from cclab.drawing.style import Drawing
    from cclab.plan import Run
    from conftest import Cli

VARIANTS = ["reno", "vegas", "cubic"]
LIMITS = ["8bdp", "0.5bdp", "2bdp"]
RTTS = ["20ms", "60ms"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All pairs of three variants, with three queues and two RTTs."""
    sweep = (
        f'"flow.short.cc" = {VARIANTS}\n"flow.long.cc" = {VARIANTS}\n'
        f'"network.bottleneck.queue.limit" = {LIMITS}\n"flow.rtt" = {RTTS}\n'
    )
    return swept(tmp_path_factory.mktemp("pairs"), sweep)


def mean(
    results: Results, column: str, short: str, long: str, limit: str, rtt: str, flow: str = "short"
) -> float:
    """The mean in a column of the summary, of a flow, beside these variants, queue and RTT."""
    keys = ("flow.short.cc", "flow.long.cc", "network.bottleneck.queue.limit", "flow.rtt", "flow")
    frame = results.summary
    for key, value in zip(keys, (short, long, limit, rtt, flow), strict=True):
        frame = frame.filter(pl.col(key) == value)
    return float(frame[column].item())


def mesh(axes: Axes) -> np.ndarray:
    """The values of the coloured cells of a panel."""
    [cells] = [c for c in axes.collections if isinstance(c, QuadMesh)]
    values = cells.get_array()
    assert values is not None
    return np.asarray(values)


def panels(figure: Drawing) -> list[Axes]:
    """The panels of a figure, without its colour bar."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def test_the_matrix_shows_the_share_of_the_rows_flow(pairs: Results) -> None:
    figure = pairs.figure("matrix")
    shown = panels(figure)
    assert len(shown) == 6
    # The queue in ascending order makes rows, though the study begins with the largest.
    for number, axes in enumerate(shown):
        limit, rtt = ["0.5bdp", "2bdp", "8bdp"][number // 2], RTTS[number % 2]
        values = mesh(axes)
        numbers = {text.get_position(): text.get_text() for text in axes.texts}
        for row, own in enumerate(VARIANTS):
            for column, other in enumerate(VARIANTS):
                share = mean(pairs, "share", own, other, limit, rtt)
                assert values[row, column] == pytest.approx(100 * share, rel=1e-12)
                assert numbers[(column, row)] == f"{100 * share:.0f}"
        if number % 2 == 0:
            assert [label.get_text() for label in axes.get_yticklabels()] == VARIANTS
        assert axes.yaxis_inverted()
        outlined = [p for p in axes.patches if isinstance(p, Rectangle)]
        assert [p.get_xy() for p in outlined] == [(i - 0.5, i - 0.5) for i in range(3)]
    [bar] = [axes for axes in figure.axes if axes not in shown]
    assert bar.get_ylabel() == "share of short, the row's flow (%; equal: 50)"
    titles = [axes.get_title(loc="left") for axes in shown[:2]]
    assert [t.replace("\u00a0", " ") for t in titles] == ["rtt = 20ms", "rtt = 60ms"]


def test_colours_part_at_the_fair_share(pairs: Results) -> None:
    figure = pairs.figure("matrix")
    [cells] = [c for c in panels(figure)[0].collections if isinstance(c, QuadMesh)]
    # Red, green, blue of the ends and of what lies between.
    low, equal, high = np.asarray(cells.cmap(cells.norm(np.array([10.0, 50.0, 90.0]))))[:, :3]
    assert equal.min() > 0.95
    assert low[0] > 1.5 * low[2]
    assert high[2] > 1.5 * high[0]


def test_corners_mark_the_cells_with_long_intervals(pairs: Results) -> None:
    figure = pairs.figure("matrix")
    marked = sum(
        len(np.atleast_1d(line.get_xdata())) for axes in panels(figure) for line in axes.lines
    )
    rows = pairs.summary.filter(flow="short")
    wide = rows.filter(pl.col("share_high") - pl.col("share_low") > 0.2)
    assert 0 < marked == len(wide) < len(rows)
    assert "95% interval longer than 20% of the scale" in told_in(figure)


def test_a_heat_map_shows_the_metric_over_the_axes_that_are_asked_for(pairs: Results) -> None:
    where = {"flow.short.cc": "cubic", "long.cc": ["reno", "vegas"]}
    axes = "network.bottleneck.queue.limit,flow.*.rtt"
    figure = pairs.figure("heatmap", metric="jain", axes=axes, where=where)
    shown = panels(figure)
    titles = [panel.get_title(loc="left").replace("\u00a0", " ") for panel in shown]
    assert titles == ["long.cc = reno", "long.cc = vegas"]
    for panel, other in zip(shown, ["reno", "vegas"], strict=True):
        assert panel.get_xlabel() == "queue.limit (bdp)"
        assert [label.get_text() for label in panel.get_xticklabels()] == ["0.5", "2", "8"]
        assert not panel.yaxis_inverted()
        for column, limit in enumerate(["0.5bdp", "2bdp", "8bdp"]):
            for row, rtt in enumerate(RTTS):
                jain = mean(pairs, "window_jain", "cubic", other, limit, rtt)
                assert mesh(panel)[row, column] == pytest.approx(jain, rel=1e-12)


def test_a_metric_of_flows_has_a_panel_for_each(pairs: Results) -> None:
    where = {"flow.short.cc": "cubic", "flow.long.cc": "reno"}
    figure = pairs.figure("heatmap", metric="goodput_bps", where=where)
    short, long = panels(figure)
    assert (short.get_title(loc="left"), long.get_title(loc="left")) == ("short", "long")
    [bar] = [axes for axes in figure.axes if axes not in (short, long)]
    assert bar.get_ylabel() == "goodput (Mbit/s)"
    goodput = mean(pairs, "goodput_bps", "cubic", "reno", "8bdp", "20ms", flow="long")
    assert mesh(long)[0, 2] == pytest.approx(goodput / 1e6, rel=1e-12)


def test_single_runs_are_said_to_have_no_intervals(tmp_path: Path) -> None:
    sweep = f'"network.bottleneck.queue.limit" = {LIMITS}\n"flow.rtt" = {RTTS}\n'
    results = swept(tmp_path, sweep, repeat=1)
    assert told_in(results.figure("heatmap")) == ["single runs: no intervals"]


def test_no_axis_of_clouds_is_scaled_to_the_cells_of_a_histogram(pairs: Results) -> None:
    both = {"long.cc": "reno", "short.cc": "reno"}
    figure = pairs.figure("tradeoff", metric="utilization,jain", where=both)
    ends = [axes.get_xlim() for axes in panels(figure)]
    spans = [2 * (right - left) / (left + right) for left, right in ends]
    # Three runs of one link hardly differ.
    assert min(spans) == pytest.approx(tradeoff.LEAST_SPAN)
    assert max(spans) < 1


def test_shares_are_drawn_over_the_size_of_the_buffer(pairs: Results) -> None:
    figure = pairs.figure("buffer-share", where={"short.cc": "cubic", "long.cc": "reno"})
    assert told_in(figure) == ["short (cubic)", "long (reno)"]
    for axes, rtt in zip(figure.axes, RTTS, strict=True):
        assert axes.get_xscale() == "log"
        assert axes.get_xlabel() == "queue.limit (bdp)"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0.5", "2", "8"]
        equal, short, _ = axes.lines
        assert np.asarray(equal.get_ydata()).tolist() == [50, 50]
        assert np.asarray(short.get_xdata()).tolist() == [0.5, 2, 8]
        bands = [c for c in axes.collections if isinstance(c, PolyCollection)]
        band = bands[0].get_paths()[0].vertices
        for place, limit in enumerate(["0.5bdp", "2bdp", "8bdp"]):
            at_point = ("cubic", "reno", limit, rtt)
            share = mean(pairs, "share", *at_point)
            assert np.asarray(short.get_ydata())[place] == pytest.approx(100 * share)
            at = np.asarray(band)[np.isclose(np.asarray(band)[:, 0], [0.5, 2, 8][place])][:, 1]
            assert at.min() == pytest.approx(100 * mean(pairs, "share_low", *at_point))
            assert at.max() == pytest.approx(100 * mean(pairs, "share_high", *at_point))


def test_a_mark_of_the_goodput_says_beside_whom_its_flow_ran(pairs: Results) -> None:
    figure = pairs.figure("goodput", where={"long.cc": ["cubic", "reno"], "short.cc": "reno"})
    assert told_in(figure) == [
        "short (reno) beside reno",
        "short (reno) beside cubic",
        "long (reno)",
        "long (cubic)",
    ]
    shown = [handle for legend in figure.legends for handle in legend.legend_handles]
    # A legend's handles are lines here, which not every artist is.
    looks = {(handle.get_color(), handle.get_marker()) for handle in shown}  # type: ignore[union-attr]
    assert len(looks) == 4
    too_much = page.draw(pairs).too_much
    assert any("'goodput' is not drawn" in why and "--where" in why for why in too_much)


def test_any_metric_is_drawn_along_any_number(pairs: Results) -> None:
    where = {"long.cc": "reno", "queue.limit": ["0.5bdp", "2bdp"]}
    figure = pairs.figure("curve", metric="queue_delay_p95_s", axes="flow.rtt", where=where)
    assert len(figure.axes) == 2
    assert figure.axes[0].get_ylabel() == "queue delay p95 (ms)"
    assert told_in(figure) == [f"short.cc = {cc}" for cc in VARIANTS]
    [line] = [line for line in figure.axes[1].lines if line.get_label() == "short.cc = vegas"]
    delays = [mean(pairs, "queue_delay_p95_s", "vegas", "reno", "2bdp", rtt) for rtt in RTTS]
    assert np.asarray(line.get_ydata()) == pytest.approx([1e3 * delay for delay in delays])
    assert np.asarray(line.get_xdata()).tolist() == pytest.approx([0.02, 0.06])


def test_of_a_part_of_a_sweep_the_expectations_are_those_of_its_runs(
    pairs: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def expected(run: Run) -> dict[str, float]:
        asked.append(run.id)
        return {}

    monkeypatch.setattr(expectation, "expected_bps", expected)
    where = {"short.cc": "cubic", "long.cc": "vegas"}
    for name in ("goodput", "throughput"):
        pairs.figure(name, where=where)
        part = [
            point.runs[0].run.id
            for point in pairs.points
            if (point.params["flow.short.cc"], point.params["flow.long.cc"]) == ("cubic", "vegas")
        ]
        assert asked == part
        asked.clear()


def test_panels_over_time_have_one_span_unless_the_smallest_could_not_be_read(
    pairs: Results,
) -> None:
    where = {"short.cc": "reno", "long.cc": "reno", "flow.rtt": "20ms"}
    apart = pairs.figure("queue", where=where).axes
    tops = [float(np.asarray(axes.get_lines()[0].get_ydata()).max()) for axes in apart]
    # 8 bandwidth-delay products beside half of one.
    assert max(tops) > 4 * min(tops)
    for axes, top in zip(apart, tops, strict=True):
        assert axes.get_ylim() == pytest.approx((0, 1.25 * top))
        assert any(label.get_visible() for label in axes.get_yticklabels())
    near = pairs.figure("queue", where=where | {"queue.limit": ["2bdp", "8bdp"]}).axes
    highest = max(tops[LIMITS.index(limit)] for limit in ("2bdp", "8bdp"))
    assert tops[LIMITS.index("8bdp")] <= 4 * tops[LIMITS.index("2bdp")] + 1e-9
    assert [axes.get_ylim()[1] for axes in near] == pytest.approx([1.25 * highest] * 2)


def test_lines_of_the_run_look_like_the_variant_that_was_swept(pairs: Results) -> None:
    where = {"short.cc": "cubic", "queue.limit": "2bdp"}
    figure = pairs.figure("curve", metric="queue_delay_p95_s", axes="flow.rtt", where=where)
    [axes] = figure.axes
    drawn = [line.get_color() for line in axes.get_lines()]
    assert drawn == [look(variant).colour for variant in VARIANTS]


def test_lines_of_no_variant_are_told_apart() -> None:
    looks = Looks()
    given = [looks.of(f"web{n}", "") for n in range(8)]
    assert looks.of("web3", "") == given[3]
    assert len({(one.colour, one.marker) for one in given}) == len(given)


def test_copies_of_a_flow_are_one(tmp_path: Path) -> None:
    head, _ = STUDY.split("[sweep]")
    file = tmp_path / "copies.toml"
    copied = head.replace('name = "short"', 'name = "short"\ncount = 3')
    limits = f'[sweep]\n"network.bottleneck.queue.limit" = {LIMITS}\n'
    file.write_text(copied + limits)
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    figure = results.figure("buffer-share")
    assert told_in(figure) == ["short (cubic, 3 flows)", "long (reno)"]
    [axes] = figure.axes
    short, long = (np.asarray(line.get_ydata()) for line in axes.lines)
    assert short + long == pytest.approx([100, 100, 100])
    frame = results.flows.filter(pl.col("network.bottleneck.queue.limit") == "2bdp")
    goodput = dict(zip(frame["name"], frame["window_goodput_bps"], strict=True))
    assert short[1] == pytest.approx(100 * (1 - goodput["long"] / sum(goodput.values())))


def test_keys_that_advance_together_are_one_axis() -> None:
    points = [
        {"flow.a.rtt": rtt, "flow.b.rtt": rtt, "rate": rate, "kind": kind, "fixed": 1}
        for rtt in ("100ms", "1s", "500us")
        for rate in ("10Mbit", "2Mbit")
        for kind in ("10p", "1bdp")
    ]
    rtts, rate, kind = axes_of(points)
    assert rtts.keys == ("flow.a.rtt", "flow.b.rtt")
    assert rtts.texts == ("500us", "100ms", "1s")
    assert rtts.numbers == pytest.approx((0.0005, 0.1, 1.0))
    assert rtts.label == "a.rtt, b.rtt"
    assert (rate.ticks, rate.label) == (("2", "10"), "rate (Mbit)")
    # Packets and bandwidth-delay products have no common order.
    assert kind.numbers is None
    assert kind.texts == ("10p", "1bdp")
    assert [axis.place(points[0]) for axis in (rtts, rate, kind)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--figure", "heat"], "no figure called 'heat' (did you mean heatmap?)"),
        (["--figure", "heatmap", "--metric", "jian"], "no metric 'jian' in these results (did you"),
        (["--figure", "heatmap", "--axes", "queue.limt"], "(did you mean queue.limit?)"),
        (["--figure", "heatmap", "--axes", "rtt,rtt"], "the two axes are the same: rtt"),
        (["--figure", "heatmap", "--axes", "flow.*.cc,rtt"], "means several: short.cc and long.cc"),
        (["--figure", "matrix", "--axes", "rtt"], "axes of a matrix list variants, and rtt does n"),
        (["--figure", "curve", "--axes", "short.cc"], "the values of short.cc are no numbers of o"),
        (["--figure", "tradeoff", "--metric", "jain"], "tradeoff takes two metrics, X,Y"),
        (["--figure", "cwnd", "--metric", "jain"], "metric jain: the figure cwnd has its own"),
        (["--figure", "curve", "--axes", "rtt,queue.limit"], "the figure curve takes 1 at most"),
        (["--figure", "curve", "--where", "rtt=21ms"], "flow.rtt is never '21ms' (did you mean 20"),
        (["--figure", "curve", "--where", "rtt"], "--where rtt: KEY=VALUE or KEY=VALUE,VALUE"),
        (["--figure", "curve", "--where", "short.cc=reno,long.cc=cubic"], "of one key; give each"),
        (["--figure", "curve", "--where", "rtt=60ms,short.cc=reno"], "--where rtt=60ms --where sh"),
        (["--figure", "curve"], "'curve' is not drawn: a panel would have 18 lines, and 16"),
        (["--figure", "goodput"], "'goodput' is not drawn: 18 marks would stand over each place"),
        (["--metric", "jain"], "--metric is of a figure: give --figure too"),
        (["--format", "gif"], "no format 'gif' for figures; they are svg, pdf, png"),
    ],
)  # fmt: skip
def test_what_there_is_not_is_refused_with_the_nearest_name(
    pairs: Results, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["report", str(pairs.store.path), *options]) == WRONG_INPUT
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("error:") == 1
    assert said.out == ""


def test_what_is_kept_is_a_dict_in_python(pairs: Results) -> None:
    with pytest.raises(InputError, match=r"where='short\.cc=reno': a dict such as"):
        # The command line's words, which Python's `where` does not take.
        pairs.figure("heatmap", where="short.cc=reno")  # type: ignore[arg-type]


def test_a_figure_alone_leaves_the_report_as_it_is(
    cli: Cli, pairs: Results, tmp_path: Path
) -> None:
    done = cli(
        "report", pairs.store.path, "--figure", "heatmap", "--metric", "utilization",
        "--axes", "queue.limit,rtt", "--where", "short.cc=reno", "--where", "long.cc=cubic",
        "--format", "svg,pdf,png",
    )  # fmt: skip
    assert done.returncode == DONE, done.stderr
    stem = "heatmap-utilization-queue.limit-rtt-short.cc-reno-long.cc-cubic"
    made = {name for name in files_of(pairs.store.path / "report") if name.startswith("heatmap-")}
    assert made == {f"{stem}.svg", f"{stem}.pdf", f"{stem}.png"}
    assert all(f"report/{name}" in done.stderr for name in made)


def test_a_report_has_figures_in_each_format_and_always_the_same_bytes(
    results: Results, tmp_path: Path
) -> None:
    script = (
        "import sys, pathlib, cclab; from cclab import report; "
        "report.write(cclab.load(sys.argv[1]), pathlib.Path(sys.argv[2]), ['pdf', 'png'])"
    )
    command = [sys.executable, "-c", script, str(results.store.path), str(tmp_path / "there")]
    subprocess.run(command, check=True)
    report.write(results, tmp_path / "here", ["pdf", "png"])
    here = files_of(tmp_path / "here")
    assert here == files_of(tmp_path / "there")
    drawn = {name.rpartition(".")[0] for name in here if name.endswith(".png")}
    assert "tradeoff" in drawn
    for name in drawn:
        assert here[f"{name}.pdf"].startswith(b"%PDF-")
        assert b"/CreationDate" not in here[f"{name}.pdf"]
        assert here[f"{name}.png"].startswith(b"\x89PNG")
        assert b"Software" not in here[f"{name}.png"]
    # Those that are not asked for the next time do not stay.
    report.write(results, tmp_path / "here", ["svg"])
    after = set(files_of(tmp_path / "here"))
    assert not any(name.endswith((".pdf", ".png")) for name in after)
    assert {f"{name}.svg" for name in drawn} <= after


def test_a_figure_is_saved_by_hand_with_the_same_bytes(results: Results, tmp_path: Path) -> None:
    figure = results.figure("tradeoff")
    for ending in figures.FORMATS:
        figure.savefig(tmp_path / f"figure.{ending}")
        saved = (tmp_path / f"figure.{ending}").read_bytes()
        assert saved == figures.saved(results.figure("tradeoff"), ending)


def test_a_report_says_which_figures_would_be_too_much(
    pairs: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "MOST_PANELS", 5)
    written = report.write(pairs, tmp_path)
    assert "&#39;matrix&#39; is not drawn: it would have 6 panels, and 5 is" in written.read_text()
    assert not (tmp_path / "matrix.svg").exists()
    with pytest.raises(InputError, match="6 panels"):
        pairs.figure("matrix")


def test_every_figure_is_documented() -> None:
    page = (ROOT / "docs/figures.md").read_text()
    kinds = page.split("## Size, axes and words")[0]
    rows = [line for line in kinds.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])]
    assert sorted(names) == sorted(kind.name for kind in figures.FIGURES)


def test_pairs_of_variants_are_told_apart_in_the_figure_of_jain(pairs: Results) -> None:
    with pytest.raises(InputError, match="9 series side by side, and 8 is the most"):
        pairs.figure("jain")
    figure = pairs.figure("jain", where={"flow.short.cc": ["reno", "cubic"]})
    [legend] = figure.legends
    assert len(legend.get_texts()) == 6
    looks = {(line.get_color(), line.get_marker()) for line in legend.get_lines()}
    assert len(looks) == 6


def test_a_figure_says_what_was_kept(pairs: Results) -> None:
    where = {"flow.short.cc": ["reno", "cubic"], "rtt": "20ms"}
    figure = pairs.figure("heatmap", metric="jain", where=where)
    assert figure.get_supxlabel() == "short.cc = reno, cubic; rtt = 20ms"


def test_the_index_of_each_direction_has_the_bound_of_its_own_flows(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    flow = '[[flow]]\nname = "{}"\ncc = "cubic"\nrtt = "20ms"\ncount = {}\ndirection = "{}"\n'
    both = flow.format("up", 2, "forward") + flow.format("down", 4, "reverse")
    sweep = '[sweep]\n"network.bottleneck.queue.kind" = ["droptail", "fq_codel"]\n'
    file.write_text(LATE + both + sweep)
    results = cclab.run(file, out=tmp_path / "out", repeat=1, set=["duration=2s"])
    figure = results.figure("jain")
    [axes] = figure.axes
    assert told_in(figure) == ["forward", "reverse"]
    marks: dict[str, list[float]] = {
        str(line.get_label()): [] for line in axes.lines if line.get_marker() in ("o", "s")
    }
    for line in axes.lines:
        if str(line.get_label()) in marks:
            marks[str(line.get_label())].append(float(np.asarray(line.get_ydata())[0]))
    for way, column in (("forward", "jain"), ("reverse", "reverse_jain")):
        assert marks[way] == pytest.approx(results.bottlenecks[column].to_list())
    texts = [text.get_text() for text in axes.texts]
    assert texts == [
        "1/2 = 0.5: one flow has all (forward)",
        "1/4 = 0.25: one flow has all (reverse)",
    ]
    file.write_text(LATE + flow.format("up", 20, "forward") + sweep)
    many = cclab.run(file, out=tmp_path / "many", repeat=1, set=["duration=2s"])
    [note] = [t for t in many.figure("jain").axes[0].texts if t.get_text().startswith("1/20")]
    assert note.get_verticalalignment() == "bottom"
