"""Ready studies, under the names of Flent's tests; docs/ready.md describes them."""

from __future__ import annotations

import difflib
from pathlib import Path

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of all ready studies."""
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def file_of(name: str) -> Path | None:
    """The study file of the ready study called `name`; None if there is none."""
    return _FOLDER / f"{name}.toml" if name in names() else None


def hint(name: str) -> str:
    """What a message that there is no file called `name` adds of ready studies, if anything."""
    near = difflib.get_close_matches(name, names(), n=1)
    if near:
        return f"; did you mean the ready study {near[0]}?"
    path = Path(name)
    if path.name == name and not path.suffix:
        return " and no ready study; `cclab list studies` lists those"
    # What ends otherwise is meant as no study.
    return "; `cclab list studies` lists ready studies" if path.suffix in ("", ".toml") else ""
