"""Types of the core's documents: what `make document-types` makes, and what the core gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

import cclab
from cclab import _core
from cclab.documents import describe
from conftest import ROOT
from document_types import DOCUMENTS, FOLDER, types

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_types_of_a_document_are_those_of_the_core(document: str) -> None:
    written = (FOLDER / f"{document}.py").read_text(encoding="utf-8")
    assert types(document) == written, "the core's types have changed: make document-types"


def test_every_module_of_types_is_made() -> None:
    assert {file.stem for file in FOLDER.glob("*.py")} == {"__init__", *DOCUMENTS}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_a_description_is_what_its_schema_says(file: Path) -> None:
    schema = json.loads(_core.description_schema())
    described = 0
    for point in cclab.Study.load(file).plan().points:
        try:
            description = describe(point.scenario)
        except cclab.StudyError:
            continue  # it is for kernels
        jsonschema.validate(description, schema)
        described += 1
    assert described or "backend" in file.read_text(encoding="utf-8")
