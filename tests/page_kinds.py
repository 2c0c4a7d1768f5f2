"""Which pages a browser has to load: not those that ask for nothing that another one asked for.

What may go wrong on a page is what it asks the browser for: elements with what their attributes
say, styles, scripts, and what data these find. Of attributes and of data all but values counts:
null beside numbers, a list without members, `NaN` in a path, a width of zero. An image counts with
all its bytes, and what has no rule here counts as it stands: a page may be loaded in vain, and none
is left out for its numbers, names and times alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MARK = re.compile(r"#[\w.-]+")
"""The name of an element where another is told of it, or a colour."""
_ID = re.compile(r"\b[0-9a-f]{12,}\b")
"""Of runs, in scripts."""

_NAMES = {"id", "title", "value", "alt", "for", "name", "label", "headers", "datetime", "download"}
"""Attributes that a browser takes for names and words."""
_SIZES = {"width", "height", "r", "rx", "ry", "viewbox", "colspan", "rowspan", "size"}
"""Attributes that may not be negative, or show nothing if they are zero."""
_LOADED = {"src", "srcset", "poster", "data"}
"""Attributes whose address is loaded; that of `href` is, too, but for links to click on."""


def to_load(pages: list[Path], claims: Path) -> list[Path]:
    """The pages of `pages` that ask for something new.

    New is what is not in `claims`, a folder for all processes that look at pages: whoever claims a
    thing first loads a page that asks for it.
    """
    claims.mkdir(exist_ok=True)
    return [page for page in pages if [True for thing in asked(page) if _claimed(thing, claims)]]


def _claimed(thing: str, claims: Path) -> bool:
    """Whether it is this call that claims the thing."""
    try:
        (claims / hashlib.sha256(thing.encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def asked(page: Path) -> set[str]:
    """What a page asks the browser for; all in one of a page with scripts, which may have to do
    with anything on it."""
    reader = _Reader(page)
    reader.feed(page.read_text(errors="replace"))
    reader.close()
    if reader.scripted:
        return {"\n".join(sorted(reader.asked))}
    return {f"{reader.policy}\n{thing}" for thing in reader.asked}


class _Reader(HTMLParser):
    """What a page asks of the browser, each thing once however often it does."""

    def __init__(self, page: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.asked = {"a page"}
        self.scripted = False
        self.policy = ""
        """What the page is allowed: everything that is asked is asked under it."""
        self._folder = page.parent
        self._inside = ""
        self._texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        shapes = sorted(f"{name}={self._shape(tag, name, told[name])}" for name in told)
        self.asked.add(" ".join([tag, *shapes]))
        if tag in ("script", "style"):
            self._inside = "data" if told.get("type") == "application/json" else tag
        self.scripted |= self._inside == "script" or any(name.startswith("on") for name in told)
        if tag == "meta":
            self.policy += told.get("http-equiv", "") and told.get("content", "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            text = "".join(self._texts)
            self.asked.add(_members_of(text) if self._inside == "data" else _ID.sub("#", text))
            self._texts, self._inside = [], ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._texts.append(data)

    def _shape(self, tag: str, name: str, value: str) -> str:
        """All of an attribute that may make a difference to a browser."""
        link = tag == "a" and name.endswith("href")
        if link or name in _NAMES or name.startswith(("data-", "aria-")):
            return ""
        if name.startswith("on"):
            return value
        if (name in _LOADED or name.endswith("href")) and not value.startswith("#"):
            return value if ":" in value else f"{value}, {(self._folder / value).exists()}"
        signs = {_sign(float(n)) for n in _NUMBER.findall(value)} if name in _SIZES else set()
        words = re.findall(r"[^\W\d]+", _NUMBER.sub(" ", _MARK.sub("#", value)))
        return " ".join(sorted(signs | {*words}))


def _sign(number: float) -> str:
    return "0" if number == 0 else "-" if number < 0 else "+"


def _members_of(text: str) -> str:
    """Data for a script without its values; as they stand if they are no JSON."""
    try:
        return _members(json.loads(text))
    except ValueError:
        return text


def _members(found: object) -> str:
    if isinstance(found, dict):
        inside = {f"{_NUMBER.sub('0', key)}:{_members(value)}" for key, value in found.items()}
        return f"{{{','.join(sorted(inside))}}}"
    if isinstance(found, list):
        return f"[{','.join(sorted({_members(value) for value in found}))}]"
    if isinstance(found, bool) or found is None:
        return str(found)
    if isinstance(found, int | float):
        return "0" if found == 0 else "n"
    return "s" if found else "''"
