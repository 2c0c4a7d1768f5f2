"""The page of a sweep: every run is a point, and a point opens its run's time series."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cclab
from browser import in_browser
from cclab import report
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.report import explore
from cclab.report.explore import runs as explored
from cclab.report.explore import series
from cclab.report.explore.runs import evenly
from cclab.report.figures import expectation
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.plan import Run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Eight points of two runs each; one key has a value with spaces, one a number."""
    folder = tmp_path_factory.mktemp("sweep")
    file = folder / "two flows.toml"
    file.write_text(
        STUDY
        + '"network.bottleneck.queue" = [{ kind = "droptail", limit = "1bdp" }, '
        + '{ kind = "codel", limit = "200p" }]\n"flow.short.rtt" = ["20ms", "200ms"]\n'
    )
    return cclab.run(file, out=folder / "out")


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of these results."""
    file = tmp_path_factory.mktemp("report") / report.EXPLORE
    file.write_text(explore.html(results))
    return file


def data_of(html: str) -> dict[str, Any]:
    """What the page's program reads."""
    [text] = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL
    )
    data: dict[str, Any] = json.loads(text)
    return data


def numbers(packed: str, kind: str) -> np.ndarray:
    """Numbers as the page holds them."""
    return np.frombuffer(base64.b64decode(packed), dtype=kind)


def test_what_is_expected_is_worked_out_once_for_the_runs_of_a_sweep_point(
    results: Results, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained: list[Run] = []
    plain = expectation.expected_bps

    def counted(run: Run) -> dict[str, float]:
        explained.append(run)
        return plain(run)

    monkeypatch.setattr(expectation, "expected_bps", counted)
    assert explore.html(results) == page.read_text()
    assert explained == [point.runs[0].run for point in results.points]
    of_runs = [[plain(run.run) for run in point.runs] for point in results.points]
    assert all(expected == of_point[0] for of_point in of_runs for expected in of_point)


def test_the_page_holds_every_run_and_metric(results: Results, page: Path) -> None:
    data = data_of(page.read_text())
    assert data["ids"] == [run.run.id for run in results.runs]
    assert data["seeds"] == [str(run.run.seed) for run in results.runs]
    metrics = {metric["name"]: metric for metric in data["metrics"]}
    assert numbers(metrics["jain"]["values"], "<f4") == pytest.approx(
        results.bottlenecks["jain"].to_numpy(), rel=1e-6
    )
    long = results.flows.filter(name="long")
    goodput = metrics["flow.long.goodput_bps"]
    assert (goodput["label"], goodput["unit"]) == ("long: goodput", "rate")
    assert numbers(goodput["values"], "<f4") == pytest.approx(
        long["goodput_bps"].to_numpy(), rel=1e-6
    )
    for key in data["keys"]:
        places = numbers(key["places"], "<u2")
        of_runs = [key["values"][place] for place in places]
        told = [p.params[key["key"]] for p in results.points for _ in p.runs]
        assert of_runs == [v if isinstance(v, str) else json.dumps(v) for v in told]


def curves(course: dict[str, Any], quantity: str, part: str = "") -> dict[str, np.ndarray]:
    """The numbers of each line of a course; NaN for what is not known."""
    [panel] = [panel for panel in course["panels"] if panel["quantity"] == quantity]
    made = {}
    for curve in panel["curves"]:
        if curve.get("part", "") == part:
            whole = numbers(curve["values"]["data"], "<u2").astype(float)
            whole[whole == 65535] = np.nan
            made[course["lines"][curve["line"]]["name"]] = whole * curve["values"]["unit"]
    return made


def test_the_series_are_those_of_the_trace(results: Results, page: Path) -> None:
    data = data_of(page.read_text())
    assert set(data["series"]) == {str(place) for place in range(16)}
    for place, run in enumerate(results.runs):
        own = data["series"][str(place)]
        samples = results.samples(run.run.id)
        flows = {flow["name"]: flow for flow in run.metrics["flows"]}
        # As fine as the samples, of which a run has fewer than there is room for.
        assert (own["step"], own["steps"]) == (0.1, 20)
        for name, rates in curves(own, "throughput").items():
            frame = samples.filter(flow=name)
            received = np.nansum(rates) * own["step"] / 8
            # The run's last sample is that of its end; each number is rounded to one in 65,534.
            assert received == pytest.approx(frame["received_bytes"].max(), rel=1e-3)
            assert received == pytest.approx(flows[name]["bytes_received"], rel=0.1)
            for quantity, part, column, scale in (
                ("cwnd", "", "cwnd_bytes", 1448),
                ("cwnd", "ssthresh", "ssthresh_bytes", 1448),
                ("srtt", "", "srtt_s", 1),
                ("sequence", "", "snd_una_bytes", 1),
            ):
                shown = curves(own, quantity, part).get(name)
                if frame[column][-1] is None:
                    assert shown is None or np.isnan(shown[-1])
                    continue
                assert shown is not None
                assert shown[-1] * scale == pytest.approx(frame[column][-1], rel=1e-3)
        waiting = results.samples(run.run.id, "queue_samples").filter(link="bottleneck")
        most = waiting["backlog_bytes"].to_numpy().max()
        delays = curves(own, "queue-delay")["bottleneck"]
        assert delays.max() == pytest.approx(most * 8 / 10e6, rel=1e-3)
        # Data of no flow cross the way back.
        links = [panel["link"] for panel in own["panels"] if "link" in panel]
        assert links == ["bottleneck"]
        dropped = [t for panel in own["panels"] for t in panel["ticks"] if t["label"] == "drops"]
        counted = sum(int(numbers(ticks["counts"], "<u2").sum()) for ticks in dropped)
        assert counted == waiting["drops"].max()


def test_lines_look_as_in_the_figures(results: Results, page: Path) -> None:
    data = data_of(page.read_text())
    figure = results.figure("cwnd")
    handles: Any = figure.legends[0].legend_handles
    drawn = {handle.get_label(): (handle.get_color(), handle.get_linestyle()) for handle in handles}
    own = [line for course in data["series"].values() for line in course["lines"]]
    flows = {line["label"]: line["colour"] for line in own if line["name"] in ("long", "short")}
    assert flows == {label: colour for label, (colour, _) in drawn.items()}
    solid = {line["label"] for line in own if not line["dash"]} & flows.keys()
    assert solid == {label for label, (_, dash) in drawn.items() if dash == "-"}


def courses_of(study: str, folder: Path) -> tuple[Results, dict[str, Any]]:
    """What a study comes to, and what its page embeds."""
    file = folder / "study.toml"
    file.write_text(study)
    made = cclab.run(file, out=folder / "out")
    return made, data_of(explore.html(made))


def test_many_flows_are_quantiles_of_their_groups(tmp_path: Path) -> None:
    made, data = courses_of(
        """duration = "3s"
        [network.bottleneck]
        rate = "40Mbit"
        delay = "5ms"
        queue = { kind = "droptail", limit = "1bdp" }
        [[flow]]
        name = "web"
        count = 20
        cc = "cubic"
        [[flow]]
        name = "one"
        cc = "reno"
        """,
        tmp_path,
    )
    own = data["series"]["0"]
    assert [line["label"] for line in own["lines"][:2]] == ["web (cubic, 20 flows)", "reno"]
    samples = made.samples(0).filter(time_s=2.0)
    mss = made.runs[0].table("flows")["mss_bytes"][0]
    windows = samples.filter(samples["flow"].str.starts_with("web"))["cwnd_bytes"].to_numpy() / mss
    assert len(windows) == 20
    [panel] = [panel for panel in own["panels"] if panel["quantity"] == "cwnd"]
    # Thresholds of many would hide the windows.
    assert [curve["line"] for curve in panel["curves"]] == [0, 1]
    group, alone = panel["curves"]
    assert "bands" not in alone
    at = round(2.0 / own["step"]) - 1

    def value(packed: dict[str, Any]) -> float:
        return float(numbers(packed["data"], "<u2")[at] * packed["unit"])

    shown = [value(end) for band in group["bands"] for end in band] + [value(group["values"])]
    wanted = np.quantile(windows, [0.05, 0.95, 0.25, 0.75, 0.5])
    assert shown == pytest.approx(wanted, abs=windows.max() / 1000)


def test_every_queue_on_the_way_has_its_panel_as_in_the_figure(tmp_path: Path) -> None:
    made, data = courses_of(
        """duration = "4s"
        [network]
        topology = "parking-lot"
        bottlenecks = 2
        [network.bottleneck]
        rate = "5Mbit"
        delay = "5ms"
        queue = { kind = "codel", limit = "60p", ecn = true }
        schedule = [{ at = "2s", rate = "2Mbit" }]
        [[flow]]
        name = "long"
        cc = "reno"
        ecn = true
        [[flow]]
        name = "back"
        cc = "cubic"
        direction = "reverse"
        crosses = [2, 2]
        """,
        tmp_path,
    )
    own = data["series"]["0"]
    drawn = made.figure("queue").axes
    panels = [panel for panel in own["panels"] if "link" in panel]
    assert len(panels) == len(drawn) == 3
    seen: set[str] = set()
    for panel, axes in zip(panels, drawn, strict=True):
        # The rate changes: what waits takes as long as the link then has for it.
        assert panel["quantity"] == "queue-delay"
        [name, unit] = re.findall(
            r"(queue delay) \((m?s)\)", axes.get_ylabel() or "queue delay (ms)"
        )[0]
        top = np.nanmax(np.asarray(axes.lines[0].get_ydata(), float)) * (
            1e-3 if unit == "ms" else 1
        )
        assert name == data["quantities"]["queue-delay"]["title"]
        [curve] = panel["curves"]
        whole = numbers(curve["values"]["data"], "<u2").astype(float)
        whole[whole == 65535] = np.nan
        assert np.nanmax(whole) * curve["values"]["unit"] == pytest.approx(top, rel=1e-3)
        samples = made.samples(0, "queue_samples").filter(link=panel["link"])
        counted = {t["label"]: numbers(t["counts"], "<u2").sum() for t in panel["ticks"]}
        assert counted.get("drops", 0) == samples["drops"].max()
        assert counted.get("ECN marks", 0) == samples["marks"].max()
        seen |= counted.keys()
    assert "ECN marks" in seen


def test_phases_are_those_of_the_figure(tmp_path: Path) -> None:
    made, data = courses_of(
        """duration = "8s"
        [network.bottleneck]
        rate = "10Mbit"
        delay = "5ms"
        queue = { kind = "droptail", limit = "2bdp" }
        [[flow]]
        name = "one"
        [[flow]]
        name = "late"
        start = "2s"
        cc = "cubic"
        [trace]
        events = ["state"]
        [sweep]
        "flow.one.cc" = ["bbr3", "reno"]
        """,
        tmp_path,
    )
    patches = made.figure("phases").legends[0].get_patches()
    assert [name for name, _, _ in data["phases"]] == [patch.get_label() for patch in patches]
    drawn: list[Any] = [patch.get_facecolor() for patch in patches]
    rgb = [tuple(round(255 * c) for c in colour[:3]) for colour in drawn]
    assert [tuple(bytes.fromhex(colour[1:])) for _, colour, _ in data["phases"]] == rgb
    for place, run in enumerate(made.runs):
        own = data["series"][str(place)]
        for flow, told in curves(own, "phases").items():
            stays = run.trace.phases_of(flow)
            for nth, phase in enumerate(told):
                end = (nth + 1) * own["step"]
                here = stays.filter(
                    (stays["from_s"] <= end + 1e-9) & (stays["until_s"] > end + 1e-9)
                )
                if np.isnan(phase):
                    assert here.is_empty()
                elif not here.is_empty():
                    assert data["phases"][int(phase)][0] == here["phase"].item()


def test_the_command_of_a_point_makes_that_very_run(
    results: Results, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    data = data_of(page.read_text())
    shutil.copy(results.store.path / "plan.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    first, second = data["ids"][4:6]
    cclab_, *words = shlex.split(f"{data['command']} {first}")
    assert cclab_ == "cclab"
    assert invoke([*words, "--only", second]) == DONE
    again = cclab.load("again").runs
    assert [run.run.id for run in again] == [first, second]
    assert [run.metrics for run in again] == [run.metrics for run in results.runs[4:6]]
    # Of two runs of a point the second has its time series if it is asked for.
    monkeypatch.setattr(series, "BUDGET", series._size(again[0]))
    assert invoke(["report", "again", "--series", second[:10]]) == DONE
    written = tmp_path / "again" / "report" / report.EXPLORE
    assert list(data_of(written.read_text())["series"]) == ["1"]
    capsys.readouterr()
    assert invoke(["report", "again", "--series", "zz"]) == WRONG_INPUT
    assert "0 runs have an id that begins with 'zz'" in capsys.readouterr().err


def test_the_same_results_give_the_same_page(results: Results, page: Path) -> None:
    assert explore.html(cclab.load(results.store.path)) == page.read_text()


def test_what_there_is_no_room_for_is_said_and_can_be_asked_for(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = series._size(results.runs[0])
    monkeypatch.setattr(series, "BUDGET", 10 * size)
    html = explore.html(results)
    data = data_of(html)
    # The first run of each of the eight points, then the second of two, one from either half.
    assert sorted(map(int, data["series"])) == [0, 1, 2, 4, 6, 8, 9, 10, 12, 14]
    assert "16 runs, 10 of them with time series" in html
    monkeypatch.setattr(series, "BUDGET", 3 * size)
    kept = data_of(explore.html(results, [data["ids"][7][:10]]))["series"]
    assert "7" in kept
    assert len(kept) == 3


def test_of_too_many_runs_the_first_of_every_point_are_shown(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explored, "MOST_RUNS", 8)
    shown = explored.chosen(results)
    assert [run.run.id for _, run in shown] == [point.runs[0].run.id for point in results.points]
    monkeypatch.setattr(explored, "MOST_RUNS", 4)
    assert [point.index for point, _ in explored.chosen(results)] == [0, 2, 4, 6]
    last = results.runs[-1].run.id
    assert [run.run.id for _, run in explored.chosen(results, [last])][-1] == last
    assert evenly(10, 3) == [0, 3, 6]


SCRIPT = """
  const seen = {};
  const inked = (canvas) => new Uint32Array(canvas.getContext("2d").getImageData(
    0, 0, canvas.width, canvas.height).data.buffer).filter((pixel) => pixel).length;
  const figure = document.getElementById("scatter");
  const key = (key) => figure.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const set = (id, value) => {
    const select = document.getElementById(id);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  };
  const mouse = (over, type, clientX, clientY) =>
    over.dispatchEvent(new MouseEvent(type, { clientX, clientY, bubbles: true }));
  const titles = () => [...document.querySelectorAll("#series h3")].map((h) => h.textContent);
  const steps = [
    () => {
      seen.axes = ["x", "y", "colour"].map((id) => document.getElementById(id).value);
      seen.points = inked(document.querySelector("#scatter .plot canvas"));
      seen.legend = document.getElementById("legend").textContent;
    },
    () => {
      const select = document.querySelector("[data-key='flow.short.rtt']");
      select.options[0].selected = true;
      select.dispatchEvent(new Event("change"));
      seen.filtered = document.getElementById("count").textContent;
    },
    () => { key("End"); },
    () => { seen.tip = document.querySelector(".tip").textContent; key("Enter"); },
    () => { seen.titles = titles(); seen.run = document.getElementById("run").textContent; },
    () => {
      seen.hash = location.hash;
      seen.command = document.querySelector(".command code").textContent;
    },
    () => {
      seen.drawn = [...document.querySelectorAll("#series .uplot canvas")].map(inked);
      document.getElementById("all").click();
      set("x", "flow.long.srtt_mean_s");
      set("y", "flow.long.goodput_bps");
      seen.all = document.getElementById("count").textContent;
    },
    () => {
      // A click in the page opens the nearest point: look for one that answers.
      const over = document.querySelector("#scatter .u-over"), box = over.getBoundingClientRect();
      document.getElementById("series").replaceChildren();
      for (let x = 0; x < box.width && !titles().length; x += 6)
        for (let y = 0; y < box.height && !titles().length; y += 6)
          for (const type of ["mousedown", "mouseup", "click"])
            mouse(over, type, box.left + x, box.top + y);
      seen.clicked = titles().length;
    },
    () => {
      const over = document.querySelector("#series .u-over"), box = over.getBoundingClientRect();
      for (const type of ["mouseenter", "mousemove"])
        mouse(over, type, box.left + 200, box.top + 50);
    },
    () => {
      const legends = [...document.querySelectorAll("#series .legend")];
      seen.values = legends.map((legend) => legend.textContent);
      const right = (element) => element.getBoundingClientRect().right;
      const charts = [...document.querySelectorAll("#series .uplot")];
      seen.beyond = charts.map((chart) => right(chart) - right(chart.parentElement));
      seen.width = [document.documentElement.scrollWidth, innerWidth];
      const result = document.createElement("pre");
      result.id = "result";
      result.textContent = JSON.stringify(seen);
      document.body.append(result);
    },
  ];
  const timer = setInterval(() => steps.length ? steps.shift()() : clearInterval(timer), 80);
"""


# The study has a warm-up: the page opens with what happened after it.
DELAY_AND_THROUGHPUT = ["bottleneck.window_queue_delay_mean_s", "flow.short.window_goodput_bps"]


@pytest.mark.parametrize(
    ("size", "few", "start"),
    [("1200,1600", 4, DELAY_AND_THROUGHPUT), ("400,800", 2, ["flow.short.rtt", "window_jain"])],
)
def test_the_page_works_in_a_browser_without_a_network(
    results: Results, page: Path, tmp_path: Path, size: str, few: int, start: list[str]
) -> None:
    html = page.read_text()
    assert "const FEW = 4;" in html
    page = tmp_path / "few.html"
    page.write_text(html.replace("const FEW = 4;", f"const FEW = {few};"))
    assert "default-src 'none'" in html
    assert not re.findall(r"""(?:src|href)=["']?\s*(?:https?:|//|data:)""", html)
    after = in_browser(page, SCRIPT, tmp_path, f"--window-size={size}")
    [title] = re.findall(r"<title>(.*?)</title>", after)
    assert title == "Two flows on a slow link: the runs"
    [text] = re.findall(r'<pre id="result">(.*?)</pre>', after, re.DOTALL)
    seen = json.loads(text.replace("&gt;", ">").replace("&amp;", "&"))
    assert seen["axes"] == [*start, "flow.short.cc"]
    assert seen["points"] > 1000
    assert seen["legend"] == "short.cc:renocubic"
    assert (seen["filtered"], seen["all"]) == ("8 of 16 runs", "16 of 16 runs")
    [chosen] = [run for run in results.runs if run.run.id in seen["tip"]]
    assert f"seed {chosen.run.seed}" in seen["tip"]
    assert "short.rtt = 20ms" in seen["tip"]
    assert seen["hash"] == f"#run={chosen.run.id}"
    assert seen["run"].endswith(f"seed {chosen.run.seed}")
    assert seen["command"] == f"{data_of(page.read_text())['command']} {chosen.run.id}"
    wanted = ["throughput, means of 100 ms", "cwnd (segments)", "srtt"]
    assert seen["titles"] == [*wanted, "queue delay, bottleneck", "sequence number"]
    assert min(seen["drawn"]) > 1000
    assert seen["clicked"] == 5
    # What the crosshair of the first points at is told in the others too.
    assert all(re.search(r"\d", values) for values in seen["values"])
    assert re.search(r"long \(reno\)\D*[\d.]+ m?s", seen["values"][2])
    # Nothing of the series is cut off on the right, such as the last label of the time: widths are
    # whole pixels.
    assert max(seen["beyond"]) < 1
    assert seen["width"][0] <= seen["width"][1]
