"""The files of compacted runs, as folders outside the store."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.store.packs import Packs


def lasting(packs: Packs, run_id: str) -> Path | None:
    """A folder with the files of a run, until this process ends; None if it is not in `packs`."""
    packed = packs.runs().get(run_id)
    if packed is None:
        return None
    folder = _place() / packed.manifest_sha256
    if folder.is_dir():
        return folder
    files = packs.files(run_id)
    if files is None:
        return None
    work = Path(tempfile.mkdtemp(dir=_place()))
    put(work, files)
    with contextlib.suppress(OSError):  # another thread was first
        work.rename(folder)
    return folder


@contextlib.contextmanager
def passing(packs: Packs, run_id: str) -> Iterator[Path | None]:
    """A folder with the files of a run, while the context lasts; None if it is not in `packs`."""
    files = packs.files(run_id)
    if files is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="cclab-") as folder:
        put(Path(folder), files)
        yield Path(folder)


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Writes `files` into `folder`."""
    for name, content in files.items():
        (folder / name).write_bytes(content)


@cache
def _place() -> Path:
    """The folder of this process for what lasts as long as it."""
    place = Path(tempfile.mkdtemp(prefix="cclab-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
