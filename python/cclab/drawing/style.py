"""The style of every figure, and how a figure becomes a file with the same bytes each time."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from cclab import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

INK = "#1a1a1a"
FAINT = "#d9d9d9"
MUTED = "#666666"
LOST = "#b3261e"
"""Of what was lost or dropped."""

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.0,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "lines.dash_capstyle": "butt",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # Names and commands of a study are texts, whatever `$` there is in them.
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "cclab",
    "pdf.fonttype": 42,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


FORMATS = ("svg", "pdf", "png")
"""What a figure can be saved as."""

_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "cclab"},
    "pdf": {"CreationDate": None, "Creator": "cclab", "Producer": "cclab"},
    "png": {"Software": None},
}
"""No dates: equal figures give equal bytes."""

_DPI = 200
"""Dots per inch of PNG, and of what is an image in SVG and PDF."""


class Drawing(Figure):
    """A figure that notebooks show by themselves, in the style it was drawn in."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        """As matplotlib's."""
        super().__init__(*args, **settings)
        self.told: list[Artist] = []
        """What its legend names."""
        self.time_unit = 1.0
        """What one of its axis of time is in seconds; the data are in seconds."""
        self.lower: list[Axes] = []
        """Axes below others, with another quantity than the figure is named for."""
        self.last: list[Callable[[], None]] = []
        """What draws that for which nothing makes room, once axes have their places for good."""

    def _repr_svg_(self) -> str:
        return svg(self).decode()

    def savefig(self, fname: Any, **how: Any) -> None:
        """Saves the figure as matplotlib does, in its own style and without a date."""
        kind = how.get("format") or str(fname).rpartition(".")[2].lower()
        defaults: dict[str, Any] = {}
        if kind in _METADATA:
            defaults = {"metadata": _METADATA[kind], "dpi": _DPI}
        with styled():
            super().savefig(fname, **(defaults | how))


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Applies the style, and nothing of the caller's own matplotlib settings, for a while."""
    settings: Any = {**mpl.rcParamsDefault, **_RC}
    # A context does not put it back: the caller's own plots would be shown nowhere.
    del settings["backend"]
    with mpl.rc_context(settings):
        yield


def svg(figure: Drawing) -> bytes:
    """The figure as SVG. Equal figures give equal bytes: no dates, no random ids."""
    return saved(figure, "svg")


def saved(figure: Drawing, kind: str) -> bytes:
    """The figure in one of `FORMATS`. Equal figures give equal bytes."""
    out = io.BytesIO()
    figure.savefig(out, format=kind)
    if kind != "svg":
        return out.getvalue()
    # Labels of ticks are made as they are drawn.
    return shown.document(out.getvalue().decode()).encode()
