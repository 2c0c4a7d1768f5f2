"""TOML files that people write beside studies: an error in one has its file, line and column."""

from __future__ import annotations

import difflib
import re
import typing
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from cclab import shown
from cclab.errors import StudyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

_T = TypeVar("_T", bound=msgspec.Struct)


def decoded(path: Path, text: str, kind: type[_T], schema: ModuleType) -> _T:
    """What the `text` of the file at `path` says, as a `kind` of the tables in the module `schema`.

    Raises `StudyError` if it says something else.
    """
    try:
        return msgspec.toml.decode(text, type=kind)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at `$")
    except msgspec.DecodeError as error:
        # tomllib's: `Expected '=' after a key (at line 3, column 7)`.
        where = re.fullmatch(
            r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error)
        )
        if where is None:
            raise StudyError(f"{path}: {error}") from None
        lines = text.splitlines() or [""]
        line, column = where[2] or len(lines), where[3] or len(lines[-1]) + 1
        raise StudyError(f"{path}:{line}:{column}: {where[1]}") from None
    place = at.rstrip("`")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message)
    if unknown:
        key = unknown[1]
        nearest = difflib.get_close_matches(key, _keys(schema), 1)
        hint = f"; did you mean `{nearest[0]}`?" if nearest else ""
        message, place = f"unknown key `{key}`{hint}", f"{place}.{key}"
    raise wrong(
        path,
        text,
        place,
        f"{_in_words(message, place, schema)} (at {place.lstrip('.') or 'the top'})",
    )


_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""What a file may say, by the names that the library that reads it has for it."""


def _in_words(message: str, place: str, schema: ModuleType) -> str:
    """What the library says is wrong, in the words of the file, and what would be right."""
    if missing := re.fullmatch(r"Object missing required field `(.*)`", message):
        return f"`{missing[1]}` is missing"
    if re.match("Invalid enum value ", message):
        word = message.removeprefix("Invalid enum value ").strip("'")
        known = _choices(schema, re.sub(r".*\.|\[.*?\]", "", place))
        there = f"; there are {', '.join(map(shown.quoted, known))}" if known else ""
        return f"no value {shown.quoted(word)}{there}"
    if expected := re.fullmatch(r"Expected `(.*)`, got `(.*)`", message):
        asked, given = (
            " or ".join(_KINDS[kind] for kind in kinds.split(" | ") if kind in _KINDS)
            for kinds in expected.groups()
        )
        if asked and given:
            return f"this is {given} and is to be {asked}"
    return message


def _choices(schema: ModuleType, key: str) -> list[str]:
    """The words that a key of a schema's tables may have; empty where it may have any."""
    for table in _tables(schema):
        literal = typing.get_type_hints(table).get(key)
        if typing.get_origin(literal) is typing.Literal:
            return [str(word) for word in typing.get_args(literal)]
    return []


def wrong(path: Path, text: str, place: str, problem: str) -> StudyError:
    """The error that says what is wrong at a place such as `.claim[3].needs[0].below`."""
    line, column = position(text, place)
    return StudyError(f"{path}:{line}:{column}: {problem}")


def repeated(kind: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names that several tables `[[kind]]` have: the place of the last and the message."""
    for name, count in Counter(names).items():
        if count > 1:
            last = len(names) - 1 - names[::-1].index(name)
            yield f".{kind}[{last}]", f"{count} times a {kind} called {shown.quoted(name)}"


def _keys(schema: ModuleType) -> list[str]:
    """The keys that the tables of a schema have."""
    return sorted(
        {field.encode_name for table in _tables(schema) for field in msgspec.structs.fields(table)}
    )


def _tables(schema: ModuleType) -> list[type]:
    """The tables that a module describes."""
    every = vars(schema).values()
    return [t for t in every if isinstance(t, type) and t.__module__ == schema.__name__]


def position(text: str, place: str) -> tuple[int, int]:
    """Line and column of a place such as `.claim[3].needs[0].below`: of the nearest key that
    stands in the text by itself. The library that reads TOML keeps no positions.
    """
    steps = re.findall(r"\.?([A-Za-z_][\w-]*)|\[(\d+|\.\.\.)\]", place)
    lines = text.splitlines()
    start, end = 0, len(lines)
    if len(steps) > 1 and steps[1][1].isdigit():
        headers = [n for n, line in enumerate(lines) if line.startswith(f"[[{steps[0][0]}]]")]
        nth = int(steps[1][1])
        if nth < len(headers):
            start = headers[nth]
            later = [n for n, line in enumerate(lines) if n > start and line.startswith("[[")]
            end = later[0] if later else len(lines)
            steps = steps[2:]
    keys = [key for key, _ in steps if key]
    for key in reversed(keys):
        # A key of the table itself before one inside a value of it.
        for before in (r"^\s*", r"(?<![\w-])"):
            for number in range(start, end):
                match = re.search(rf"{before}({re.escape(key)})\s*[.=\]]", lines[number])
                if match:
                    return number + 1, match.start(1) + 1
    return start + 1, 1
