"""Pages in a browser: what is broken on one is seen, and a report's figures are whole on it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import cclab
from browser import Chromium, pages_in
from cclab import pages, report
from cclab.report import figures
from conftest import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
        "0000000049454e44ae426082"
    )
).decode()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (f'<img src="data:image/png;base64,{PIXEL}">', None),
        (f'<svg><image href="data:image/png;base64,{PIXEL}"/></svg>', None),
        ('<img src="data:image/png;base64,AAAA">', "an image is not shown: data:image/png"),
        ('<svg><image href="heatmap-data:image/png;base64,AA"/></svg>', "not shown: heatmap-data:"),
        ('<figure><h3>Sizes</h3><canvas height="0"></canvas></figure>', "is drawn: Sizes, 300 x 0"),
        ("<canvas></canvas>", "nothing is drawn: a canvas, 300 x 150"),
        (
            "<canvas></canvas><script>"
            "document.querySelector('canvas').getContext('2d').fillRect(0, 0, 9, 9)</script>",
            None,
        ),
        (
            '<button class="choice" value="udp1" onclick="document.body.append('
            "document.createElement('canvas'))\"></button>",
            "nothing is drawn: a canvas, 300 x 150, udp1",
        ),
        ("<script>console.error('so', 7)</script>", "so 7"),
        ("<script>setTimeout(() => nothing.there, 0)</script>", "ReferenceError: nothing"),
        ('<script src="https://example.org/x.js"></script>', "violates"),
    ],
)
def test_a_browser_tells_what_is_broken(
    chromium: Chromium, tmp_path: Path, body: str, complaint: str | None
) -> None:
    # Not .html: what is broken on purpose is no page that the tests have to answer for.
    file = tmp_path / "page.htm"
    policy = "default-src 'unsafe-inline'; img-src data:"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    file.write_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>")
    told = chromium.complaints(file)
    if complaint is None:
        assert told == []
    else:
        assert any(complaint in text for text in told), told


def test_images_inside_figures_are_shown_on_the_page(chromium: Chromium, tmp_path: Path) -> None:
    head, _ = STUDY.split("[sweep]")
    file = tmp_path / "study.toml"
    variants = ["reno", "cubic"]
    file.write_text(
        head.replace('"2s"', '"800ms"')
        + f'[sweep]\n"flow.short.cc" = {variants}\n"flow.long.cc" = {variants}\n'
        + '"flow.rtt" = ["20ms", "40ms", "60ms"]\n'
        + '"network.bottleneck.queue.limit" = ["1bdp", "2bdp"]\n'
    )
    page = report.write(cclab.run(file, out=tmp_path / "out", repeat=1), tmp_path / "report")
    text = page.read_text()
    # The scale of colours is an image.
    assert text.count('href="data:image/png') == 2
    assert chromium.complaints(page) == []
    drawn = {kind.name for kind in figures.FIGURES if (page.parent / f"{kind.name}.svg").exists()}
    assert {"heatmap", "matrix"} <= drawn
    assert pages_in(tmp_path) == [page, page.parent / "sweep.html"]


@pytest.mark.parametrize(
    ("message", "html"),
    [
        ("set `rwnd` to 1 < 2 MB", "set <code>rwnd</code> to 1 &lt; 2 MB"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("a ` alone & well", "a ` alone &amp; well"),
    ],
)
def test_what_is_typed_is_set_as_code(message: str, html: str) -> None:
    assert pages.typed(message) == html
