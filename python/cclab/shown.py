"""How text that others wrote is shown: names of files, titles, what programs print.

No terminal takes it for an order, and every encoding has it. A name of a file may be any bytes;
Python has those that are no UTF-8 as lone surrogates, which no document may hold.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.errors import InputError
from cclab.shell import in_bytes

if TYPE_CHECKING:
    from pathlib import PurePath

_ASCII = {
    "±": "+-",
    "×": "x",
    "→": "->",
    "←": "<-",
    "≤": "<=",
    "≥": ">=",
    "µ": "u",
    "μ": "u",
    "…": "...",
    "–": "-",
    "−": "-",
    "·": "*",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
}
"""What stands for a character where an encoding lacks it."""


def _orders(but: str = "") -> str:
    """What `_core.shown` escapes, without the characters in `but`, as a class of a pattern.

    Documents have megabytes: a class alone is looked for many times as fast as one behind another
    condition.
    """
    spans = [(ord(first), ord(last)) for first, last in (*_core.ORDERS, ("\ud800", "\udfff"))]
    for left_out in map(ord, but):
        parts = [
            part
            for first, last in spans
            for part in ((first, min(last, left_out - 1)), (max(first, left_out + 1), last))
        ]
        spans = [(first, last) for first, last in parts if first <= last]
    return f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in spans)}]"


_UNSAFE = re.compile(_orders())
_UNSAFE_IN_LINES = re.compile(_orders(but="\n"))
_UNSAFE_IN_DOCUMENT = re.compile(_orders(but="\n\t"))
_APART_IN_DOCUMENT = re.compile(rf"[\ud800-\udfff]+|{_UNSAFE_IN_DOCUMENT.pattern}")
_BYTE_IN_REPR = re.compile(r"((?<!\\)(?:\\\\)*)\\udc([89a-f][0-9a-f])")
"""How `repr` spells a byte of a name: a backslash of the text itself is there twice."""
_IN_JSON = re.compile(f"{_UNSAFE_IN_LINES.pattern}+")


def line(text: str | PurePath) -> str:
    """`text` in one line: controls and bytes that are not UTF-8 are escaped (`\\n`, `\\xff`)."""
    text = str(text)
    return _core.shown(in_bytes(text)) if _UNSAFE.search(text) else text


def quoted(text: str | PurePath) -> str:
    """`text` in quotes, as Python writes it, and bytes that are not UTF-8 as `line` does."""
    return line(_BYTE_IN_REPR.sub(r"\1\\x\2", repr(str(text))))


def lines(text: str) -> str:
    """As `line`, of a message that has lines of its own."""
    if not _UNSAFE_IN_LINES.search(text):
        return text
    return "\n".join(map(line, text.split("\n")))


def document(text: str) -> str:
    """As `lines`, of the text of a whole document (HTML, SVG, CSV), whose tabs stay, too."""
    if not _UNSAFE_IN_DOCUMENT.search(text):
        return text
    return _APART_IN_DOCUMENT.sub(lambda match: line(match[0]), text)


def text_of(argument: str) -> str:
    """What an argument of the process says, whatever its locale. Raises `InputError` if that is no
    UTF-8, as names of files alone may be."""
    try:
        return in_bytes(argument).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"{line(argument)}: not UTF-8 text, as the keys and values of a study are"
        ) from None


def json_text(
    document: Any,
    *,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    ascii_only: bool = False,
) -> str:
    """A document as JSON, which is UTF-8 whatever names are in it, and safe on a terminal."""
    text = json.dumps(
        document, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
    )
    # All of these but ends of lines, which are outside, stand inside strings.
    if _UNSAFE_IN_LINES.search(text):
        text = _IN_JSON.sub(_escaped_in_json, text)
    if not ascii_only or text.isascii():
        return text
    return re.sub(r"[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text)


def _escaped_in_json(match: re.Match[str]) -> str:
    """What JSON can hold stays what it is; a byte of a name is told as `line` does."""
    return "".join(
        json.dumps(line(part))[1:-1] if "\ud800" <= part <= "\udfff" else json.dumps(part)[1:-1]
        for part in re.findall(r"[\ud800-\udfff]+|[^\ud800-\udfff]", match[0])
    )


def _instead(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that the encoding of a stream lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_in_ascii(character) for character in lacking), error.end


def _in_ascii(character: str) -> str:
    if character in _ASCII:
        return _ASCII[character]
    if "─" <= character <= "╿":  # The block of boxes.
        return "|" if character in "│┃║╎┆┊╏┇┋" else "-" if character in _HORIZONTAL else "+"
    if "\udc80" <= character <= "\udcff":
        return line(character)
    return character.encode("ascii", "backslashreplace").decode("ascii")


_HORIZONTAL = "─━═╌┄┈╍┅┉╴╶╸╺╼╾"

FALLBACK = "cclab.shown"
"""The error handler of streams that may lack characters."""
codecs.register_error(FALLBACK, _instead)


def encodable(text: str, encoding: str) -> str:
    """`text` as a stream of this `encoding` has it."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, FALLBACK).decode(encoding)
    return text
