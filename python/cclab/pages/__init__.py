"""What every page is made with: one shell, pieces to fill it, and figures inside it. Pages need no
network.

shell.html.j2   the page that all others extend: head, policy, style, foot
charts.html.j2  a shell whose data its own program draws with uPlot
pieces.html.j2  tables, figures, doubts, definitions
style.css       how all pages look
charts.css      how all that is drawn by a program looks
charts.js       what the programs of all such pages share
uplot           the library that draws what can be zoomed
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup
from markupsafe import escape as markup_escape

from cclab import _core, shown
from cclab.pages import uplot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NARROW_PT = 330


@dataclass(frozen=True)
class Figure:
    """A figure as part of a page."""

    name: str
    """Its own on the page."""
    svg: Markup
    narrow: bool
    """Whether two such figures fit side by side."""


def figure(name: str, title: str, svg: bytes) -> Figure:
    """The figure in an SVG, called `name` on the page; `title` says what it shows."""
    return Figure(name, inline(name, title, svg), _is_narrow(svg))


def inline(name: str, title: str, svg: bytes) -> Markup:
    """An SVG as an element of a page: no prologue, and no ids that clash with another's.

    `name` is the figure's own on the page, and `title` says what it shows.
    """
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # An image that the figure holds (`href="data:..."`) has no id.
    text = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    named = f'<svg role="img" aria-label="{markup_escape(title)}"'
    return Markup(named + text.removeprefix("<svg"))


def _is_narrow(svg: bytes) -> bool:
    width = re.search(rb'<svg[^>]*\swidth="([\d.]+)pt"', svg)
    return width is not None and float(width[1]) < _NARROW_PT


def typed(text: str) -> Markup:
    """A message with what stands between back quotes, which is typed so, set as code."""
    plain_and_code = text.split("`")
    if len(plain_and_code) % 2 == 0:
        return markup_escape(text)
    parts = (
        Markup("<code>{}</code>").format(part) if nth % 2 else markup_escape(part)
        for nth, part in enumerate(plain_and_code)
    )
    return Markup().join(parts)


def render(package: str, name: str, **said: Any) -> str:
    """The page that the template `name` of a package makes of what is `said`.

    A page that extends `charts.html.j2` embeds what is said to be its `data`, and has `programs`:
    the files of its program, in the order in which they build on each other.
    """
    return shown.document(_environment(package).get_template(name).render(**said))


@cache
def _environment(package: str) -> jinja2.Environment:
    """Templates, styles and programs of a package, and those of all pages."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(p, ".") for p in (package, __name__)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    held = _holder(environment)
    environment.filters["embedded"] = embedded
    environment.filters["typed"] = typed
    environment.globals |= {
        "held": held,
        "joined": partial(_joined, held),
        "uplot": uplot.VERSION,
        "version": _core.VERSION,
    }
    return environment


def _holder(environment: jinja2.Environment) -> Callable[[str], Markup]:
    """What gives a page the text of a file, such as a style sheet, that it is to hold."""
    loader = environment.loader
    assert loader is not None, "it was made with one"

    @cache
    def held(name: str) -> Markup:
        return Markup(loader.get_source(environment, name)[0].rstrip("\n"))

    return held


def _joined(held: Callable[[str], Markup], names: Sequence[str]) -> Markup:
    """The program of a page. Its files are one function, so that they see each other's names and
    the rest of the page sees none."""
    texts = [held(name) for name in ("charts.js", *names)]
    return Markup("\n").join([Markup('(() => {\n"use strict";'), *texts, Markup("})();")])


def embedded(data: object) -> Markup:
    """Data as JSON inside an element of a page, which nothing in it can end."""
    text = shown.json_text(data, ascii_only=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))
