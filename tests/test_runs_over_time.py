"""Runs over time on the page of a sweep, as somebody with a mouse and keys has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cclab
from browser import Chromium, Tab
from cclab import report
from cclab.report import explore
from conftest import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab import Results
    from cclab.measure.points import Measured

STEP = 0.01
WIDE, NARROW = (1400, 1000), (420, 900)
UNITS = {
    **{"": 1.0, "%": 0.01, "s": 1.0, "ms": 1e-3, "µs": 1e-6},
    **{"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "B": 1.0, "kB": 1e3, "MB": 1e6},
}


_DOTS = """[...document.querySelectorAll("#series .uplot canvas")].map((canvas) =>
  (width = canvas.width) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    // Without the axis of time.
    return context.getImageData(0, 0, width, canvas.height - 34).data;
  })"""
"""What is drawn in each panel, or in its first columns alone."""


_AT_THE_TOP = """[...document.querySelectorAll("#series figure")].map((figure) => {
  const canvas = figure.querySelector(".uplot canvas");
  const { offsetLeft, offsetTop, clientWidth } = figure.querySelector(".u-over");
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const dots = context.getImageData(offsetLeft, offsetTop, clientWidth, 3).data;
  let count = 0;
  for (let place = 0; place < dots.length; place += 4) {
    const [red, , blue] = dots.slice(place, place + 3);
    // Lines of the grid are grey, and ticks of drops and of lost requests stand there.
    if (Math.abs(red - blue) > 40 && !/queue|trip/.test(figure.dataset.panel)) count++;
  }
  return count;
})"""
"""How many dots of curves are in the first rows of each panel: an axis that ends too soon cuts
them off."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Four runs of two seconds, sampled every ten milliseconds, with a probe."""
    folder = tmp_path_factory.mktemp("sweep")
    file = folder / "study.toml"
    more = f'[trace]\ninterval = "{STEP * 1000:g}ms"\n[[probe]]\nname = "ping"\ninterval = "50ms"\n'
    title = 'title = "Two <b>flows</b> & a probe"'
    file.write_text(re.sub(r"title += .*", title, STUDY) + more)
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


def at(tab: Tab) -> float:
    """Where the cursor stands."""
    told = tab.value("document.getElementById('at').textContent")
    [seconds] = re.findall(r"at ([\d.]+) s", told)
    return float(seconds)


def span(tab: Tab) -> tuple[float, float] | None:
    """The stretch of time that is shown; None for all of it."""
    told = tab.value("document.getElementById('at').textContent")
    found = re.search(r"\(([\d.]+) s to ([\d.]+) s\)", told)
    return (float(found[1]), float(found[2])) if found else None


def told(tab: Tab) -> dict[str, dict[str, str]]:
    """What stands beside each name in each panel, by the panels' titles."""
    script = """Object.fromEntries([...document.querySelectorAll("#series figure")].map(
      (figure) => [figure.querySelector("h3").textContent,
      Object.fromEntries([...figure.querySelectorAll(".legend label")].map((label) => [
        label.firstElementChild.nextElementSibling.nextSibling.textContent,
        label.querySelector("output").textContent,
      ])),
    ]))"""
    made: dict[str, dict[str, str]] = tab.value(script)
    return made


def number(text: str) -> float:
    """A quantity in words as a number."""
    value, _, unit = text.partition(" ")
    return float(value) * UNITS[unit]


def hover(tab: Tab, panel: int, share: float) -> None:
    """Moves the mouse over a panel, so far across it."""
    left, top, width, height = tab.box("#series .u-over", panel)
    tab.move(left + share * width, top + height / 2)
    tab.settle()


def fragment_of(tab: Tab) -> dict[str, str]:
    """What the address says, once it is written: the page puts that off, by less than this does,
    and timers end in their order."""
    tab.value("new Promise((done) => setTimeout(done, 300))")
    script = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
    made: dict[str, str] = tab.value(script)
    return made


def ids(results: Results) -> list[str]:
    return [run.run.id for run in results.runs]


def last(frame: Any, column: str, time: float) -> float | None:
    """The last number of a column until a time."""
    value = frame.filter(frame["time_s"] <= time + 1e-9)[column][-1]
    return None if value is None else float(value)


def near(text: str, value: float | None, top: float) -> None:
    """Holds a text to a number, of a curve that comes to `top`: four digits are told, and the page
    has each number to a 65,534th of the greatest."""
    if value is None:
        assert text == ""
    else:
        assert number(text) == pytest.approx(value, rel=5.1e-4, abs=top / 65_534)


def check_values(
    results: Results, run: Measured, shown: dict[str, dict[str, str]], time: float
) -> None:
    """Holds what panels tell at a time to the trace of the run."""
    samples = results.samples(run.run.id)
    mss = dict(zip(*run.table("flows").select("name", "mss_bytes"), strict=True))
    [rates] = [title for title in shown if "throughput" in title]
    [told_bin] = re.findall(r"means of (.*)", rates)
    width = number(told_bin)
    start = np.floor(time / width - 1e-6) * width
    labels = {"short": f"short ({run.metrics['flows'][0]['cc']})", "long": "long (reno)"}
    for name, label in labels.items():
        own = samples.filter(flow=name)
        tops = {
            column: float(np.nanmax(own[column].cast(float).to_numpy()))
            for column in own.columns
            if column != "flow" and own[column].count()
        }
        got = [
            last(own, "received_bytes", edge) or 0.0 for edge in (start, min(2.0, start + width))
        ]
        # The greatest rate of a step is not told; that of the link in bursts is above all.
        near(shown[rates][label], (got[1] - got[0]) * 8 / width, 4e7)
        window, *threshold = shown["cwnd (segments)"][label].split(", ssthresh ")
        near(
            window, (last(own, "cwnd_bytes", time) or 0) / mss[name], tops["cwnd_bytes"] / mss[name]
        )
        limit = last(own, "ssthresh_bytes", time)
        assert bool(threshold) == (limit is not None)
        if limit is not None:
            near(threshold[0], limit / mss[name], tops["ssthresh_bytes"] / mss[name])
        near(shown["srtt"][label], last(own, "srtt_s", time), tops["srtt_s"])
        offset = last(own, "snd_una_bytes", time)
        near(shown["sequence number"][label], offset, tops["snd_una_bytes"])
    queue = results.samples(run.run.id, "queue_samples").filter(link="bottleneck")
    of_step = queue.filter(queue["time_s"].is_between(time - STEP + 1e-9, time + 1e-9))
    waited = float(of_step["backlog_bytes"].to_numpy().max()) * 8 / 10e6
    near(shown["queue delay, bottleneck"]["queue delay"], waited, 1.0)
    before = last(queue, "drops", time - STEP) or 0
    if "drops" in shown["queue delay, bottleneck"]:
        dropped = of_step["drops"].to_numpy().max() - before
        assert shown["queue delay, bottleneck"]["drops"] == f"{dropped:.0f}"
    probes = run.table("probe_samples").drop_nulls("rtt_s")
    sent = probes.filter(probes["sent_s"] <= time + 1e-9)
    near(shown["round trip"]["ping"], float(sent["rtt_s"][-1]), 1.0)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_values_at_the_cursor_are_those_of_the_trace(
    results: Results, page: Path, chromium: Chromium, size: tuple[int, int]
) -> None:
    run = results.runs[2]
    with chromium.opened(page, f"#run={run.run.id}", size) as tab:
        assert tab.value("document.querySelector('h1').textContent") == "Two <b>flows</b> & a probe"
        for panel, share in ((0, 0.31), (1, 0.5), (3, 0.77), (4, 0.98)):
            hover(tab, panel, share)
            assert at(tab) == pytest.approx(2 * share, abs=2 * STEP)
            check_values(results, run, told(tab), at(tab))
        # It stays where it was when the pointer leaves, and all panels have it at one time.
        before = at(tab)
        tab.move(1, 1)
        tab.settle()
        assert at(tab) == before
        lefts = tab.value(
            "[...document.querySelectorAll('#series .u-cursor-x')].map("
            "(cursor) => cursor.getBoundingClientRect().left)"
        )
        assert len(lefts) == 6
        assert max(lefts) - min(lefts) < 1
        assert tab.value("document.documentElement.scrollWidth <= innerWidth")
        assert tab.complaints() == []


def test_a_drag_zooms_all_panels_and_the_wheel_about_the_pointer(
    results: Results, page: Path, chromium: Chromium
) -> None:
    run = results.runs[0]
    with chromium.opened(page, f"#{run.run.id}", WIDE) as tab:
        left, top, width, height = tab.box("#series .u-over", 1)
        y = top + height / 2
        tab.drag((left + 0.25 * width, y), (left + 0.5 * width, y))
        assert span(tab) == pytest.approx((0.5, 1.0), abs=2 * 2 / width)
        # The bins of means are as fine as what is shown allows.
        assert "throughput, means of 10 ms" in told(tab)
        hover(tab, 4, 0.5)
        assert at(tab) == pytest.approx(0.75, abs=STEP)
        check_values(results, run, told(tab), at(tab))
        # Nothing of the panel above was clicked: the wheel scrolls the page there.
        tab.value("document.activeElement.blur()")
        scrolled = tab.value("scrollY")
        tab.turn(60)
        tab.await_value(f"scrollY > {scrolled}")
        assert span(tab) == pytest.approx((0.5, 1.0), abs=2 * 2 / width)
        hover(tab, 4, 0.25)
        tab.turn(-100, control=True)
        shown = span(tab)
        assert shown is not None
        # The time under the pointer stays there.
        assert shown[1] - shown[0] == pytest.approx(0.5 / 1.4, rel=0.02)
        assert shown[0] + (shown[1] - shown[0]) / 4 == pytest.approx(0.625, abs=0.01)
        left, top, width, height = tab.box("#series .u-over", 2)
        tab.click(left + width / 2, top + height / 2)
        tab.turn(100)
        wider = span(tab)
        assert wider is not None
        assert wider[1] - wider[0] == pytest.approx(0.5, rel=0.02)
        tab.click(left + width / 2, top + height / 2, count=2)
        assert span(tab) is None
        tab.value("document.querySelector('[data-do=in]').click()")
        tab.settle()
        closer = span(tab)
        assert closer is not None
        assert closer[1] - closer[0] == pytest.approx(1.0)
        tab.value("document.querySelector('[data-do=all]').click()")
        tab.settle()
        assert span(tab) is None


def test_keys_move_the_cursor_and_zoom(results: Results, page: Path, chromium: Chromium) -> None:
    run = results.runs[0]
    with chromium.opened(page, f"#run={run.run.id}&at=0.5", WIDE) as tab:
        assert at(tab) == 0.5
        tab.value("document.querySelectorAll('#series figure')[1].focus()")
        tab.press("ArrowRight")
        assert at(tab) == pytest.approx(0.51)
        tab.press("ArrowLeft", shift=True)
        assert at(tab) == pytest.approx(0.41)
        check_values(results, run, told(tab), at(tab))
        # Who does not see the page hears it.
        heard = tab.value("document.getElementById('told').textContent")
        assert re.fullmatch(r"cwnd \(segments\): short \(reno\)\d+.*; long \(reno\)\d+.*", heard)
        tab.press("+")
        assert span(tab) is not None
        tab.press("0")
        assert span(tab) is None
        tab.press("End")
        assert at(tab) == pytest.approx(2.0)
        tab.press("ArrowRight")
        assert at(tab) == pytest.approx(2.0)
        tab.press("Home")
        assert at(tab) == pytest.approx(STEP)
        # Where it leaves what is shown, that follows.
        for key in ("+", "+", "End"):
            tab.press(key)
        last_seen = at(tab)
        shown = span(tab)
        assert shown is not None
        assert shown[1] - STEP < last_seen <= shown[1]
        tab.press("ArrowRight")
        assert span(tab) == pytest.approx((last_seen - 0.5 + STEP, last_seen + STEP))
        # The pointer does not move it: it stands on the last step that is seen.
        for share in (0.999, 0.001):
            shown = span(tab)
            hover(tab, 1, share)
            assert span(tab) == shown
        # Another key is the browser's.
        tab.press("Tab")
        assert tab.value("document.activeElement.type") == "checkbox"


def test_two_runs_lie_side_by_side_with_the_same_axes(
    results: Results, page: Path, chromium: Chromium
) -> None:
    reno, _, cubic, other = results.runs
    with chromium.opened(page, f"#run={reno.run.id}", WIDE) as tab:
        assert [title[:3] for title in told(tab)] == ["thr", "cwn", "srt", "que", "rou", "seq"]
        tab.choose("#beside", "2")
        assert tab.value("document.getElementById('differences').innerText").split() == [
            *("A", "B"), *("short.cc", "reno", "cubic"),
        ]  # fmt: skip
        hover(tab, 3, 0.6)
        shown = told(tab)
        assert len(shown) == 12
        for name, run in (("A: ", reno), ("B: ", cubic)):
            own = {t.removeprefix(name): v for t, v in shown.items() if t.startswith(name)}
            check_values(results, run, own, at(tab))
        tops = tab.value(
            "[...document.querySelectorAll('#series .u-over')].map("
            "(over) => over.getBoundingClientRect().top)"
        )
        assert tops[0::2] == tops[1::2]
        axes = f"{_DOTS}.map((dots) => dots(84).join())"
        drawn = tab.value(axes)
        assert drawn[0::2] == drawn[1::2]
        assert len(set(drawn)) > 3
        # The axes reach above the curves of both.
        assert tab.value(_AT_THE_TOP) == [0] * 12
        # A zoom on the right is one on the left.
        left, top, width, _ = tab.box("#series .u-over", 1)
        tab.drag((left + 0.1 * width, top + 9), (left + 0.3 * width, top + 9))
        zoomed = span(tab)
        assert zoomed == pytest.approx((0.2, 0.6), abs=2 * 2 / width)
        drawn = tab.value(axes)
        assert drawn[0::2] == drawn[1::2]
        hover(tab, 0, 0.5)
        assert at(tab) == pytest.approx(0.4, abs=STEP)
        asked = fragment_of(tab)
        assert asked == {
            **{"run": reno.run.id, "with": cubic.run.id},
            **{"from": asked["from"], "to": asked["to"], "at": f"{at(tab):g}"},
        }
        before = told(tab)
        address = tab.value("location.hash")
        tab.value("document.querySelector('[data-do=swap]').click()")
        assert tab.value("document.getElementById('run').textContent").startswith(
            "A: short.cc = cubic"
        )
        tab.choose("#opened", "3")
        tab.choose("#beside", "")
        assert fragment_of(tab) == {"run": other.run.id}
        assert tab.value("document.querySelector('.about code').textContent").endswith(other.run.id)
        assert len(told(tab)) == 6
        # The way back leads over what was open.
        tab.value("history.back()")
        tab.await_value("document.querySelectorAll('#series figure').length === 12")
        assert tab.complaints() == []
    with chromium.opened(page, address, WIDE) as tab:
        assert told(tab) == before
        assert span(tab) == pytest.approx(zoomed)
    with chromium.opened(page, "#run=nothing&with=&from=x&at=y", WIDE) as tab:
        assert tab.complaints() == []
        assert fragment_of(tab) == {"run": reno.run.id}
    with chromium.opened(page, f"#run={reno.run.id}&from=9&to=-1&at=77", WIDE) as tab:
        assert tab.complaints() == []
        assert at(tab) == pytest.approx(2.0)


def test_a_name_that_is_unchecked_is_hidden_in_every_panel(
    results: Results, page: Path, chromium: Chromium
) -> None:
    reno, _, cubic, _ = ids(results)
    with chromium.opened(page, f"#run={reno}&with={cubic}", WIDE) as tab:
        # #FF923C, of the second flow of reno, and not of another.
        inked = f"""{_DOTS}.map((dots) => {{
          const all = dots();
          let count = 0;
          for (let place = 0; place < all.length; place += 4)
            if (all[place] === 255 && all[place + 1] === 146 && all[place + 2] === 60) count++;
          return count;
        }})"""
        drawn = tab.value(inked)
        of_flows = [nth for nth in range(12) if nth // 2 in (0, 1, 2, 5)]
        assert min(drawn[nth] for nth in of_flows) > 0
        left, top, _, height = tab.box("#series .legend label:nth-child(2) input")
        tab.click(left + 4, top + height / 2)
        assert tab.value(inked) == [0] * 12
        boxes = tab.value(
            "[...document.querySelectorAll('#series .legend label:nth-child(2)')].map("
            "(label) => [label.textContent.slice(0, 4), label.querySelector('input').checked])"
        )
        assert {checked for name, checked in boxes if name == "long"} == {False}
        assert {checked for name, checked in boxes if name != "long"} == {True}
        # Another run is as before.
        tab.choose("#opened", "1")
        assert tab.value(inked) == [0] * 12
        left, top, _, height = tab.box("#series .legend label:nth-child(2) input")
        tab.click(left + 4, top + height / 2)
        again = tab.value(inked)
        assert min(again[nth] for nth in of_flows) > 0


def test_a_run_is_laid_beside_from_the_scatter(
    results: Results, page: Path, chromium: Chromium
) -> None:
    with chromium.opened(page, "", WIDE) as tab:
        assert fragment_of(tab) == {"run": ids(results)[0]}
        tab.value("document.getElementById('scatter').focus()")
        tab.press("End")
        tab.press("Enter", shift=True)
        first, beside = fragment_of(tab).values()
        assert first == ids(results)[0]
        assert beside in ids(results)
        tab.press("Enter")
        assert fragment_of(tab) == {"run": beside}


def test_phases_and_groups_are_read_at_the_cursor(chromium: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        """duration = "3s"
        [network.bottleneck]
        rate = "40Mbit"
        delay = "5ms"
        queue = { kind = "droptail", limit = "1bdp" }
        [[flow]]
        name = "one"
        cc = "bbr"
        [[flow]]
        name = "web"
        cc = "cubic"
        [trace]
        events = ["state"]
        [sweep]
        "flow.web.count" = [1, 20]
        """
    )
    made = cclab.run(file, out=tmp_path / "out")
    few, many = made.runs
    page = tmp_path / report.EXPLORE
    page.write_text(explore.html(made))
    address = f"#run={few.run.id}&with={many.run.id}&at=1.5"
    with chromium.opened(page, address, WIDE) as tab:
        shown = told(tab)
        # Where flows are groups, phases are still those of the first flows.
        for name, run in (("A: phases", few), ("B: phases", many)):
            stays = run.trace.phases_of("one")
            here = stays.filter((stays["from_s"] <= 1.5) & (stays["until_s"] > 1.5))
            assert shown[name]["one (bbr)"] == here["phase"].item()
        samples = made.samples(many.run.id).filter(time_s=1.5)
        windows = samples.filter(samples["flow"].str.starts_with("web"))["cwnd_bytes"].to_numpy()
        mss = many.table("flows")["mss_bytes"][1]
        median = float(np.median(windows)) / mss
        near(shown["B: cwnd (segments)"]["web (cubic, 20 flows)"], median, windows.max() / mss)
        assert tab.complaints() == []
