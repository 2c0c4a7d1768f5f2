"""What was made of a store, such as its report: of what, and whether it is as it was written.

DIR/report/stamp.json    what the report is of, the digest of each of its files, and its own
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from cclab.store import disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE = "stamp.json"
"""What tells it, in the folder of what was made."""


def of(out: Path) -> str | None:
    """What the files in `out` were made of, by its hash; None if nothing tells."""
    stamp = _read(out)
    return None if stamp is None else stamp[0]


def differing(out: Path) -> list[str]:
    """The files in `out` that are not as they were written; of what nothing tells, the stamp."""
    if not os.path.lexists(out):
        return []
    if not out.is_dir():
        return [FILE]
    stamp = _read(out)
    if stamp is None:
        # Figures that were asked for one by one have none.
        return [FILE] if os.path.lexists(out / FILE) else []
    return [name for name, digest in stamp[1].items() if _digest(out / name) != digest]


def strays(out: Path) -> list[str]:
    """What is in `out` and no report is written over: pipes, devices and links that were never
    written there, and folders in the places of files.

    A file may be a figure that was asked for by itself, of which nothing tells.
    """
    if out.is_symlink() or not out.is_dir():
        return []
    stamp = _read(out)
    written = {FILE} if stamp is None else {FILE, *stamp[1]}
    with os.scandir(out) as entries:
        return sorted(
            entry.name
            for entry in entries
            if not entry.is_file(follow_symlinks=False)
            and entry.is_dir(follow_symlinks=False) == (entry.name in written)
        )


def text(made_of: str, files: Mapping[str, bytes]) -> bytes:
    """The content of `FILE` for `files` that were made of what has the hash `made_of`."""
    return _text(made_of, {name: _sha256(content) for name, content in files.items()})


def renewed(out: Path, files: Mapping[str, bytes]) -> bytes:
    """The content of `FILE` for what is in `out`, once `files` are new that were made of the same.

    Its stamp is as it was written.
    """
    stamp = _read(out)
    assert stamp is not None, "its maker has looked"
    return _text(stamp[0], stamp[1] | {name: _sha256(content) for name, content in files.items()})


def _read(out: Path) -> tuple[str, dict[str, str]] | None:
    """What the stamp in `out` says; None if it is not as it was written."""
    try:
        content = disk.read(out / FILE)
        stamp = json.loads(content)
        made_of, files = stamp["made_of"], stamp["files"]
        return (made_of, files) if _text(made_of, files) == content else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _text(made_of: str, files: Mapping[str, str]) -> bytes:
    document = {"schema": "cclab-report/3", "made_of": made_of, "files": files}
    digest = _sha256(json.dumps(document).encode())
    return (json.dumps({**document, "sha256": digest}, indent=1) + "\n").encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest(file: Path) -> str | None:
    try:
        with disk.opened(file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None
