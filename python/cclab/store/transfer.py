"""Runs from one store into another, or into an archive and out of it."""

from __future__ import annotations

import contextlib
import shutil
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cclab.errors import InputError, StoreError
from cclab.store import disk
from cclab.store.folder import PLAN, Store
from cclab.store.gc import needed_by, plans_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cclab.plan import Plan

ARCHIVES = (".tar", ".tar.gz", ".tar.zst")
"""What an archive's name ends in."""


def is_archive(path: Path) -> bool:
    """Whether `path` is named as an archive is."""
    return path.name.endswith(ARCHIVES)


def export(store: Store, runs: Iterable[str], target: Path) -> int:
    """Writes `runs` of `store`, with the parts of its plans that ask for them and what checks
    those, as a store of its own at `target`: a folder, or an archive if it is named as one.

    Gives the number of entries. Raises `InputError` if there is something at `target`, and
    `StoreError` if it cannot be written.
    """
    if target.exists() and (is_archive(target) or any(target.iterdir())):
        raise InputError(f"{target} is there already")
    if not is_archive(target):
        return _copied(store, set(runs), Store(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=target.parent) as place:
            folder = Path(place) / target.name.split(".tar")[0]
            count = _copied(store, set(runs), Store(folder))
            shutil.rmtree(folder / "tmp")
            work = Path(place) / target.name
            _pack(folder, work)
            disk.sync(work)
            work.replace(target)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"cannot write {target}: {disk.reason(error)}") from error
    return count


def bring(source: Path, store: Store) -> int:
    """Brings the sound entries and the plans of `source`, a store or an archive of one, into
    `store`. Gives the number of entries that are new there.

    Raises `InputError` if `source` is neither, and `StoreError` if `store` cannot be written.
    """
    with _opened(source) as found:
        plans = plans_of(found)
        if not plans:
            raise InputError(f"{source} is not a results folder: there is no plan in it")
        return _merged(found, found.ids(), list(plans.values()), store)


def _copied(store: Store, runs: set[str], target: Store) -> int:
    plans = [part for plan in plans_of(store).values() if (part := _part(plan, runs)) is not None]
    if not plans:
        raise InputError("no plan of the store asks for any of these runs")
    needed = runs.union(*(needed_by(plan) for plan in plans))
    return _merged(store, needed & store.ids(), plans, target)


def _merged(source: Store, runs: set[str], plans: list[Plan], target: Store) -> int:
    """Copies sound entries and plans; the first plan becomes the last one run, if there is none."""
    new = 0
    with target.writer() as writer:
        mine = plans_of(target).get(target.path / PLAN)
        for plan in [*reversed(plans), *([] if mine is None else [mine])]:
            writer.save_plan(plan)
        for run in sorted(runs - target.ids()):
            with writer.workspace() as scratch, source.opened(run) as entry:
                if source.sound(run, contents=True):
                    shutil.copytree(entry, scratch / run)
                    writer.install(scratch, [run])
                    new += 1
    return new


def _part(plan: Plan, runs: set[str]) -> Plan | None:
    """The plan of those of `runs` that `plan` asks for; None if it asks for none."""
    points = [
        replace(point, runs=asked)
        for point in plan.points
        if (asked := [run for run in point.runs if run.id in runs])
    ]
    return replace(plan, points=points) if points else None


def _pack(folder: Path, archive: Path) -> None:
    """Writes `folder` as an archive whose bytes depend on what is in it alone."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with (
        archive.open("wb") as raw,
        _compressing(raw, archive) as out,
        tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in [folder, *sorted(folder.rglob("*"))]:
            name = str(path.relative_to(folder.parent))
            tar.add(path, name, recursive=False, filter=plain)


@contextlib.contextmanager
def _compressing(raw: IO[bytes], archive: Path) -> Iterator[IO[bytes]]:
    if archive.name.endswith(".gz"):
        import gzip

        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out:
            yield out  # type: ignore[misc]
    elif archive.name.endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as out:
            yield out
    else:
        yield raw


@contextlib.contextmanager
def _opened(source: Path) -> Iterator[Store]:
    """The store at `source`; of an archive, unpacked while the context lasts."""
    if not is_archive(source):
        yield Store(source)
        return
    with tempfile.TemporaryDirectory(prefix="cclab-") as place:
        try:
            with (
                source.open("rb") as raw,
                _decompressing(raw, source) as stream,
                tarfile.open(fileobj=stream, mode="r|") as tar,
            ):
                tar.extractall(place, filter="data")
        except FileNotFoundError:
            raise InputError(f"{source}: no such file") from None
        except (OSError, tarfile.TarError, EOFError) as error:
            raise InputError(f"{source} is not an archive of a results folder: {error}") from error
        folders = [found for found in Path(place).iterdir() if found.is_dir()]
        if len(folders) != 1:
            raise InputError(f"{source} is not an archive of a results folder")
        yield Store(folders[0])


@contextlib.contextmanager
def _decompressing(raw: IO[bytes], source: Path) -> Iterator[IO[bytes]]:
    if source.name.endswith(".gz"):
        import gzip

        with gzip.GzipFile(fileobj=raw) as stream:
            yield stream  # type: ignore[misc]
    elif source.name.endswith(".zst"):
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(raw) as stream:
                yield stream
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
    else:
        yield raw
