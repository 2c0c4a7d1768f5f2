"""How the values of options and arguments are read, without what typer reads them by.

It has every value pass through pydantic, also that of an option that is not given, which takes
longer to load than most commands run. What this does not know is read as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer import core

try:
    from typer._coercion import RuntimeParam, build_runtime_param
    from typer._param_types import coerce_cli_path
except ImportError:  # Another typer: it reads values by itself.
    IS_KNOWN = False
    # `_Plain` is a class all the same, of which nothing is made then.
    RuntimeParam = object  # type: ignore[assignment,misc]
else:
    IS_KNOWN = hasattr(core, "build_runtime_param")

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer._coercion import TypeDescriptor

    Reader = Callable[[Any, Any, Any], Any]


def read_plainly() -> None:
    """Has the values of all options and arguments read by what is here."""
    if IS_KNOWN:
        vars(core).update(build_runtime_param=_read_by)


def _read_by(kind: TypeDescriptor) -> RuntimeParam:
    """What reads the values of an option or argument."""
    read = _reader(kind.annotation, kind.parameter_info)
    if read is None:
        return build_runtime_param(kind)
    return _Plain(kind.parameter_info, kind.annotation, read)


@dataclass(frozen=True)
class _Plain(RuntimeParam):
    """Reads values by `read`, which takes one, its parameter and the context."""

    read: Reader

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        return self.read(value, param, ctx)


def _reader(annotation: Any, told: Any) -> Reader | None:
    """What reads a value of the type `annotation`; None if that is not known here."""
    parts = get_args(annotation)
    if get_origin(annotation) is list and len(parts) == 1:
        if (of_one := _reader(parts[0], told)) is None:
            return None
        return lambda values, param, ctx: [of_one(value, param, ctx) for value in values]
    if get_origin(annotation) is tuple:
        each = [_reader(part, told) for part in parts]
        known = [read for read in each if read is not None]
        if len(known) < len(each):
            return None
        return lambda values, param, ctx: tuple(
            read(value, param, ctx) for read, value in zip(known, values, strict=True)
        )
    if told.parser is not None:
        return lambda value, _param, _ctx: told.parser(value)
    if annotation is str:
        return lambda value, _param, _ctx: str(value)
    if annotation is bool:
        return lambda value, _param, _ctx: value  # A flag is there, or it is not.
    if annotation is Path:
        return lambda value, param, ctx: coerce_cli_path(
            Path(value), told, path_type=Path, param=param, ctx=ctx
        )
    return None
