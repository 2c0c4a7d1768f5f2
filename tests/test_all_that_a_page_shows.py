"""What figures can show, the page of a sweep can show: no metric and no name is cut off."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import cclab
from browser import Chromium, Tab
from cclab import report
from cclab.report import explore
from cclab.report.explore import runs as explored
from test_sweep_page import data_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab import Results

FLOWS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "a-flow-with-a-rather-long-name",
    "g",
    "web",
)
WIDE = (1400, 1000)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Eight flows, the last of them six transfers, a probe, and two named queues."""
    folder = tmp_path_factory.mktemp("eight")
    flows = [f'[[flow]]\nname = "{name}"\ncc = "cubic"\n' for name in FLOWS]
    file = folder / "study.toml"
    file.write_text(
        "".join(
            [
                'duration = "2s"\nwarmup = "500ms"\nrepeat = 2\n',
                '[network.bottleneck]\nrate = "40Mbit"\ndelay = "5ms"\n',
                'queue = { kind = "dualpi2", limit = "1000p" }\n',
                *(flow.replace("cubic", "reno") for flow in flows[:3]),
                flows[3],
                flows[4].replace("cubic", "prague"),
                *flows[5:7],
                flows[7].replace("cubic", "reno"),
                'count = 6\ntransfer = "20kB"\n',
                '[[probe]]\nname = "ping"\ninterval = "20ms"\n',
                '[trace]\nevents = ["state"]\n',
                '[sweep]\n"network.bottleneck.delay" = ["5ms", "20ms"]\n',
            ]
        )
    )
    return cclab.run(file, out=folder / "out")


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of these results."""
    file = tmp_path_factory.mktemp("report") / report.EXPLORE
    file.write_text(explore.html(results))
    return file


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def names_in(html: str) -> list[str]:
    """The metrics to choose from."""
    return [metric["name"] for metric in data_of(html)["metrics"]]


def test_every_metric_can_be_chosen(results: Results, page: Path, chromium: Chromium) -> None:
    measured = {name for run in results.runs for name in run.numbers}
    assert len(measured) > 200
    assert set(names_in(page.read_text())) == measured
    assert "more metrics" not in page.read_text()
    with chromium.opened(page, "", WIDE) as tab:
        offered = tab.value("[...document.querySelectorAll('#y option')].map((one) => one.value)")
    assert {"flow.web.fct_s", "flow.g.share", "probe.ping.rtt_p95_s"} <= set(offered)
    assert measured <= set(offered)


@pytest.mark.parametrize("bound", ["BUDGET", "MOST_METRICS"])
def test_metrics_without_room_are_those_asked_last_and_are_counted(
    results: Results, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    measured = {name for run in results.runs for name in run.numbers}
    of_flows = {name for name in measured if name.startswith(("flow.", "traffic."))}
    ends = (".goodput_bps", ".share", ".fct_s", ".rtt_p95_s", ".window_goodput_bps")
    first = {name for name in of_flows if name.endswith(ends)}
    room = len(measured - of_flows) + len(first) + 20
    each = explored._HEAD + 16 * len(results.runs) // 3
    monkeypatch.setattr(explored, bound, room if bound == "MOST_METRICS" else room * each)
    html = explore.html(results)
    kept = set(names_in(html))
    assert len(kept) == room
    assert kept >= (measured - of_flows) | first
    [told] = re.findall(r"([\d,]+) more metrics of flows", html)
    assert int(told.replace(",", "")) == len(measured) - room
    assert "cclab query" in html


_ROWS = """(async () => {
  const texts = new Map();
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
    const { width } = this.measureText(text);
    if (this.canvas.closest("[data-panel^='phase']")) texts.set(text, x - width);
    plain.call(this, text, x, ...more);
  };
  const opened = document.getElementById("opened");
  opened.dispatchEvent(new Event("change"));
  await new Promise((done) => setTimeout(done, 200));
  CanvasRenderingContext2D.prototype.fillText = plain;
  return [...texts].filter(([text]) => text && !/^[0-9.]+ s$/.test(text));
})()"""
"""The names of the rows of phases, and where each begins on its canvas."""


@pytest.mark.parametrize("size", [WIDE, (420, 900)])
def test_names_of_rows_are_whole_or_end_in_an_ellipsis(
    page: Path, chromium: Chromium, size: tuple[int, int]
) -> None:
    with chromium.opened(page, "", size) as tab:
        rows: list[Any] = tab.value(_ROWS)
        legend = _legend(tab)
        lefts = tab.value(
            "[...document.querySelectorAll('#series .u-over')].map((over) => over.offsetLeft)"
        )
    assert min(left for _, left in rows) >= 0
    assert len(set(lefts)) == 1
    names = [text for text, _ in rows]
    if size == WIDE:
        assert [name for name in names if not name.endswith("…")] == names
        assert names == legend
    else:
        assert [n for n in names if n.endswith("…")]
        for name, whole in zip(names, legend, strict=True):
            assert name == whole or whole.startswith(name.removesuffix("…"))


def _legend(tab: Tab) -> list[str]:
    """The names of the lines in the panel of phases."""
    names: list[str] = tab.value(
        "[...document.querySelectorAll(\"[data-panel^='phase'] .legend label\")].map("
        "(label) => label.childNodes[2].textContent)"
    )
    return names


def _floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def test_distributions_are_those_of_the_run(results: Results, page: Path) -> None:
    data = data_of(page.read_text())
    for place, run in enumerate(results.runs):
        own = {one["quantity"]: one for one in data["series"][str(place)]["distributions"]}
        assert list(own) == ["completion time", "round trip", "queue delay"]
        [curve] = own["completion time"]["curves"]
        took = [flow["fct_s"] for flow in run.metrics["flows"] if flow["name"].startswith("web.")]
        ended = sorted(time for time in took if time is not None)
        assert len(took) == 6
        assert _floats(curve["values"]) == pytest.approx(ended, rel=1e-6)
        shares = [(nth + 1) / 6 for nth in range(len(ended))]
        assert _floats(curve["shares"]) == pytest.approx(shares, rel=1e-6)
        [curve] = own["round trip"]["curves"]
        frame = run.table("probe_samples").filter(pl.col("sent_s") >= 0.5).drop_nulls("rtt_s")
        rtts = np.sort(frame["rtt_s"].to_numpy())
        assert _floats(curve["values"]) == pytest.approx(rtts, rel=1e-6)
        [probe] = run.metrics["probes"]
        assert _floats(curve["shares"])[-1] == pytest.approx(len(rtts) / probe["sent"])
        queues = own["queue delay"]["curves"]
        assert [curve["label"] for curve in queues] == ["queue L", "queue C"]
        for curve in queues:
            up = _floats(curve["shares"])
            assert up[-1] == 1
            assert (np.diff(up) >= 0).all()
            assert len(up) == len(_floats(curve["values"])) <= 200


def test_distributions_of_two_runs_lie_beside_each_other_and_are_read_by_keys(
    results: Results, page: Path, chromium: Chromium
) -> None:
    first, other = results.runs[0].run.id, results.runs[2].run.id
    with chromium.opened(page, f"#run={first}&with={other}", WIDE) as tab:
        titles = tab.value("[...document.querySelectorAll('#shares h3')].map((h) => h.textContent)")
        names = ("completion time", "round trip", "queue delay")
        assert titles == [f"{run}: distribution: {name}" for name in names for run in "AB"]
        figure = "document.querySelectorAll('#shares figure')[2]"
        tab.value(f"{figure}.focus()")
        told = f"{figure}.querySelector('output').textContent"
        tab.press("Home")
        assert re.fullmatch(r"[\d.]+ % in [\d.]+ ms", tab.value(told))
        tab.press("End")
        rtts = results.runs[0].table("probe_samples").filter(pl.col("sent_s") >= 0.5)
        shown = tab.value(told)
        sent = results.runs[0].metrics["probes"][0]["sent"]
        share = float(shown.split(" %")[0])
        assert share == pytest.approx(100 * rtts["rtt_s"].drop_nulls().len() / sent, rel=1e-3)
        assert "ping" in tab.value("document.getElementById('told').textContent")
        left, top, width, height = tab.box("#shares .u-over", 2)
        tab.move(left + width / 3, top + height / 2)
        tab.settle()
        assert tab.value(told) != shown
        assert not tab.broken()


_IS_TOLD = "!document.querySelector('.tip').hidden"


def _point_at(tab: Tab, runs: Results, *, backwards: bool = False) -> tuple[float, float, str]:
    """Moves the mouse over the scatter until it tells of a run: where that is, and its id."""
    left, top, width, height = tab.box("#scatter .u-over")
    across = range(2, int(width), 24)
    for x in reversed(across) if backwards else across:
        for y in range(2, int(height), 24):
            tab.move(left + x, top + y)
            if tab.value(_IS_TOLD):
                text = tab.value("document.querySelector('.tip').textContent")
                [told] = [run.run.id for run in runs.runs if run.run.id in text]
                return left + x, top + y, told
    raise AssertionError("no place of the scatter tells of a run")


def _opened(tab: Tab) -> list[str]:
    ids: list[str] = tab.value("[...new URLSearchParams(location.hash.slice(1)).values()]")
    return ids


def test_the_mouse_tells_opens_and_lays_beside_runs_of_the_scatter(
    results: Results, page: Path, chromium: Chromium
) -> None:
    with chromium.opened(page, "", WIDE) as tab:
        tab.choose("#x", "network.bottleneck.delay")
        tab.choose("#y", "flow.web.fct_s")
        assert not tab.value(_IS_TOLD)
        x, y, first = _point_at(tab, results)
        tab.click(x, y)
        assert _opened(tab) == [first]
        x, y, other = _point_at(tab, results, backwards=True)
        assert other != first
        tab.click(x, y, shift=True)
        assert _opened(tab) == [first, other]
        assert tab.value("document.body.classList.contains('comparing')")
        left, top, _, _ = tab.box("#scatter")
        tab.move(left + 2, top + 2)
        tab.settle()
        assert not tab.value(_IS_TOLD)
        assert not tab.complaints()


def test_a_drag_enlarges_a_part_of_the_scatter(
    results: Results, page: Path, chromium: Chromium
) -> None:
    with chromium.opened(page, "", WIDE) as tab:
        tab.choose("#x", "network.bottleneck.delay")
        tab.choose("#y", "flow.web.fct_s")
        x, _, first = _point_at(tab, results)
        left, top, width, height = tab.box("#scatter .u-over")
        tab.drag((left + width / 2, top + 1), (left + width - 1, top + height - 1))
        # The runs of the lower delay lie in the left half, which is no longer there.
        _, _, seen = _point_at(tab, results)
        by_id = {run.run.id: point.params for point in results.points for run in point.runs}
        key = "network.bottleneck.delay"
        assert (by_id[first][key], by_id[seen][key]) == ("5ms", "20ms")
        tab.click(left + width / 4, top + height / 2, count=2)
        again, _, shown = _point_at(tab, results)
        assert (shown, round(again)) == (first, round(x))
        assert not tab.complaints()
