"""How each variant looks: the same colour, marker and dash in every figure of every study.

The hues are those of Okabe and Ito without their yellow, which vanishes on white paper, and with
three dark ones that people with any of the common colour-vision deficiencies tell from them; the
marker and the dash carry the same information without colour.
"""

from __future__ import annotations

import colorsys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")

_BLACK = "#000000"
ORANGE = "#E69F00"
_SKY = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
_PURPLE = "#CC79A7"
_WINE = "#882255"
_INDIGO = "#332288"
_BROWN = "#7A4A1E"

Dash = Literal["solid", "--", ":"] | tuple[float, tuple[float, ...]]
"""As matplotlib calls it."""

_SOLID: Dash = "solid"
_DASHED: Dash = (0, (5.0, 1.6))
_DOTTED: Dash = (0, (1.2, 1.4))
_DASHDOT: Dash = (0, (5.0, 1.4, 1.2, 1.4))
_LONG: Dash = (0, (9.0, 2.0))


@dataclass(frozen=True)
class Look:
    """Colour, marker and dash of a line."""

    colour: str
    marker: str
    dash: Dash


LOOKS: dict[str, Look] = {
    # Loss-based, the classics.
    "reno": Look(VERMILLION, "s", _SOLID),
    "newreno": Look(_WINE, "D", _DASHED),
    "sack": Look(_PURPLE, "P", _DASHDOT),
    "tahoe": Look(_BLACK, "^", _DASHED),
    "cubic": Look(BLUE, "o", _SOLID),
    "bic": Look(_INDIGO, "v", _DASHED),
    # Loss-based, for fast long paths.
    "htcp": Look(_PURPLE, "o", _SOLID),
    "highspeed": Look(_PURPLE, "s", _DASHED),
    "scalable": Look(_PURPLE, "^", _DOTTED),
    "hybla": Look(_PURPLE, "D", _DASHDOT),
    "illinois": Look(_PURPLE, "v", _LONG),
    # Model-based.
    "bbr": Look(GREEN, "o", _SOLID),
    "bbr2": Look(_WINE, "s", _DASHED),
    "bbr3": Look(_WINE, "^", _DASHDOT),
    # Delay-based.
    "vegas": Look(ORANGE, "o", _SOLID),
    "westwood": Look(ORANGE, "s", _DASHED),
    "veno": Look(ORANGE, "^", _DASHDOT),
    "yeah": Look(ORANGE, "v", _LONG),
    "nv": Look(ORANGE, "D", _DOTTED),
    "cdg": Look(ORANGE, "P", _DASHED),
    "copa": Look(_INDIGO, "X", _SOLID),
    # Delay-based too: the markers of the hue above are all taken.
    "adaptive-a": Look(_SKY, "D", _DASHDOT),
    "adaptive-b": Look(_SKY, "v", _DOTTED),
    "delay-trend": Look(_SKY, "P", _LONG),
    # Less than best effort.
    "lp": Look(_BROWN, "o", _SOLID),
    "ledbat": Look(_BROWN, "s", _DASHED),
    "ledbat++": Look(_BROWN, "^", _DASHDOT),
    # Rates that follow a rule of their own.
    "constant-rate": Look(_BLACK, "o", _DOTTED),
    "linear-rate": Look(_BLACK, "D", _DASHDOT),
    "unresponsive": Look(_BLACK, "X", _SOLID),
    # Datagrams that no congestion control sends.
    "udp": Look(_BROWN, "P", _DOTTED),
    # Congestion marks.
    "dctcp": Look(_WINE, "v", _DASHDOT),
    "prague": Look(_INDIGO, "s", _DASHED),
}
"""Every variant that the project knows or expects; no two have both colour and marker in common.

Figures of points have no dash to tell variants by.
"""

_PLAIN = Look("#1a1a1a", "o", _SOLID)
"""Of what is of no variant."""

_MARKERS = "osD^vPX"
_DASHES = (_SOLID, _DASHED, _DASHDOT, _DOTTED, _LONG)
_HUES = (BLUE, ORANGE, _WINE, _SKY, _BLACK, GREEN, VERMILLION, _PURPLE)
"""In this order the first four are the furthest apart, whatever somebody's colour vision."""

_NEAR = (frozenset({VERMILLION, ORANGE}), frozenset({_SKY, GREEN}), frozenset({BLUE, GREEN}))
"""Hues that some people hardly tell apart: no flow has the one beside another's other if it can."""


def apart(variants: Iterable[str]) -> dict[str, Look]:
    """The looks of the variants of one figure: hue, marker and dash of each are of no other.

    The first that has one keeps it, and as long as there are any left. So lines are told apart
    where they lie on each other, and without colour.
    """
    given: dict[str, Look] = {}
    for variant in dict.fromkeys(variants):
        own, others = look(variant), list(given.values())
        given[variant] = Look(
            _free(own.colour, [other.colour for other in others], _HUES),
            _free(own.marker, [other.marker for other in others], tuple(_MARKERS)),
            _free(own.dash, [other.dash for other in others], _DASHES),
        )
    return given


def _free(own: T, taken: Sequence[T], every: Sequence[T]) -> T:
    """What is one's own unless it is taken; then the first that is not, if there is any."""
    return (
        own if own not in taken else next((choice for choice in every if choice not in taken), own)
    )


def look(variant: str, nth: int = 0, lent: Sequence[str] = (), first: Look | None = None) -> Look:
    """The look of the `nth` flow of `variant` in one figure, of which the first has the look
    `first`, if that is not the variant's own.

    Flows of the same variant share its hue and differ in lightness, marker and dash, so that
    variants are told apart at a glance; of a variant that meets no other, all but the first flow
    have hues of their own, those that are `lent`. A variant outside the table gets a look that
    depends on its name alone.
    """
    base = first or LOOKS.get(variant)
    if base is None:
        mark = zlib.crc32(variant.encode())
        base = Look(
            _HUES[mark % len(_HUES)],
            _MARKERS[mark // 8 % len(_MARKERS)],
            _DASHES[mark // 64 % len(_DASHES)],
        )
    if nth == 0:
        return base
    dash = _DASHES.index(base.dash)
    return Look(
        lent[(nth - 1) % len(lent)] if lent else _shade(base.colour, nth),
        _MARKERS[(_MARKERS.index(base.marker) + nth) % len(_MARKERS)],
        _DASHES[(dash + nth) % len(_DASHES)],
    )


def lent(together: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The hues to lend in a figure, given the variants of the flows that meet in each of its axes.

    None where two variants meet: there hues stand for variants.
    """
    groups = [set(variants) for variants in together]
    if any(len(variants) > 1 for variants in groups):
        return ()
    taken = {look(variant).colour for variants in groups for variant in variants}
    near = {other for pair in _NEAR for other in pair if taken & pair}
    free = [hue for hue in _HUES if hue not in taken]
    return tuple(sorted(free, key=near.__contains__))


class Looks:
    """The looks of a figure's entries by their labels: those of one variant are told apart."""

    def __init__(self, lent: Sequence[str] = ()) -> None:
        """None is given yet; `lent` are those of `look`."""
        self._lent = lent
        self._given: dict[str, Look] = {}
        self._met: dict[str, int] = {}

    def of(self, label: str, variant: str) -> Look:
        """The look of `label`, which stands for `variant`: the same each time."""
        if label not in self._given:
            nth = self._met.get(variant, 0)
            self._met[variant] = nth + 1
            first = apart(name for name in self._met if name).get(variant)
            self._given[label] = look(variant, nth, self._lent, first) if variant else _plain(nth)
        return self._given[label]


def _plain(nth: int) -> Look:
    """The look of the `nth` entry that is of no variant."""
    if nth == 0:
        return _PLAIN
    return Look(
        _HUES[(nth - 1) % len(_HUES)], _MARKERS[nth % len(_MARKERS)], _DASHES[nth % len(_DASHES)]
    )


def _shade(colour: str, nth: int) -> str:
    """A lighter or darker member of the same hue."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    steps = (0.0, 0.20, -0.16, 0.32)
    lightness = min(0.72, max(0.12, lightness + steps[nth % len(steps)]))
    shaded = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * c):02X}" for c in shaded)
