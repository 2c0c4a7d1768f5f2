"""The types of the documents in interactive pages, in TypeScript, from their TypedDicts.

`python -m javascript.shapes`, in tests/, writes them anew.
"""

from __future__ import annotations

import inspect
import json
import types
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from cclab.captures.series.page import document as capture
from cclab.report.explore import document as sweep

FOLDER = Path(__file__).parent
DOCUMENTS = {"capture.d.ts": capture, "sweep.d.ts": sweep}

_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", types.NoneType: "null"}


def declarations(document: types.ModuleType) -> str:
    """All its TypedDicts as interfaces."""
    shapes = [
        shape
        for shape in vars(document).values()
        if is_typeddict(shape) and shape.__module__ == document.__name__
    ]
    head = f"// Written by tests/javascript/shapes.py from {document.__name__}.\n"
    return "\n".join([head, *map(_interface, shapes)])


def _interface(shape: type) -> str:
    comment = "".join(f" * {line}".rstrip() + "\n" for line in _lines(shape))
    hints = get_type_hints(shape, include_extras=True)
    members = "".join(f"  {_member(name, hint)};\n" for name, hint in hints.items())
    return f"/**\n{comment} */\ninterface {shape.__name__} {{\n{members}}}\n"


def _lines(shape: type) -> list[str]:
    text = inspect.getdoc(shape)
    assert text, f"{shape.__name__} has no docstring"
    return text.splitlines()


def _member(name: str, hint: Any) -> str:
    if get_origin(hint) is NotRequired:
        return f"{name}?: {_type(get_args(hint)[0])}"
    return f"{name}: {_type(hint)}"


def _type(hint: Any) -> str:
    """A type of what JSON can hold."""
    if is_typeddict(hint):
        return str(hint.__name__)
    if hint in _NAMES:
        return _NAMES[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(json.dumps(arg) for arg in args)
    if origin is types.UnionType:
        return " | ".join(map(_type, args))
    if origin is list:
        return f"Array<{_type(args[0])}>"
    if origin is tuple:
        return f"[{', '.join(map(_type, args))}]"
    if origin is dict and args[0] is str:
        return f"Record<string, {_type(args[1])}>"
    raise TypeError(f"JSON has no type for {hint}")


if __name__ == "__main__":
    for name, module in DOCUMENTS.items():
        (FOLDER / name).write_text(declarations(module), "utf-8")
