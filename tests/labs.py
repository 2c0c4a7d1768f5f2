"""Writes the labs as they are stored: without what they showed and without what Jupyter adds.

python tests/labs.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "labs"

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def stored(text: str) -> str:
    """The notebook as it is stored: equal labs are equal bytes."""
    lab = json.loads(text)
    kept = {"metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return _written({"cells": [_stored(cell) for cell in lab["cells"]], **kept})


def _stored(cell: dict[str, Any]) -> dict[str, Any]:
    source = "".join(cell["source"]).splitlines(keepends=True)
    kept = {name: cell[name] for name in ("cell_type", "id")} | {"metadata": {}, "source": source}
    empty: dict[str, Any] = {"execution_count": None, "outputs": []}
    return kept | empty if cell["cell_type"] == "code" else kept


def _written(lab: dict[str, Any]) -> str:
    """As Jupyter writes it."""
    return json.dumps(lab, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file in sorted(FOLDER.glob("*.ipynb")):
        file.write_text(stored(file.read_text(encoding="utf-8")), encoding="utf-8")
