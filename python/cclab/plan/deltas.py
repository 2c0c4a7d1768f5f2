"""What one JSON document has in another place of another, which says it again in a few bytes.

Places are JSON pointers (RFC 6901).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

Delta = dict[str, Any]
"""Values by the places in the base where they stand instead."""


def delta(base: Any, document: Any) -> Delta:
    """What `document` has instead of what stands in `base`, as deep within as can be said."""
    found: Delta = {}
    _compare(base, document, "", found)
    return found


def applied(base: Any, delta: Delta) -> Any:
    """The document of which `delta` is what it has in place of what `base` has.

    The two share all else. Raises `LookupError`, `ValueError` or `TypeError` if there is no such
    place.
    """
    if not delta:
        return base
    top = {"": base}
    own = {id(top)}
    for pointer, value in delta.items():
        node: Any = top
        *way, last = _keys(pointer)
        for key in way:
            child = node[_within(node, key)]
            if id(child) not in own:
                if not isinstance(child, dict | list):
                    raise TypeError(f"there is nothing below {child!r}")
                child = node[_within(node, key)] = child.copy()
                own.add(id(child))
            node = child
        place = _within(node, last)
        node[place]  # There must be something that it stands in place of.
        node[place] = value
    return top[""]


def _compare(base: Any, document: Any, place: str, found: Delta) -> None:
    if base is document:
        return
    if type(base) is not type(document):
        found[place] = document
    elif isinstance(base, dict) and base.keys() == document.keys():
        for key, value in base.items():
            _compare(value, document[key], f"{place}/{_escaped(key)}", found)
    elif isinstance(base, list) and len(base) == len(document):
        for index, value in enumerate(base):
            _compare(value, document[index], f"{place}/{index}", found)
    elif base != document:
        found[place] = document


@lru_cache(maxsize=4096)
def _keys(pointer: str) -> tuple[str, ...]:
    """The keys of a pointer from the document on, which is called "" here."""
    return tuple(_plain(key) for key in pointer.split("/"))


def _within(node: Any, key: str) -> Any:
    return int(key) if isinstance(node, list) else key


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _plain(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~")
