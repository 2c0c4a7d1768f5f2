"""Figures over results. One file per kind; this is the list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.report.figures import cwnd, goodput, jain, queue, sequence, share, throughput
from cclab.report.figures.style import styled, svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.report.figures.style import Drawing
    from cclab.results import Results

__all__ = ["FIGURES", "Kind", "draw", "kind_called", "svg"]


@dataclass(frozen=True)
class Kind:
    """A kind of figure."""

    name: str
    """Its name on the command line, in the API and of its file."""
    title: str
    """What it shows, as a heading."""
    caption: str
    """How to read it."""
    needs: str
    """What results must have for it, in words."""
    draw: Callable[[Results], Drawing | None]
    """Makes it; None where the results have nothing to show in it."""


FIGURES: tuple[Kind, ...] = (
    Kind("goodput", goodput.TITLE, goodput.CAPTION, goodput.NEEDS, goodput.draw),
    Kind("jain", jain.TITLE, jain.CAPTION, jain.NEEDS, jain.draw),
    Kind("share", share.TITLE, share.CAPTION, share.NEEDS, share.draw),
    Kind("throughput", throughput.TITLE, throughput.CAPTION, throughput.NEEDS, throughput.draw),
    Kind("cwnd", cwnd.TITLE, cwnd.CAPTION, cwnd.NEEDS, cwnd.draw),
    Kind("queue", queue.TITLE, queue.CAPTION, queue.NEEDS, queue.draw),
    Kind("sequence", sequence.TITLE, sequence.CAPTION, sequence.NEEDS, sequence.draw),
)
"""Every kind of figure, in the order of a report."""


def kind_called(name: str) -> Kind:
    """The kind of figure called `name`. Raises `InputError` if there is none."""
    kind = next((k for k in FIGURES if k.name == name), None)
    if kind is None:
        known = ", ".join(k.name for k in FIGURES)
        raise InputError(f"no figure called {name!r}; the figures are {known}")
    return kind


def draw(results: Results, name: str) -> Drawing | None:
    """The figure called `name`; None where the results have nothing to show in it.

    Raises `InputError` if there is no such kind.
    """
    kind = kind_called(name)
    with styled():
        figure = kind.draw(results)
        if figure is not None:
            # Laid out once: whoever saves it again, and in whatever format, gets the same.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        return figure
