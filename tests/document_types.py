"""Writes python/cclab/documents: types of the JSON documents that come from the core.

Usage: make document-types

The core has a JSON Schema of each, made of its own types; datamodel-code-generator makes Python's
of that. What it has no way to know is put into the schema before: names for the kinds of a tagged
union, and a type of its own for a key that is no name in Python.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datamodel_code_generator import generate
from datamodel_code_generator.enums import DataModelType, InputFileType
from datamodel_code_generator.format import Formatter, PythonVersion
from datamodel_code_generator.parser import LiteralType

from cclab import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).parent.parent / "python/cclab/documents"
DOCUMENTS: dict[str, tuple[Callable[[], str], str]] = {
    "scenario": (_core.scenario_schema, "A scenario: what a run does, in integers of one unit."),
    "description": (_core.description_schema, "A scenario as the simulator sees it."),
}
"""By its module: the schema of a document, and one line about it."""
HEADER = '''"""{about}

Made of the core's types by `make document-types`: please change those instead.
"""'''


def types(document: str) -> str:
    """The module of a document."""
    schema, about = DOCUMENTS[document]
    root = json.loads(schema())
    for name, definition in root["$defs"].items():
        _tell_kinds_apart(name, definition)
    for name, definition in list(root["$defs"].items()):
        _split_off_words(root["$defs"], name, definition)
    for part in _parts(root):
        _as_python_tells_it(part)
    with warnings.catch_warnings(action="ignore"):  # of formats of integers
        made = generate(
            json.dumps(root),
            input_file_type=InputFileType.JsonSchema,
            output_model_type=DataModelType.TypingTypedDict,
            target_python_version=PythonVersion.PY_311,
            enum_field_as_literal=LiteralType.All,
            use_title_as_name=True,
            use_type_alias=True,
            use_closed_typed_dict=False,
            use_schema_description=True,
            use_field_description=True,
            use_single_line_docstring=True,
            formatters=[Formatter.BUILTIN],
            custom_file_header=HEADER.format(about=about),
        )
    assert isinstance(made, str)
    return _formatted(made, FOLDER / f"{document}.py")


def _tell_kinds_apart(name: str, definition: dict[str, Any]) -> None:
    """Names the kinds of a union by their tags: the key of which each kind has a value of its own.

    One whose kinds have one key each, and no tag, becomes an object with one of these keys: type
    checkers do not tell dictionaries apart by the keys that they have.
    """
    kinds = [kind for kind in definition.get("oneOf", ()) if "properties" in kind]
    if not kinds:
        return
    tags = [{key for key, of in kind["properties"].items() if "const" in of} for kind in kinds]
    if common := set.intersection(*tags):
        (tag,) = common
        for kind in kinds:
            kind["title"] = _camel(kind["properties"][tag]["const"]) + name
        return
    del definition["oneOf"]
    definition["description"] += "\n\nIt has one of these keys."
    definition["type"] = "object"
    definition["properties"] = {
        key: value | {"description": kind["description"]}
        for kind in kinds
        for key, value in kind["properties"].items()
    }


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _split_off_words(definitions: dict[str, Any], name: str, definition: dict[str, Any]) -> None:
    """Puts a key that is no name in Python (`from`, `a-b`) into a type of its own to inherit."""
    properties = definition.get("properties", {})
    words = {
        key: properties.pop(key)
        for key in list(properties)
        if keyword.iskeyword(key) or not key.isidentifier()
    }
    if words:
        required = definition.get("required", [])
        base = f"{name}{_camel('-'.join(words))}"
        definitions[base] = {
            "type": "object",
            "properties": words,
            "required": [key for key in required if key in words],
        }
        definition["required"] = [key for key in required if key not in words]
        definition["allOf"] = [{"$ref": f"#/$defs/{base}"}]


def _parts(schema: object) -> Iterator[dict[str, Any]]:
    """Every schema within `schema`, and itself."""
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from _parts(part)


def _as_python_tells_it(part: dict[str, Any]) -> None:
    """Bounds are no matter of types; links of rustdoc lead nowhere."""
    if {"integer", "number"} & {*_listed(part.get("type"))}:
        for bound in ("minimum", "maximum", "format"):
            part.pop(bound, None)
    description = part.get("description")
    if isinstance(description, str):
        linked = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", description)
        part["description"] = linked.replace("`None`", "None").replace("::", ".")


def _listed(types: object) -> list[object]:
    return types if isinstance(types, list) else [types]


def _formatted(text: str, path: Path) -> str:
    for command in (["format"], ["check", "--fix", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> None:
    for document in DOCUMENTS:
        (FOLDER / f"{document}.py").write_text(types(document), encoding="utf-8")


if __name__ == "__main__":
    main()
