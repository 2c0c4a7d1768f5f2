"""The look of lines with a name and no variant: probes, and queues of a discipline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cclab.drawing.palette import Dash

_COLOURS = ("#1f5fa8", "#c8501e", "#2b7a3d", "#8e4b9e", "#8a6d00", "#146c74", "#b02a5b", "#555555")
_DASHES: tuple[Dash, ...] = (
    "solid",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
)


def look(hue: int, dash: int) -> dict[str, Any]:
    """The colour of the number `hue` and the dash of the number `dash`; both begin again."""
    return {
        "color": _COLOURS[hue % len(_COLOURS)],
        "linestyle": _DASHES[dash % len(_DASHES)],
    }


def look_by_hue(place: int) -> dict[str, Any]:
    """That of the line number `place` where hues come first, and dashes once they are used up."""
    return look(place, place // len(_COLOURS))
