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


def nearest(name: str) -> str | None:
    """The ready study that somebody who writes `name` may mean."""
    near = difflib.get_close_matches(name, names(), n=1)
    return near[0] if near else None
