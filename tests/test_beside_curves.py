"""What the figures over time draw beside their curves is on the page of runs too: the same numbers,
in the same look."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import cclab
from browser import Chromium, Tab
from cclab import report
from cclab.report import explore
from cclab.report.explore import course, series
from cclab.report.figures import queue, sequence, throughput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab import Results
    from cclab.drawing.style import Drawing

STUDY = """
duration = "4s"
seed     = 3
[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "long"
cc   = "reno"
rtt  = "40ms"
[[flow]]
name = "bound"
cc   = "cubic"
rtt  = "20ms"
rwnd = "8kB"
[trace]
interval = "10ms"
"""
ALONE = """
duration = "500ms"
[network.bottleneck]
rate  = "100Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name     = "brief"
cc       = "cubic"
rtt      = "20ms"
rwnd     = "60kB"
transfer = "14kB"
[trace]
interval = "10ms"
"""
"""One flow, which is over long before it could come to what its window allows."""

UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "B": 1.0, "kB": 1e3, "MB": 1e6}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two runs, of which each loss is known."""
    folder = tmp_path_factory.mktemp("both")
    (folder / "study.toml").write_text(
        STUDY
        + 'events = ["drop"]\n[sweep]\n"network.bottleneck.queue" = ['
        + '{ kind = "droptail", limit = "20p" }, { kind = "dualpi2", limit = "60kB" }]\n'
    )
    return cclab.run(folder / "study.toml", out=folder / "out")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("alone")
    (folder / "study.toml").write_text(ALONE)
    return cclab.run(folder / "study.toml", out=folder / "out")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def page_of(results: Results, folder: Path) -> Path:
    file = folder / report.EXPLORE
    file.write_text(explore.html(results))
    return file


def panels_of(results: Results, quantity: str) -> list[Any]:
    """The panel of a quantity of each run, as the page has it."""
    shown = explore.runs.chosen(results)
    places = list(range(len(shown)))
    with series.begun(shown, places, series.steps(shown, places)) as drawn:
        courses, _ = drawn()
    return [
        next(panel for panel in courses[str(place)]["panels"] if panel["quantity"] == quantity)
        for place in places
    ]


def unpacked(numbers: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(numbers["data"]), "<u2") * float(numbers["unit"])


def axes_of(drawing: Drawing | None) -> list[Axes]:
    assert drawing is not None
    return [axes for axes in drawing.axes if axes.lines]


def heights_of(line: Line2D) -> np.ndarray:
    return np.asarray(line.get_ydata(), dtype=float)


def unit_of(drawing: Drawing | None) -> float:
    """In what a figure has its numbers."""
    assert drawing is not None
    return UNITS[drawing.axes[0].get_ylabel().rpartition("(")[2].rstrip(")")]


def legend(tab: Tab, panel: int) -> dict[str, str]:
    """What stands beside each name in a panel."""
    script = f"""Object.fromEntries([...document.querySelectorAll("#series figure")[{panel}]
      .querySelectorAll(".legend label")].map((label) => [
        label.querySelector("canvas").nextSibling.textContent,
        label.querySelector("output").textContent]))"""
    told: dict[str, str] = tab.value(script)
    return told


def place_of(tab: Tab, panel: str) -> int:
    """The place of the panel whose name begins so."""
    every = "[...document.querySelectorAll('#series figure')].map((own) => own.dataset.panel)"
    [place] = [nth for nth, key in enumerate(tab.value(every)) if key.startswith(panel)]
    return place


def uncheck(tab: Tab, panel: int, name: str) -> None:
    tab.value(
        f"""[...document.querySelectorAll("#series figure")[{panel}].querySelectorAll("label")]
        .find((label) => label.textContent.startsWith({json.dumps(name)})).click()"""
    )
    tab.settle()


def inked(tab: Tab, panel: int, colour: str) -> list[tuple[int, int]]:
    """Where a panel has dots of a colour: from the left of its plot, and from its top, in parts of
    its width and height."""
    dots = tab.value(
        f"""(() => {{
          const figure = document.querySelectorAll("#series figure")[{panel}];
          const canvas = figure.querySelector(".uplot canvas");
          const over = figure.querySelector(".u-over");
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext("2d", {{ willReadFrequently: true }});
          context.drawImage(canvas, 0, 0);
          const {{ clientWidth: width, clientHeight: height }} = over;
          const dots = context.getImageData(over.offsetLeft, over.offsetTop, width, height).data;
          const wanted = [1, 3, 5].map((at) => parseInt("{colour}".slice(at, at + 2), 16));
          const met = [];
          for (let place = 0; place < width * height; place++)
            if (wanted.every((value, nth) => Math.abs(dots[4 * place + nth] - value) < 4))
              met.push([(place % width) / width, Math.floor(place / width) / height]);
          return met;
        }})()"""
    )
    return [(x, y) for x, y in dots]


def test_levels_are_those_of_the_figure(results: Results) -> None:
    drawing = throughput.draw(results)
    unit = unit_of(drawing)
    whole = [
        [line for line in axes.lines if np.array_equal(line.get_xdata(), [0, 1])]
        for axes in axes_of(drawing)
    ]
    # The rate where a repair handed over what had waited, and what the window allows.
    assert [len(lines) for lines in whole] == [2, 2]
    for lines, panel in zip(whole, panels_of(results, "throughput"), strict=True):
        wanted = {(round(heights_of(line)[0] * unit), to_hex(line.get_color())) for line in lines}
        levels = panel["levels"]
        got = {(round(value), own["colour"]) for own in levels for value in own["values"]}
        assert got == wanted
        patterns = sorted(
            [length * line.get_linewidth() for length in level["dash"]]
            for line, level in zip(lines, levels, strict=True)
        )
        assert patterns == sorted([*line._dash_pattern[1]] for line in lines)  # type: ignore[attr-defined] # matplotlib tells dashes nowhere else
    assert drawing is not None
    names = [artist.get_label() for artist in drawing.told]
    assert {own["label"] for own in panel["levels"]} <= set(names)


def rows_across(tab: Tab, colour: str) -> list[float]:
    """The heights in the first panel at which something of a colour leads from side to side."""
    across: dict[float, list[float]] = {}
    for x, y in inked(tab, 0, colour):
        across.setdefault(1 - y, []).append(x)
    return [height for height, row in across.items() if min(row) < 0.02 and max(row) > 0.98]


def test_levels_are_drawn_at_their_heights_and_said(
    results: Results, chromium: Chromium, tmp_path: Path
) -> None:
    levels = panels_of(results, "throughput")[0]["levels"]
    page = page_of(results, tmp_path)
    with chromium.opened(page, f"#run={results.runs[0].run.id}", (1400, 1000)) as tab:
        told = legend(tab, 0)
        assert told["expected"] == "2.724 Mbit/s"
        assert told[throughput.LINK_RATE] == "10 Mbit/s"
        low, high = (np.mean(rows_across(tab, level["colour"])) for level in levels)
        assert low / high == pytest.approx(0.2724, abs=0.03)
        # Each is hidden by its name.
        for level in levels:
            uncheck(tab, 0, level["label"])
            assert rows_across(tab, level["colour"]) == []
        assert tab.complaints() == []


def test_an_expectation_far_above_all_is_an_arrow(
    alone: Results, chromium: Chromium, tmp_path: Path
) -> None:
    drawing = throughput.draw(alone)
    assert drawing is not None
    assert "expected above the axis" in [artist.get_label() for artist in drawing.told]
    [level] = panels_of(alone, "throughput")[0]["levels"]
    with chromium.opened(page_of(alone, tmp_path), "", (1400, 1000)) as tab:
        assert legend(tab, 0)["expected"].endswith("Mbit/s, above the axis")
        dots = inked(tab, 0, level["colour"])
        assert len(dots) > 10
        assert min(x for x, _ in dots) > 0.95
        assert max(y for _, y in dots) < 0.2
        assert tab.complaints() == []


def test_limits_and_named_queues_are_told_as_in_the_figure(
    results: Results, chromium: Chromium, tmp_path: Path
) -> None:
    written = [[text.get_text() for text in axes.texts] for axes in axes_of(queue.draw(results))]
    assert written == [["limit: 20 packets"], ["limit: 60 kB = 48 ms", "L and C together"]]
    assert [panel["notes"] for panel in panels_of(results, "queue-delay")] == written
    page = page_of(results, tmp_path)
    address = f"#run={results.runs[0].run.id}&with={results.runs[1].run.id}"
    with chromium.opened(page, address, (1400, 1000)) as tab:
        notes = tab.value("[...document.querySelectorAll('.note')].map((note) => note.textContent)")
        assert notes == [*written[0], *written[1]]
        # Who does not see the page hears them.
        tab.value("document.querySelector('[data-panel^=queue]').focus()")
        tab.press("ArrowRight")
        assert "; limit: 20 packets" in tab.value("document.getElementById('told').textContent")


def test_the_ticks_of_drops_have_room_above_the_queue(
    results: Results, chromium: Chromium, tmp_path: Path
) -> None:
    page = page_of(results, tmp_path)
    with chromium.opened(page, f"#run={results.runs[0].run.id}", (1400, 1000)) as tab:
        nth = place_of(tab, "queue")
        lowest_tick = max(y for _, y in inked(tab, nth, "#b3261e"))
        assert lowest_tick < min(y for _, y in inked(tab, nth, queue.WATER))


@pytest.mark.parametrize("traced", [True, False])
def test_crosses_are_those_of_the_figure(results: Results, tmp_path: Path, traced: bool) -> None:
    if not traced:
        (tmp_path / "study.toml").write_text(STUDY)
        results = cclab.run(tmp_path / "study.toml", out=tmp_path / "out")
    drawing = sequence.draw(results)
    unit = unit_of(drawing)
    for axes, panel in zip(axes_of(drawing), panels_of(results, "sequence"), strict=True):
        [marks] = [line for line in axes.lines if line.get_marker() == "x"]
        wanted = np.array([marks.get_xdata(), heights_of(marks) * unit])
        got = np.concatenate(
            [[unpacked(own["times"]), unpacked(own["values"])] for own in panel["crosses"]], axis=1
        )
        assert got.shape[1] == wanted.shape[1] > 5
        for mine, theirs in zip(np.sort(got), np.sort(wanted.astype(float)), strict=True):
            assert mine == pytest.approx(theirs, abs=theirs.max() / 65_534)
        assert {own["colour"] for own in panel["crosses"]} == {to_hex(marks.get_color())}
        assert len(panel["crosses"]) == 2


def test_crosses_go_with_their_name_and_their_flow(
    results: Results, chromium: Chromium, tmp_path: Path
) -> None:
    [first, second] = panels_of(results, "sequence")[0]["crosses"]
    page = page_of(results, tmp_path)
    address = f"#run={results.runs[0].run.id}&from=1&to=3"
    with chromium.opened(page, address, (1400, 1000)) as tab:
        nth = place_of(tab, "sequence")

        def seen(own: Any) -> list[tuple[float, float]]:
            """Of the losses from 1 s to 3 s, the offsets, and how high something red is there."""
            dots = inked(tab, nth, own["colour"])
            places = zip(unpacked(own["times"]), unpacked(own["values"]), strict=True)
            of_times: dict[float, list[float]] = {}
            for time, value in places:
                if 1 < time < 3:
                    of_times.setdefault(round(float(time), 2), []).append(value)
            made = []
            for time, values in of_times.items():
                heights = [1 - y for x, y in dots if abs(x - (time - 1) / 2) < 0.008]
                assert heights, f"no cross at {time} s"
                made.append((float(np.mean(values)), float(np.mean(heights))))
            return made

        assert seen(first)
        assert seen(second)
        assert sequence.LOSS in legend(tab, nth)
        with_both = len(inked(tab, nth, first["colour"]))
        uncheck(tab, nth, "long (reno)")
        assert 0 < len(inked(tab, nth, first["colour"])) < with_both
        # They stand at their offsets: on a straight line over these.
        offsets, heights = np.array(seen(second)).T
        slope, foot = np.polyfit(offsets, heights, 1)
        assert np.ptp(heights) > 0.5
        assert np.abs(slope * offsets + foot - heights).max() < 0.04
        uncheck(tab, nth, sequence.LOSS)
        assert inked(tab, nth, first["colour"]) == []
        assert tab.complaints() == []


def test_a_crowded_run_has_neither_levels_nor_crosses(tmp_path: Path) -> None:
    crowd = STUDY.replace('name = "bound"', f'name = "bound"\ncount = {course.MOST_FLOWS}')
    (tmp_path / "study.toml").write_text(crowd)
    made = cclab.run(tmp_path / "study.toml", out=tmp_path / "out")
    assert "levels" not in panels_of(made, "throughput")[0]
    assert "crosses" not in panels_of(made, "sequence")[0]


def test_the_page_has_room_for_crosses_counted(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many losses there are."""
    run = results.runs[0]
    steps = 240
    shown = [explore.runs.chosen(results)[0]]
    with series.begun(shown, [0], steps) as drawn:
        courses, _ = drawn()
    text = len(json.dumps(courses["0"]))
    crosses = sum(
        len(own[part]["data"])
        for panel in courses["0"]["panels"]
        for own in panel.get("crosses", [])
        for part in ("times", "values")
    )
    most = 4 * (2 * 2 * sequence.MOST_CROSSES // 3)
    assert text - crosses + most < 1.1 * series._size(run, steps)
    monkeypatch.setattr(sequence, "MOST_CROSSES", 5)
    with series.begun(shown, [0], steps) as drawn:
        few, _ = drawn()
    [panel] = [panel for panel in few["0"]["panels"] if panel["quantity"] == "sequence"]
    assert 0 < sum(len(unpacked(own["times"])) for own in panel.get("crosses", [])) <= 5
