"""How figures tell flows apart: hues, markers, dashes, legends."""

from __future__ import annotations

import colorsys
import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from cclab import _core
from cclab.drawing.palette import LOOKS, apart
from cclab.report.figures.panels import panels
from drawing import FOUR, late, told_in

if TYPE_CHECKING:
    from pathlib import Path


def test_no_two_variants_look_the_same() -> None:
    known = {variant["name"] for variant in json.loads(_core.variants())}
    assert known <= LOOKS.keys()
    points = [(style.colour, style.marker) for style in LOOKS.values()]
    assert len(set(points)) == len(points)


def test_legends_say_what_is_the_same_once(tmp_path: Path) -> None:
    flows = "".join(f'[[flow]]\nname = "{n}"\ncc = "{n}"\nrtt = "40ms"\n' for n in ("bbr", "cubic"))
    sweep = '[sweep]\n"flow.bbr.cc" = ["bbr", "bbr3"]\n'
    results = late(tmp_path, flows + sweep)
    assert told_in(results.figure("cwnd")) == ["bbr", "cubic", "bbr (bbr3)"]
    assert told_in(results.figure("tradeoff")) == [
        "bbr", "cubic beside bbr", "bbr (bbr3)", "cubic beside bbr3",
    ]  # fmt: skip


def test_four_flows_of_one_variant_have_four_hues(tmp_path: Path) -> None:
    figure = late(tmp_path, FOUR).figure("cwnd")
    colours = {str(line.get_color()) for line in figure.axes[0].lines}
    assert len(colours) == 4
    assert all(_far_apart(a, b) > 20 for a, b in itertools.combinations(colours, 2))
    assert figure.axes[0].lines[0].get_color() == LOOKS["cubic"].colour


def test_flows_of_several_variants_keep_the_hues_of_their_variants(tmp_path: Path) -> None:
    flows = FOUR.replace('"cubic"', '"reno"', 2)
    results = late(tmp_path, flows)
    lines = results.figure("cwnd").axes[0].lines
    [panel] = panels(results)
    dashes = [flow.style.dash for flow in panel.flows]
    first = {0: LOOKS["reno"].colour, 2: LOOKS["cubic"].colour}
    for place, colour in first.items():
        assert lines[place].get_color() == colour
        other = lines[place + 1]
        # Lighter or darker, and with another dash.
        assert _hue(str(other.get_color())) == pytest.approx(_hue(colour), abs=0.02)
        assert other.get_color() != colour
        assert dashes[place] != dashes[place + 1]


@pytest.mark.parametrize(
    "met", [("cubic", "bbr"), ("cubic", "dctcp"), ("reno", "cubic", "bbr", "dctcp"),
            ("vegas", "nv", "yeah"), ("lp", "udp", "cubic")],
)  # fmt: skip
def test_variants_of_one_figure_differ_in_hue_marker_and_dash(met: tuple[str, ...]) -> None:
    looks = list(apart(met).values())
    for one, other in itertools.combinations(looks, 2):
        assert one.colour != other.colour
        assert one.marker != other.marker
        assert one.dash != other.dash
    assert looks[0] == LOOKS[met[0]]


def test_lines_on_each_other_are_both_seen(tmp_path: Path) -> None:
    flows = "".join(f'[[flow]]\nname = "{n}"\ncc = "{n}"\nrtt = "40ms"\n' for n in ("bbr", "cubic"))
    [below, above] = late(tmp_path, flows).figure("cwnd").axes[1].lines
    assert (below.get_linestyle(), above.get_linestyle()) == ("-", "--")
    assert below.get_linewidth() > 2 * above.get_linewidth()


def test_lines_that_lie_apart_are_equally_wide(tmp_path: Path) -> None:
    """Two flows share a round trip, and so a place; the third is far above them."""
    flows = "".join(
        f'[[flow]]\nname = "{n}"\ncc = "{n}"\nrtt = "{rtt}"\n'
        for n, rtt in (("reno", "40ms"), ("cubic", "240ms"), ("bbr", "40ms"))
    )
    results = late(tmp_path, flows)
    windows, trips = (axes.lines for axes in results.figure("cwnd").axes[:2])
    below, alone, above = (one.get_linewidth() for one in trips)
    assert below > 2 * above
    assert alone == windows[1].get_linewidth()


def test_groups_of_one_variant_have_hues_of_their_own(tmp_path: Path) -> None:
    flows = "".join(
        f'[[flow]]\nname = "{name}"\ncc = "cubic"\ncount = 4\nrtt = "20ms"\n'
        for name in ("a", "b", "c")
    )
    figure = late(tmp_path, flows, "duration=2s").figure("groups")
    bars = [one for one in figure.axes[0].patches if isinstance(one, Rectangle)]
    hues = [_hue(to_hex(bar.get_facecolor())) for bar in bars]
    assert len(bars) == 3
    assert min(abs(one - other) for one, other in itertools.combinations(hues, 2)) > 0.05


def _hue(colour: str) -> float:
    red, green, blue = to_rgb(colour)
    return colorsys.rgb_to_hls(red, green, blue)[0]


# Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision
# Deficiency, 2009: red, green and blue in linear light, as they are seen without one kind of cones.
_VISIONS = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
              [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
              [-0.011820, 0.042940, 0.968881]]),
    np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
              [0.004733, 0.691367, 0.303900]]),
)  # fmt: skip


def _lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear red, green and blue, under daylight (D65)."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    part = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    root = np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116)
    x, y, z = root
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _far_apart(one: str, other: str) -> float:
    """The least difference of two colours (CIE 1976), over how people see them."""
    both = [np.array(to_rgb(colour)) for colour in (one, other)]
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in both]
    seen = [[_lab(vision @ colour) for colour in linear] for vision in _VISIONS]
    return min(float(np.linalg.norm(a - b)) for a, b in seen)


@pytest.mark.parametrize(
    ("one", "other"), [("bbr", "bbr3"), ("vegas", "copa"), ("cubic", "bbr"), ("cubic", "reno"),
                       ("reno", "bbr"), ("dctcp", "cubic"), ("newreno", "reno"), ("lp", "vegas")],
)  # fmt: skip
def test_variants_that_meet_often_are_told_apart_by_anybody(one: str, other: str) -> None:
    assert _far_apart(LOOKS[one].colour, LOOKS[other].colour) > 15
