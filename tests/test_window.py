"""What a study shows after its warm-up, and of either direction; units and digits."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from cclab import units
from cclab.cli.main import invoke
from cclab.errors import StudyError
from cclab.measure import stats
from cclab.report import page, tables

if TYPE_CHECKING:
    from pathlib import Path

# What a user met: flows that start one after the other, and a warm-up until after the last start.
LATE = """
title = "Late starts"
duration = "16s"
warmup = "10s"

[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "1bdp" }

[[flow]]
name = "first"
rtt = "30ms"
start = "0s"

[[flow]]
name = "second"
rtt = "30ms"
start = "3s"

[[flow]]
name = "third"
rtt = "30ms"
start = "6s"
"""

BOTH_WAYS = """
title = "Both ways"
duration = "10s"

[network.bottleneck]
rate = "20Mbit"
delay = "5ms"
queue = { limit = "2bdp" }
reverse = { rate = "4Mbit", queue = { limit = "2bdp" } }

[[flow]]
name = "down"
start = "0s"

[[flow]]
name = "up"
direction = "reverse"
start = "0s"

[[flow]]
name = "up2"
direction = "reverse"
start = "0s"
"""


def run(tmp_path: Path, text: str, out: str = "results", **options: Any) -> cclab.Results:
    study = tmp_path / f"{out}.toml"
    study.write_text(text)
    return cclab.run(study, out=tmp_path / out, **options)


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> cclab.Results:
    return run(tmp_path_factory.mktemp("late"), LATE)


def rows_of(results: cclab.Results) -> list[dict[str, str]]:
    table = tables.table(results)
    rows = [row for group in table.groups for row in group]
    return [dict(zip(table.headings, row, strict=True)) for row in rows]


def shown(rows: list[dict[str, str]], heading: str) -> list[str]:
    return [row[next(h for h in row if h.startswith(heading))] for row in rows]


def test_after_a_warm_up_the_table_is_of_the_time_after_it(late: cclab.Results) -> None:
    (measured,) = late.runs
    flows = measured.metrics["flows"]
    steady = [flow["steady_goodput_bps"] for flow in flows]
    # From the warm-up on all are active: the window of each is the steady one.
    assert [flow["window_goodput_bps"] for flow in flows] == pytest.approx(steady)
    whole = [flow["goodput_bps"] for flow in flows]
    assert whole[0] > 1.2 * steady[0], "else nothing is tested"
    rows = rows_of(late)
    assert shown(rows, "goodput") == [f"{bps / 1e6:.2f}" for bps in steady]
    shares = [f"{100 * bps / sum(steady):.1f}%" for bps in steady]
    assert shown(rows, "share") == shares
    jain = sum(steady) ** 2 / (len(steady) * sum(bps**2 for bps in steady))
    assert measured.metrics["window_jain"] == pytest.approx(jain)
    assert measured.metrics["jain"] < jain
    assert shown(rows, "Jain")[0] == f"{jain:.3f}"
    queue = 1e3 * measured.metrics["bottleneck"]["window_queue_delay_mean_s"]
    assert shown(rows, "queue delay")[0] == units.told(queue)
    assert shown(rows, "srtt") == [units.told(1e3 * f["window_srtt_mean_s"]) for f in flows]


def test_the_caption_names_the_window(late: cclab.Results, tmp_path: Path) -> None:
    said = "after 10 s of warm-up, until 16 s"
    assert said in tables.plain(late)
    assert said in tables.markdown(late)
    swept = run(tmp_path, f'{LATE}\n[sweep]\n"flow.first.cc" = ["cubic", "reno"]\n')
    drawn = page.draw(swept)
    of_window = {kind.name for kind, _ in drawn.figures} & set(page.OF_WINDOW)
    assert "goodput" in of_window
    # Below the table, and below each figure that has numbers of it.
    html = page.html(swept, drawn)
    assert html.count(said) == 1 + len(of_window)
    # And the words are explained as what is shown.
    assert "over acknowledgements after the warm-up" in html


def test_without_a_warm_up_nothing_is_said_and_nothing_changes(tmp_path: Path) -> None:
    results = run(tmp_path, LATE.replace('warmup = "10s"\n', ""))
    (measured,) = results.runs
    metrics = measured.metrics
    assert (metrics["window_jain"], metrics["bottleneck"]["window_queue_delay_mean_s"]) == (
        None,
        None,
    )
    assert all(flow["window_goodput_bps"] is None for flow in metrics["flows"])
    rows = rows_of(results)
    assert shown(rows, "goodput") == [
        f"{flow['goodput_bps'] / 1e6:.2f}" for flow in metrics["flows"]
    ]
    assert shown(rows, "Jain")[0] == f"{metrics['jain']:.3f}"
    assert "warm-up" not in tables.plain(results)


@pytest.mark.parametrize(
    ("check", "met"),
    [
        # What the table says, by the short name; the whole run, by the name with its unit.
        ("flow.first.goodput < 3.9e6", True),
        ("flow.first.goodput_bps < 3.9e6", False),
        ("flow.first.window_goodput_bps < 3.9e6", True),
        ("jain > 0.97", True),
        ("window_jain > 0.97", True),
        ("bottleneck.queue_delay_mean > 0.001", True),
    ],
)
def test_short_names_of_checks_mean_what_the_table_says(
    tmp_path: Path, late: cclab.Results, check: str, met: bool
) -> None:
    study = tmp_path / "checked.toml"
    study.write_text(f'{LATE}\n[expect]\nit = "{check}"\n')
    checked = cclab.run(study, out=late.store.path)
    assert (not checked.failures) == met, [str(one) for one in checked.failures]


def test_for_an_unknown_name_a_short_one_is_offered(tmp_path: Path) -> None:
    text = f'{LATE}\n[expect]\nit = "flow.first.goodputt > 1"\n'
    with pytest.raises(StudyError, match=r"flow\.first\.goodput"):
        run(tmp_path, text)


def test_a_rule_for_repeats_takes_short_names(tmp_path: Path) -> None:
    text = LATE.replace(
        'title = "Late starts"', 'repeat = "until ci95(flow.first.goodput) < 50%, at most 5"'
    )
    results = run(tmp_path, text.replace("16s", "11s"))
    assert 2 <= len(results.runs) <= 5


def test_compare_and_query_show_what_the_table_shows(
    late: cclab.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = cclab.compare(late.store.path, late.store.path, study=None)
    names = {c.metric.path for c in found.compared}
    assert {"flow.window_goodput_bps", "window_jain", "flow.window_srtt_mean_s"} <= names
    assert not {"flow.goodput_bps", "jain"} & names
    asked = cclab.compare(late.store.path, late.store.path, metrics=["goodput_bps", "rtt_p95"])
    assert {c.metric.path for c in asked.compared} == {"flow.goodput_bps", "flow.window_rtt_p95_s"}

    assert invoke(["compare", str(late.store.path), str(late.store.path)]) == 0
    assert "After the warm-up alone: goodput, srtt mean, rtt p95" in capsys.readouterr().out
    frame = cclab.query(late.store.path)
    window = [flow["window_goodput_bps"] for flow in late.runs[0].metrics["flows"]]
    assert frame["goodput"].to_list() == window
    assert frame["share"].to_list() == pytest.approx([bps / sum(window) for bps in window])
    whole = cclab.query(late.store.path, columns=["name", "goodput_bps"])
    assert whole["goodput_bps"].to_list() == [
        flow["goodput_bps"] for flow in late.runs[0].metrics["flows"]
    ]
    assert invoke(["query", str(late.store.path), "--table", "runs", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert float(rows[0]["jain"]) == pytest.approx(late.runs[0].metrics["window_jain"])


def test_directions_have_rows_of_their_own(tmp_path: Path) -> None:
    results = run(tmp_path, BOTH_WAYS)
    (measured,) = results.runs
    metrics = measured.metrics
    rows = rows_of(results)
    assert shown(rows, "direction") == ["forward", "reverse", ""]
    # Alone on its way, there is nothing to share.
    assert shown(rows, "share")[0] == "–"
    ups = [flow["goodput_bps"] for flow in metrics["flows"][1:]]
    assert shown(rows, "share")[1:] == [f"{100 * bps / sum(ups):.1f}%" for bps in ups]
    assert shown(rows, "Jain") == ["–", f"{metrics['reverse_jain']:.3f}", ""]
    used = metrics["bottleneck"]
    assert shown(rows, "utilization")[:2] == [
        units.told(100 * used[name], least=1) + "%"
        for name in ("utilization", "reverse_utilization")
    ]
    # Both are the rows of sweep points, too.
    _, points = tables.table(results).split()
    assert [row[0] for group in points.groups for row in group] == ["forward", "reverse"]
    # 18 Mbit/s forward are not held against the 4 that go back.
    assert metrics["flows"][0]["goodput_bps"] > 4e6
    codes = {warning["code"] for warning in metrics["warnings"]}
    assert "goodput-above-rate" not in codes


def test_one_flow_shares_with_nobody(tmp_path: Path) -> None:
    text = BOTH_WAYS.partition('[[flow]]\nname = "up"')[0].replace("10s", "2s")
    (row,) = rows_of(run(tmp_path, text))
    assert (row["share"], row["Jain"]) == ("–", "–")
    assert "direction" not in row


def test_transfers_of_milliseconds_are_told_in_milliseconds(tmp_path: Path) -> None:
    text = """
duration = "1s"
[network.bottleneck]
rate = "1Gbit"
delay = "10us"
queue = { limit = "100kB" }
[[flow]]
name = "short"
transfer = "500kB"
start = { at = "0s", spread = "1ms" }
"""
    results = run(tmp_path, text, repeat=5)
    (row,) = rows_of(results)
    (heading,) = (heading for heading in row if heading.startswith("FCT"))
    assert heading == "FCT (ms)"
    fct = results.summaries[0].flows[0].estimates["fct_s"]
    assert fct is not None
    assert fct.half_width is not None
    assert row[heading] == units.told(1e3 * fct.mean, 1e3 * fct.half_width)
    codes = {w["code"]: w for r in results.runs for w in r.metrics["warnings"]}
    # Samples every 100 ms of round trips of microseconds; the end of a transfer is no idle sender.
    assert "trace.interval" in codes["coarse-samples"]["remedy"]
    assert "limited-by-application" not in codes


@pytest.mark.parametrize(
    ("value", "half", "told"),
    [
        (4.5261, 0.0131, "4.526 ± 0.013"),
        (94.12, 3.4, "94.1 ± 3.4"),
        (1234.5, 67.0, "1234 ± 67"),
        (1234.5, 670.0, "1234 ± 670"),
        # Rounded up, the interval has a digit more before the point.
        (5.0, 0.0996, "5.00 ± 0.10"),
        (0.00123, 0.0000456, "0.001230 ± 0.000046"),
        (45.678, None, "45.7"),
        (0.012345, None, "0.0123"),
        (9876.5, None, "9876"),
        (99.96, None, "100"),
        (0.0, None, "0"),
        # Nothing varied.
        (45.678, 0.0, "45.7"),
    ],
)
def test_digits_follow_the_interval(value: float, half: float | None, told: str) -> None:
    assert units.told(value, half) == told


def test_units_follow_the_scale() -> None:
    assert [units.time(t)[1] for t in (3.0, 0.0082, 20e-6, 5e-9, 0.0)] == [
        "s",
        "ms",
        "µs",
        "ns",
        "ms",
    ]
    assert [units.rate(bps)[1] for bps in (9.6e9, 5e6, 2e4)] == ["Gbit/s", "Mbit/s", "kbit/s"]


def test_what_two_runs_estimate_is_told_by_its_interval() -> None:
    (estimate,) = stats.estimates([[4.1, 4.5, 4.3, 4.2, 4.4]])
    assert estimate is not None
    text = units.told(estimate.mean, estimate.half_width)
    mean, half = text.split(" ± ")
    assert len(half.replace(".", "").lstrip("0")) == 2
    assert len(mean.partition(".")[2]) == len(half.partition(".")[2])


def test_json_has_both(late: cclab.Results) -> None:
    document = json.loads(json.dumps(late.document()))
    (flow, *_) = document["runs"][0]["flows"]
    assert flow["goodput_bps"] != flow["window_goodput_bps"]
    (point,) = document["summary"]
    of_first = point["flows"][0]
    assert of_first["window_goodput_bps"]["mean"] == flow["window_goodput_bps"]
    assert of_first["goodput_bps"]["mean"] == flow["goodput_bps"]
