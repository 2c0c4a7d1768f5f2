"""Results: the document, the frames, the expectations, the report and its figures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

import cclab
from browser import in_browser
from cclab import _core
from cclab.cli.exits import EXPECTATION_FAILED
from cclab.cli.main import invoke
from cclab.drawing import palette
from cclab.errors import InputError, StudyError
from cclab.measure import expect
from cclab.plan import Expectation, Named
from cclab.report import figures, page, tables, write
from conftest import ROOT, STUDY, files_of, save

if TYPE_CHECKING:
    from cclab import Results
    from cclab.measure.points import Point


def test_document_fits_its_schema(results: Results) -> None:
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(json.dumps(results.document(), allow_nan=False))
    jsonschema.validate(document, schema)
    assert document["schema"] == "cclab/1"
    assert [run["params"]["flow.short.cc"] for run in document["runs"]] == [
        *("reno", "reno", "cubic", "cubic")
    ]
    assert [point["n"] for point in document["summary"]] == [2, 2]


def test_schema_of_the_document_refuses_what_is_not_in_the_contract(results: Results) -> None:
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    document = json.loads(json.dumps(results.document()))
    document["runs"][0]["flows"][0]["speed"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_single_run_has_no_interval(study: Path, tmp_path: Path) -> None:
    one = cclab.run(study, out=tmp_path / "out", repeat=1)
    estimate = one.document()["summary"][0]["flows"][0]["goodput_bps"]
    assert estimate["n"] == 1
    assert estimate["ci95"] is None
    assert one.summary["goodput_bps_low"].null_count() == len(one.summary)


def test_frames_hold_one_row_each(results: Results) -> None:
    assert results.flows.height == 8
    assert results.bottlenecks.height == 4
    assert results.summary.height == 4
    mean = results.flows.filter(pl.col("flow.short.cc") == "cubic", pl.col("name") == "long")
    summary = results.summary.filter(pl.col("flow.short.cc") == "cubic", pl.col("flow") == "long")
    assert summary["goodput_bps"].item() == pytest.approx(mean["goodput_bps"].mean())


def test_jain_and_shares_agree_with_the_goodputs(results: Results) -> None:
    for run in results.runs:
        goodputs = [flow["goodput_bps"] for flow in run.metrics["flows"]]
        jain = sum(goodputs) ** 2 / (2 * sum(g * g for g in goodputs))
        assert run.metrics["jain"] == pytest.approx(jain)
    for point in results.summaries:
        shares = [flow.share.mean for flow in point.flows if flow.share is not None]
        assert sum(shares) == pytest.approx(1)


def test_samples_come_in_seconds_with_names(results: Results) -> None:
    samples = results.samples(0)
    assert {"time_s", "flow", "cwnd_bytes", "srtt_s"} <= set(samples.columns)
    assert set(samples["flow"]) == {"short", "long"}
    assert samples["time_s"].max() == pytest.approx(2.0)
    assert results.samples(results.runs[1].run.id[:12], "acks").height > 100
    with pytest.raises(InputError, match="no table 'packets'"):
        results.samples(0, "packets")
    with pytest.raises(InputError, match="no run 4"):
        results.samples(4)
    with pytest.raises(InputError, match="recorded no queue_events"):
        results.samples(0, "queue_events")


def test_same_results_from_the_folder_alone(results: Results) -> None:
    loaded = cclab.load(results.store.path)
    assert loaded.document() == results.document()
    assert loaded.flows.equals(results.flows)


def test_identical_repeats_are_doubted(tmp_path: Path) -> None:
    file = tmp_path / "same.toml"
    # Exact starts and no chance anywhere: nothing in the runs depends on the seed.
    text = STUDY.replace('cc   = "cubic"', 'cc   = "cubic"\nstart = "0s"')
    file.write_text(text.replace('cc   = "reno"', 'cc   = "reno"\nstart = "100ms"'))
    raised = {w.code: w for w in cclab.run(file, out=tmp_path / "out").warnings}
    # It is of a sweep point, however many runs that has; others are of runs.
    assert raised["identical-repeats"].extent == "and the like at 1 more sweep point"
    few = raised["too-few-loss-cycles"]
    assert len(few.runs) == 4
    assert few.extent == "and the like in 3 more runs, at 2 sweep points in all"


def test_differing_repeats_are_not(results: Results) -> None:
    assert "identical-repeats" not in [warning.code for warning in results.warnings]


def _check(expression: str, name: str, subject: str | dict[str, str], metric: str) -> Expectation:
    return Expectation(expression, [Named(name, subject, metric)], "check")


def test_expectations_are_held_against_every_sweep_point(results: Results) -> None:
    def unmet(check: Expectation, *points: Point) -> list[expect.Outcome]:
        outcomes = expect.outcomes([check], points or results.points)
        return [outcome for outcome in outcomes if not outcome.met]

    jain = [point.jain.mean for point in results.summaries if point.jain is not None]
    between = sum(jain) / 2
    failures = unmet(_check(f"jain > {between}", "jain", "run", "jain"))
    assert [failure.measured for failure in failures] == [min(jain)]
    name = "flow.long.goodput_bps"
    flow = _check(f"{name} > 0", name, {"flow": "long"}, "goodput_bps")
    assert unmet(flow) == []
    name = "flow.nobody.goodput_bps"
    nobody = _check(f"{name} > 0", name, {"flow": "nobody"}, "goodput_bps")
    bare = replace(results.points[0], runs=[], params={"rate": "1Mbit"})
    told = unmet(flow, bare)
    assert [(f.params, f.measured, f.finding) for f in told] == [(bare.params, None, "open")]
    missed = unmet(nobody)
    assert len(missed) == 2
    assert "not measured" in str(missed[0])


def test_of_many_unmet_points_the_worst_are_named_and_the_others_folded(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.toml"
    limits = [f"{packets}p" for packets in (50, 2, 40, 3, 30, 4, 5, 6)]
    sweep = f'[sweep]\n"network.bottleneck.queue.limit" = {limits}\n[expect]\n'
    checks = 'full = "bottleneck.utilization > 2"\nfair = "jain > 0"\n'
    file.write_text(STUDY.partition("[sweep]")[0] + sweep + checks)
    command = ["run", str(file), "--out", str(tmp_path / "out"), "--repeat", "1"]
    assert invoke(command) == EXPECTATION_FAILED
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error:")]
    assert lines[-1] == "error: expectation not met: full: and 3 more points (--json has them)"
    # The shortest queues leave the most to be wished for; they come in the study's order.
    assert [line.rpartition(" = ")[2] for line in lines[:-1]] == ["2p", "3p", "4p", "5p", "6p"]
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "is not met at 8 of 8 sweep points" in page
    assert page.count("full: bottleneck.utilization &gt; 2, but it is") == 8
    seen, _, folded = page.partition("<summary>3 more</summary>")
    assert seen.count("but it is") == 5
    assert folded.partition("</details>")[0].count("but it is") == 3
    # Where every point has as many runs, the table does not count them.
    assert '<th class="number">runs</th>' not in page


def test_the_share_is_drawn_along_a_swept_number(tmp_path: Path) -> None:
    rtts = '["20ms", "30ms", "40ms", "50ms", "60ms"]'
    swept = cclab.run(
        "examples/quickstart.toml",
        out=tmp_path,
        repeat=2,
        set=["duration=3s", "warmup=0s", f"sweep={{ 'flow.long.rtt' = {rtts} }}"],
    )
    figure = swept.figure("share")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "long.rtt (ms)"
    line = axes.get_lines()[-1]
    assert np.asarray(line.get_xdata()).tolist() == [20, 30, 40, 50, 60]
    shares = [point.flows[0].share for point in swept.summaries]
    assert np.asarray(line.get_ydata()).tolist() == [
        share.mean for share in shares if share is not None
    ]


WITHOUT_NUMBERS = {"share", "matrix", "heatmap", "buffer-share", "curve", "box", "groups"} | {
    "phases",
    "completion",
    "probe-rtt",
    "probe-cdf",
    "queue-cdf",
}
"""Figures of which these results have nothing to show: one key is swept, over two variants, of two
flows with few runs."""


@pytest.mark.parametrize("kind", [k.name for k in figures.FIGURES if k.name not in WITHOUT_NUMBERS])
def test_figures_are_drawn_with_the_same_bytes_each_time(results: Results, kind: str) -> None:
    first = figures.svg(results.figure(kind))
    assert first == figures.svg(results.figure(kind))
    assert first.startswith(b"<?xml")
    assert b"dc:date" not in first


def test_figures_do_not_depend_on_the_process(results: Results, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, cclab; from cclab import report; "
        "report.write(cclab.load(sys.argv[1]), pathlib.Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", script, str(results.store.path), str(tmp_path / "there")]
    subprocess.run(command, check=True)
    write(results, tmp_path / "here")
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


def test_notebooks_show_figures_and_results(results: Results) -> None:
    figure = results.figure("cwnd")
    assert figure._repr_svg_().encode() == figures.svg(figure)
    shown = results._repr_html_()
    assert "<table>" in shown
    assert "Two flows on a slow link" in shown


def test_figures_leave_the_callers_own_plots_where_they_are_shown(results: Results) -> None:
    before = mpl.get_backend()
    mpl.use("svg")
    try:
        results.figure("cwnd")._repr_svg_()
        assert mpl.get_backend() == "svg"
    finally:
        mpl.use(before)


def test_a_study_may_be_written_in_a_notebook(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = cclab.run(cclab.Study.of(STUDY, "two-flows"), repeat=1)
    assert results.store.path == Path("results/two-flows")
    in_file = cclab.Study.load(study).plan(repeat=1).runs
    assert [run.run.id for run in results.runs] == [run.id for run in in_file]


def test_a_mistake_in_a_notebooks_study_is_told_with_its_place() -> None:
    with pytest.raises(StudyError, match=r"^mine:1:1: "):
        cclab.Study.of("durration = '1s'", "mine")


@pytest.mark.parametrize(
    "name", ["", "..", ".hidden", "a/b", "/tmp/a", "a\\b", "a\0b", "x" * 300, "\ud800"]
)
def test_what_names_no_folder_names_no_study(name: str) -> None:
    with pytest.raises(InputError, match="cannot name a study"):
        cclab.Study.of(STUDY, name)


def test_unknown_figure_is_refused(results: Results) -> None:
    with pytest.raises(InputError, match="no figure called 'pie'; the figures are goodput"):
        results.figure("pie")


def test_page_loads_nothing(results: Results) -> None:
    text = page.html(results, page.draw(results))
    assert not re.search(r"<(?:script|link|img|iframe|object|embed|base)\b", text)
    references = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", text)
    # A link to the page beside it is followed by who clicks on it.
    assert {r for r in references if not r.startswith("#")} == {"sweep.html"}
    assert all(r.startswith("#") for r in re.findall(r"url\(([^)]*)\)", text))
    assert "@import" not in text


def test_the_page_shades_the_edge_behind_which_the_table_goes_on(
    results: Results, tmp_path: Path
) -> None:
    file = tmp_path / "index.html"
    # Without leave for its own scripts it would not have the test's.
    file.write_text(page.html(results, page.draw(results)).replace("default-src 'none';", ""))
    script = """
      const box = document.querySelector(".scroll");
      const result = document.createElement("pre");
      result.id = "result";
      const goesOn = box.scrollWidth > box.clientWidth;
      const moves = getComputedStyle(box).backgroundAttachment;
      result.textContent = [goesOn, box.tabIndex, moves].join("; ");
      document.body.append(result);
    """
    for width in (1200, 500):
        after = in_browser(file, script, tmp_path, f"--window-size={width},600")
        [told] = re.findall(r'<pre id="result">(.*?)</pre>', after, re.DOTALL)
        goes_on = str(width == 500).lower()
        # The paper over the shades moves with the table, the shades stay at the edges.
        assert told == f"{goes_on}; 0; local, local, scroll, scroll"


def test_page_has_unique_ids_that_its_references_find(results: Results) -> None:
    text = page.html(results, page.draw(results))
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(ids)


def test_page_says_where_the_numbers_come_from(results: Results) -> None:
    text = page.html(results, page.draw(results))
    for run in results.runs:
        assert run.run.id in text
    for word in ("linux-6.12", "seed 7", f"core {_core.CORE_VERSION}, linux-6.12 ", "bootstrap"):
        assert word in text
    for warning in results.warnings:
        assert warning.code in text


def test_text_of_a_study_cannot_become_markup(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("Two flows", "<script>alert(1)</script> [bold] | $x$"))
    results = cclab.run(file, out=tmp_path / "out", repeat=1)
    assert "<script>" not in page.html(results, page.draw(results))
    assert "<script>" not in results._repr_html_()


def test_table_has_a_row_for_each_flow_and_point(results: Results) -> None:
    told = tables.markdown(results).splitlines()
    lines = [line for line in told if line.startswith("|")]
    assert len(lines) == 2 + 4
    # Below it stands what of it is of the time after the warm-up.
    assert "500 ms of warm-up" in told[-1]
    assert len({line.count("|") for line in lines}) == 1
    assert "short.cc" in lines[0]
    assert "±" in lines[2]


def test_every_variant_has_a_look_of_its_own() -> None:
    names = [row["name"] for row in json.loads(_core.variants())]
    assert set(names) <= set(palette.LOOKS)
    looks = list(palette.LOOKS.values())
    assert len(looks) == len(set(looks))


def test_an_unreadable_run_with_a_right_digest_is_run_again(study: Path, tmp_path: Path) -> None:
    first = cclab.run(study, out=tmp_path / "out", repeat=1, set=["duration=1s"])
    run = first.runs[0].run

    def nothing_readable(directory: Path) -> None:
        (directory / "flows.parquet").write_bytes(b"nothing that was asked is beside it")

    with first.store.writer() as writer:
        writer.set_aside(run.id)
        save(writer, run, nothing_readable)
    assert first.store.sound(run.id, contents=True)
    again = cclab.run(study, out=tmp_path / "out", repeat=1, set=["duration=1s"])
    assert again.document() == first.document()


def test_results_show_themselves_as_the_table(results: Results) -> None:
    lines = repr(results).splitlines()
    assert lines[0] == "Two flows on a slow link"
    assert lines[2].split("  ")[0] == "short.cc"
    # The caption says of which time the numbers are.
    assert len(lines) == 3 + 4 + 2
    assert "after 500 ms of warm-up" in lines[-1]
    assert all(line == line.rstrip() for line in lines)


def test_table_splits_into_flows_and_points(results: Results) -> None:
    whole = tables.table(results)
    flows, points = whole.split()
    assert flows.headings + points.headings[1:] == whole.headings
    assert [len(group) for group in flows.groups] == [2, 2]
    assert [len(group) for group in points.groups] == [1, 1]
    assert [group[0][0] for group in points.groups] == ["reno", "cubic"]


def test_the_table_counts_runs_where_points_have_more_or_fewer(results: Results) -> None:
    assert "runs" not in tables.table(results).headings
    first, second = results.points
    uneven = replace(results, points=[replace(first, runs=first.runs[:1]), second])
    cells = tables.table(uneven)
    assert cells.headings[-1] == "runs"
    assert [[row[-1] for row in group] for group in cells.groups] == [["1", ""], ["2", ""]]
    assert [part.headings[-1] for part in cells.split()] == ["limited by", "runs"]
    for shown in (tables.markdown(uneven), tables.plain(uneven), uneven._repr_html_()):
        assert "runs" in shown


def test_sweep_parameters_keep_the_order_of_the_study(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY + '"flow.long.cc" = ["reno"]\n"flow.long.rtt" = ["60ms"]\n')
    plan = cclab.Study.load(file).plan()
    assert list(plan.points[0].params) == ["flow.short.cc", "flow.long.cc", "flow.long.rtt"]


def test_flows_of_one_variant_look_different() -> None:
    assert len({palette.look("cubic", nth) for nth in range(8)}) == 8
    assert palette.look("of tomorrow") == palette.look("of tomorrow")
    assert palette.look("of tomorrow") != palette.look("of tomorrow", 1)


def test_wrong_arguments_are_refused_before_anything_is_made(study: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="jobs is 0"):
        cclab.run(study, out=tmp_path / "out", jobs=0)
    with pytest.raises(InputError, match="backend 'netns'"):
        cclab.run(study, out=tmp_path / "out", backend="netns")
    assert not (tmp_path / "out").exists()


def test_a_replacement_may_supply_what_the_file_lacks(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace('duration = "2s"', ""))
    study = cclab.Study.load(file)
    with pytest.raises(cclab.StudyError, match="duration"):
        study.plan()
    assert len(study.plan(set=["duration=3s"]).runs) == 4
    file.write_text(STUDY.replace("duration", "durration"))
    with pytest.raises(cclab.StudyError, match=r"study\.toml:3:1"):
        cclab.Study.load(file)


def test_core_does_not_raise_anything_but_its_own_errors(tmp_path: Path) -> None:
    with pytest.raises(cclab.StudyError):
        _core.plan("title = 1", "x.toml", [], [], {})
    with pytest.raises(cclab.StudyError):
        _core.execute(["{}"], str(tmp_path), [_core.Progress()])
    with pytest.raises(cclab.RunError):
        _core.measure(str(tmp_path))


def test_a_cancelled_run_says_so(results: Results, tmp_path: Path) -> None:
    progress = _core.Progress()
    progress.cancel()
    outcomes = _core.execute([results.runs[0].run.to_json()], str(tmp_path), [progress])
    assert outcomes[0] is not None
    assert "cancelled" in outcomes[0]
    assert progress.fraction < 1
