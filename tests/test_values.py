"""Values of options are read as typer reads them, without what it reads them by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer._coercion import build_runtime_param
from typer.exceptions import TyperException

from cclab.cli import main, values

if TYPE_CHECKING:
    from pathlib import Path


NO_CONTEXT: Any = None
"""None of the readers looks at it."""


def parameters() -> list[tuple[str, Any]]:
    """Every parameter of every verb, once for each type and reader of values."""
    found: dict[str, tuple[str, Any]] = {}

    def gather(command: Any) -> None:
        for param in command.params:
            told = param.type_descriptor
            key = f"{told.annotation} {getattr(told.parameter_info.parser, '__qualname__', '')}"
            found.setdefault(key, (f"{command.name} {param.name}", param))
        for inner in getattr(command, "commands", {}).values():
            gather(inner)

    gather(typer.main.get_command(main.verbs(*main.VERBS)))
    return list(found.values())


def read(reader: Any, value: object, param: Any) -> object:
    try:
        return reader.coerce(value, param, NO_CONTEXT)
    except TyperException as error:
        return error.format_message()


@pytest.mark.parametrize(("name", "param"), parameters(), ids=lambda each: str(each)[:40])
def test_each_is_read_as_typer_reads_it(name: str, param: Any, tmp_path: Path) -> None:
    here, theirs = (
        read_by(param.type_descriptor) for read_by in (values._read_by, build_runtime_param)
    )
    many = param.multiple or param.nargs != 1
    texts = ["1", "17", str(tmp_path), str(tmp_path / "nowhere"), "-"]
    given: list[object] = [texts[:2], ["5"] * 2] if many else list(texts)
    given = [True, False] if param.type_descriptor.annotation is bool else given
    for value in [None, *given]:
        try:
            expected = read(theirs, value, param)
        except Exception as error:
            with pytest.raises(type(error)):
                here.coerce(value, param, NO_CONTEXT)
            continue
        found = read(here, value, param)
        assert (found, type(found)) == (expected, type(expected)), name


def test_all_are_read_here() -> None:
    own = [isinstance(values._read_by(p.type_descriptor), values._Plain) for _, p in parameters()]
    assert all(own)
