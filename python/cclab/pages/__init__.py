"""What every page is made with: templates, and figures inside them. Pages need no network.

style.html.j2  how all pages look
table.html.j2  a table of cells
uplot          the library that draws what can be zoomed
interactive    how data and programs get into a page, and what these share
"""

from __future__ import annotations

import re
from functools import cache

import jinja2
from markupsafe import Markup
from markupsafe import escape as markup_escape

_NARROW_PT = 330


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


def narrow(svg: bytes) -> bool:
    """Whether two such figures fit side by side."""
    width = re.search(rb'<svg[^>]*\swidth="([\d.]+)pt"', svg)
    return width is not None and float(width[1]) < _NARROW_PT


@cache
def template(name: str, package: str) -> jinja2.Template:
    """The template called `name` of a package; it can include those of all pages."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(p, ".") for p in (package, __name__)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
