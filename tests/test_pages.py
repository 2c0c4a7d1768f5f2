"""Pages in a browser: what is broken on one is seen, and a report's figures are whole on it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import cclab
from browser import Chromium, complaints_of, pages_in
from cclab import pages, report
from cclab.report import figures
from conftest import STUDY
from page_kinds import to_load

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


BODIES: list[tuple[str, str | None]] = [
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
]
"""What is on a page, and what is to be told of it; None where nothing is broken."""


def _page(file: Path, body: str) -> Path:
    # Not .html: what is broken on purpose is no page that the tests have to answer for.
    policy = "default-src 'unsafe-inline'; img-src data:"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    file.write_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>")
    return file


@pytest.mark.parametrize(("body", "complaint"), BODIES)
def test_a_browser_tells_what_is_broken(
    chromium: Chromium, tmp_path: Path, body: str, complaint: str | None
) -> None:
    told = chromium.complaints(_page(tmp_path / "page.htm", body))
    if complaint is None:
        assert told == []
    else:
        assert any(complaint in text for text in told), told


def test_of_pages_one_after_the_other_each_is_told_by_its_name(tmp_path: Path) -> None:
    pages = [_page(tmp_path / f"{n}.htm", body) for n, (body, _) in enumerate(BODIES)]
    told = list(complaints_of(pages, tmp_path / "browser"))
    for page, (_, complaint) in zip(pages, BODIES, strict=True):
        of_it = [text for text in told if text.startswith(f"{page}: ")]
        if complaint is None:
            assert of_it == []
        else:
            assert any(complaint in text for text in of_it), told


_DATA = '<script type="application/json">{}</script>'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(
            (whole, broken)
            for whole, none in BODIES
            for broken, told in BODIES
            if told and not none
        ),
        ('<svg><path d="M 1 2"/></svg>', '<svg><path d="M NaN 2"/></svg>'),
        ('<svg><rect width="1"/></svg>', '<svg><rect width="-1"/></svg>'),
        ('<canvas height="7"></canvas>', '<canvas height="0"></canvas>'),
        ("<p>one</p>", "<p onclick='x()'>one</p>"),
        ("<script>draw(1)</script>", "<script>draw(2)</script>"),
        (_DATA.format("[1, 2]"), _DATA.format("[1, null]")),
        (_DATA.format("[[1], [2]]"), _DATA.format("[[1], []]")),
        (_DATA.format('{"a": 1}'), _DATA.format('{"b": 1}')),
        (_DATA.format('{"a": 1}'), _DATA.format('{"a": 1')),
    ],
)
def test_a_page_that_asks_for_something_new_is_loaded(tmp_path: Path, one: str, other: str) -> None:
    pages = [_page(tmp_path / "one.htm", one), _page(tmp_path / "other.htm", other)]
    assert to_load(pages, tmp_path / "claims") == pages


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>8 Mbit/s of reno</p>", "<p>9 Mbit/s of cubic</p><p>and more of it</p>"),
        ('<svg><path d="M 1 2"/></svg>', '<svg><path d="M 3 -4.5e-7"/></svg>'),
        ('<a href="x.svg">x</a>', '<a href="y.svg" title="it">y</a><a href="z.svg">z</a>'),
        (_DATA.format('{"a": [1, 2]}'), _DATA.format('{"a": [3]}')),
    ],
)
def test_pages_that_differ_in_numbers_and_names_are_loaded_once(
    tmp_path: Path, one: str, other: str
) -> None:
    pages = [_page(tmp_path / "one.htm", other), _page(tmp_path / "other.htm", one)]
    assert to_load(pages, tmp_path / "claims") == pages[:1]
    assert to_load(pages, tmp_path / "claims") == []


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
