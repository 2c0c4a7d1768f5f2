"""The page of runs, printed; and that of a single run, which has nothing to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from browser import Chromium
from cclab import report
from cclab.report import explore

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

STUDY = """
title = "One flow alone"
duration = "3s"
[network.bottleneck]
rate = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "alone"
cc = "cubic"
"""
PAPER = 8.27 * 96 - 2 * 0.4 * 96
"""Pixels between the margins of A4."""


@pytest.fixture(params=[1, 2])
def results(request: pytest.FixtureRequest, tmp_path: Path) -> Results:
    """One run, or two."""
    (tmp_path / "study.toml").write_text(STUDY)
    return cclab.run(tmp_path / "study.toml", out=tmp_path / "out", repeat=request.param)


@pytest.fixture
def page(results: Results, tmp_path: Path) -> Path:
    file = tmp_path / report.EXPLORE
    file.write_text(explore.html(results))
    return file


_SEEN = """addEventListener("beforeprint", () => queueMicrotask(() => {
  const canvas = document.querySelector("#series .uplot canvas");
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const dots = copy.getImageData(0, 0, width, height).data;
  let count = 0;
  for (let at = 0; at < dots.length; at += 4)
    if (dots[at] === 0 && dots[at + 1] === 114 && dots[at + 2] === 178) count++;
  window.seen = {
    widths: [...document.querySelectorAll("#series .uplot")].map((plot) => plot.offsetWidth),
    ends: [...document.querySelectorAll("#series .uplot")].map(
      (plot) => plot.getBoundingClientRect().right - document.body.getBoundingClientRect().left),
    ink: getComputedStyle(document.body).color,
    count,
  };
}))"""
"""Notes how the page is laid out and drawn for paper: the blue of the flow as on white."""


def test_a_printed_page_is_not_cut_off_and_is_drawn_for_white_paper(
    results: Results, page: Path, tmp_path: Path
) -> None:
    runs = "&".join(f"{k}={v.run.id}" for k, v in zip(("run", "with"), results.runs, strict=False))
    widths = "[...document.querySelectorAll('#series .uplot')].map((plot) => plot.offsetWidth)"
    with (
        Chromium(tmp_path / "chromium") as chromium,
        chromium.opened(page, f"#{runs}", (1400, 1000)) as tab,
    ):
        tab.darken()
        before = tab.value(widths)
        tab.value(_SEEN)
        assert tab.printed().startswith(b"%PDF")
        seen = tab.value("window.seen")
        assert len(seen["widths"]) == 5 * len(results.runs)
        assert min(seen["widths"]) > 0.8 * PAPER / len(results.runs) - 60
        assert max(seen["ends"]) <= PAPER
        assert seen["ink"] == "rgb(26, 26, 26)"
        assert seen["count"] > 100
        # The screen has it as it was.
        assert tab.value(widths) == before
        assert tab.value("getComputedStyle(document.body).color") == "rgb(232, 230, 225)"
        assert tab.complaints() == []


@pytest.mark.parametrize("results", [1], indirect=True)
def test_the_page_of_one_run_begins_with_it(page: Path, tmp_path: Path) -> None:
    with (
        Chromium(tmp_path / "chromium") as chromium,
        chromium.opened(page, "", (1400, 1000)) as tab,
    ):
        seen = tab.value("document.body.innerText")
        assert " ".join(seen.split()).startswith("One flow alone 1 run, with time series. seed 1 ")
        assert "beside it" not in seen
        for selector in ("#scatter", "#x", "#beside"):
            assert tab.value(f"document.querySelector('{selector}').offsetParent") is None
        assert tab.value("document.querySelectorAll('#series figure').length") == 5
        assert tab.complaints() == []
