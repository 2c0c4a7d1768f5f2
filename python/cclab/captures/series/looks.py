"""How each thing in a time-sequence graph looks, on paper and on the page: by colour and by shape.

The hues are those of Okabe and Ito, as in the project's other figures.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """The look of a thing."""

    label: str
    """Its name in legends."""
    colour: str
    """On white."""
    dark: str
    """On a dark ground."""
    marker: str | None
    """matplotlib's letter of its mark; None where it is a bar or a line alone."""
    bar: bool = False
    """Whether it is a bar from its first sequence number to its last."""
    hollow: bool = False
    """Whether its mark is an outline."""


LOOKS: dict[str, Look] = {
    "new": Look("segment", "#1a1a1a", "#e8e6e1", None, bar=True),
    "duplicate-sack": Look("D-SACK", "#8b4a8b", "#d79bd0", "D", bar=True, hollow=True),
    "sack": Look("SACK", "#8b4a8b", "#d79bd0", None, bar=True),
    "duplicate-ack": Look("duplicate ACK", "#00694d", "#3fd0a4", "|"),
    "retransmit": Look("retransmission", "#D55E00", "#ff8b3d", "x", bar=True),
    "spurious": Look("spurious retransmission", "#b3261e", "#ff8d83", "P", bar=True),
    "out-of-order": Look("out of order", "#0072B2", "#5aaeea", "^", bar=True),
    "zero-window": Look("window of zero", "#8f7c00", "#e0cb3c", "s", hollow=True),
    "keep-alive": Look("keep-alive", "#666666", "#a3a09a", "o", hollow=True),
    "probe": Look("window probe", "#666666", "#a3a09a", "d"),
    "syn": Look("SYN", "#1a1a1a", "#e8e6e1", "^", hollow=True),
    "fin": Look("FIN", "#1a1a1a", "#e8e6e1", "v", hollow=True),
    "rst": Look("RST", "#b3261e", "#ff8d83", "X"),
}
"""In the order in which they are drawn."""

DASHED: tuple[float, tuple[float, ...]] = (0, (4.0, 1.4))
"""The dash of a window, and of a mean."""

ACK = Look("acknowledged", "#009E73", "#2fc798", None)
"""The line of the highest ACK."""
WINDOW = Look("window's edge", "#B8A000", "#e0cb3c", None)
"""The line of ACK plus window."""
