"""uPlot, whole: every interactive page holds it, so that it needs no network."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from markupsafe import Markup

VERSION = "1.6.32"


@cache
def script() -> Markup:
    """Its program, for a `script` element."""
    return Markup((files(__name__) / "uPlot.iife.min.js").read_text("utf-8"))


@cache
def style() -> Markup:
    """Its style sheet, for a `style` element."""
    return Markup((files(__name__) / "uPlot.min.css").read_text("utf-8"))
