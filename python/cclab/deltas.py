"""What one JSON document has in another place of another, which says it again in a few bytes.

Places are JSON pointers (RFC 6901).
"""

from __future__ import annotations

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
    document = base
    for pointer, value in delta.items():
        document = _replaced(document, pointer.split("/")[1:], value)
    return document


def _compare(base: Any, document: Any, place: str, found: Delta) -> None:
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


def _replaced(base: Any, place: list[str], value: Any) -> Any:
    if not place:
        return value
    if not isinstance(base, dict | list):
        raise TypeError(f"there is nothing below {base!r}")
    key: Any = int(place[0]) if isinstance(base, list) else _plain(place[0])
    copy: Any = base.copy()
    copy[key] = _replaced(base[key], place[1:], value)
    return copy


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _plain(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~")
