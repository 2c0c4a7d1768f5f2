"""Runs from one store into another, or into an archive and out of it."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cclab import _core, whole
from cclab.errors import InputError, RunError, StoreError
from cclab.late import late
from cclab.store import disk, expansion
from cclab.store.folder import PLAN, Store, Told
from cclab.store.gc import needed_by, plans_of
from cclab.store.health import is_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import zstandard

    from cclab.plan import Plan
else:
    zstandard = late("zstandard")

ARCHIVES = (".tar", ".tar.gz", ".tar.zst")
"""What an archive's name ends in."""

_FOREIGN_ARCHIVES = (".zip", ".tgz", ".gz", ".zst", ".xz", ".bz2", ".7z")
"""What names of archives end in that are not written here."""

_AT_A_TIME = 300
"""Runs that go to the disk at once: waiting for it after each takes longer than all else."""


def is_archive(path: Path) -> bool:
    """Whether `path` is named as an archive is."""
    return path.name.endswith(ARCHIVES)


@dataclass(frozen=True)
class Moved:
    """What became of the runs that were to be copied."""

    new: int
    """Runs that are new in the target, or in the place of damaged ones."""
    refused: list[str]
    """Runs of the source that were left out: torn, or not the runs that their names say."""
    missing: list[str]
    """Runs that the copied plans ask for and that neither source nor target has."""
    plans: list[str] = field(default_factory=list)
    """Plans of the source that were left out: they are not as they were written."""

    @property
    def whole(self) -> bool:
        """Whether the target has everything that its new plans ask for."""
        return not (self.refused or self.missing or self.plans)


def export(store: Store, runs: Iterable[str], target: Path) -> Moved:
    """Writes `runs` of `store`, with the parts of its plans that ask for them and what checks
    those, as a store of its own at `target`: a folder, or an archive if it is named as one.

    It is there as a whole or not at all. Raises `InputError` if there is something at `target`,
    and `StoreError` if it cannot be written.
    """
    archive = is_archive(target)
    if not archive and target.suffix in _FOREIGN_ARCHIVES:
        raise InputError(f"{target}: an archive's name ends in {', '.join(ARCHIVES)}")
    # `Path.resolve` gives up at a link that leads to itself.
    target = Path(os.path.realpath(target))
    try:
        if os.path.lexists(target) and (archive or not target.is_dir() or any(target.iterdir())):
            _refuse(target)
        if archive:
            target.parent.mkdir(parents=True, exist_ok=True)
            with whole.scratch(target.parent, target.name) as place:
                done = _copied(store, set(runs), Store(place / "store"))
                _pack(place / "store", place / target.name, target)
                whole.name(place / target.name, target)
        else:
            with whole.folder(target, _refuse) as folder:
                done = _copied(store, set(runs), Store(folder))
    except OSError as error:
        if isinstance(error, StoreError) and not error.while_writing:
            raise
        # What was being made goes with its folder, whose name says nothing to anybody.
        cause = error.__cause__ if isinstance(error, StoreError) else error
        why = disk.reason(cause) if isinstance(cause, OSError) else str(error)
        raise StoreError(f"cannot write {target}: {why}; nothing is left of it") from cause
    return done


def _refuse(target: Path) -> None:
    raise InputError(f"{target} is there already")


def bring(source: Path, store: Store, max_decompressed: int | None = None) -> Moved:
    """Brings the sound runs and the plans of `source`, a store or an archive of one, into
    `store`. An archive may become `max_decompressed` bytes, or what is plausible if None.

    Raises `InputError` if `source` is neither, or an archive that is not whole, and `StoreError`
    if `store` cannot be written.
    """
    with _opened(source, max_decompressed) as opened:
        opened.check_version()
        plans, damaged = opened.read_plans()
        if not plans:
            raise InputError(f"{source} is not a results folder: there is no plan in it")
        kept = [(plan, _is_passing(opened, plan)) for plan in plans.values()]
        done = _merged(opened, opened.ids(), kept, store)
        return replace(done, plans=[file.name for file in damaged])


def _copied(store: Store, runs: set[str], target: Store) -> Moved:
    plans = [
        (part, _is_passing(store, plan))
        for plan in plans_of(store).values()
        if (part := _part(plan, runs)) is not None
    ]
    if not plans:
        raise InputError("no plan of the store asks for any of these runs")
    needed = runs.union(*(needed_by(plan) for plan, _ in plans))
    done = _merged(store, needed & store.ids(), plans, target)
    shutil.rmtree(target.path / "tmp")
    return done


def _is_passing(store: Store, plan: Plan) -> bool:
    """Whether `plan`, the last one run, is that of a sweep which has not ended by its rule."""
    return plan.until is not None and not store.place_of(plan).exists()


def _merged(source: Store, runs: set[str], plans: list[tuple[Plan, bool]], target: Store) -> Moved:
    """Copies sound runs and plans, each with whether it is passing.

    The first plan becomes the last one run, if there is none.
    """
    new, refused = 0, []
    with target.writer() as writer:
        # None is of this folder before it is known that its own is sound.
        own = target.plan() if os.path.lexists(target.path / PLAN) else None
        last = [] if own is None else [(own, _is_passing(target, own))]
        for plan, passing in [*reversed(plans), *last]:
            writer.save_plan(plan, passing=passing)
        there = sorted(runs & target.ids())
        states = zip(there, target.states(there, contents=True), strict=True)
        wanted = sorted(runs - {run for run, state in states if state == "sound"})
        for part in _parts(wanted):
            with writer.workspace() as scratch:
                for run in part:
                    _put(source, scratch, run)
                sound = _sound(scratch, part)
                writer.land(scratch, sound)
            new += len(sound)
            refused += sorted({*part} - {*sound})
    asked = {run.id for plan, _ in plans for run in plan.runs}
    return Moved(new, refused, sorted(asked - target.ids() - {*refused}))


def _parts(runs: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(runs), _AT_A_TIME):
        yield runs[start : start + _AT_A_TIME]


def _put(source: Store, scratch: Path, run: str) -> None:
    """Copies the files of `run` into `scratch`, as far as they are there and can be read."""
    file, captures = source.file(run), source.captures / run
    # Of what is damaged, a part is copied, and refused.
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, disk.NotAFileError, RunError):
        _copy(file, scratch / file.name)
        for name in source.trace(run).listed_captures():
            (scratch / run).mkdir(exist_ok=True)
            _copy(captures / name, scratch / run / name)


def _copy(source: Path, target: Path) -> None:
    with disk.opened(source) as stream, target.open("wb") as copy:
        shutil.copyfileobj(stream, copy)


def _sound(folder: Path, runs: list[str]) -> list[str]:
    """Those of `runs` whose files, in `folder`, are what their digests and names say."""
    states = _core.check_runs(folder, folder, runs, True)
    of_files = _core.read_runs(folder, runs, False)
    return [
        run
        for run, state, of_file in zip(runs, states, of_files, strict=True)
        if state == "sound" and of_file is not None and is_of(run, Told(*of_file).asked)
    ]


def _part(plan: Plan, runs: set[str]) -> Plan | None:
    """The plan of those of `runs` that `plan` asks for; None if it asks for none."""
    points = [
        replace(point, runs=asked)
        for point in plan.points
        if (asked := [run for run in point.runs if run.id in runs])
    ]
    return replace(plan, points=points) if points else None


def _pack(folder: Path, work: Path, archive: Path) -> None:
    """Writes `folder` to `work`, as `archive` is named; the bytes depend on that and on what is in
    it."""
    [ending] = [ending for ending in ARCHIVES if archive.name.endswith(ending)]
    top = archive.name.removesuffix(ending)
    if top in ("", ".", ".."):
        top = "store"  # The others lead elsewhere.

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with (
        work.open("wb") as raw,
        _compressing(raw, archive) as out,
        tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in [folder, *sorted(folder.rglob("*"))]:
            name = Path(top) / path.relative_to(folder)
            tar.add(path, str(name), recursive=False, filter=plain)


@contextlib.contextmanager
def _compressing(raw: IO[bytes], archive: Path) -> Iterator[IO[bytes]]:
    if archive.name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out:
            yield out  # type: ignore[misc] # it is typed as no IO
    elif archive.name.endswith(".zst"):
        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False) as out:
            yield out
    else:
        yield raw


@contextlib.contextmanager
def _opened(source: Path, most: int | None) -> Iterator[Store]:
    """The store at `source`; of an archive, unpacked while the context lasts."""
    if not is_archive(source):
        if not source.exists():
            raise InputError(f"{source}: no such folder or archive")
        yield Store(source)
        return
    with whole.scratch(Path(tempfile.gettempdir()), "cclab-import") as place:
        if source.exists() and not source.is_file():
            raise InputError(f"{source} is no plain file, as an archive is")
        try:
            with source.open("rb") as raw, _decompressing(raw, source) as stream:
                expansion.unpack(expansion.Bounded(stream, raw, most), place)
        except FileNotFoundError:
            raise InputError(f"{source}: no such file") from None
        except expansion.ExpandedError as error:
            raise InputError(f"{source} {error}; --max-decompressed SIZE allows more") from None
        except (OSError, tarfile.TarError, EOFError) as error:
            raise InputError(
                f"{source} is damaged, or no archive of a results folder: {error}"
            ) from error
        except (ValueError, OverflowError, RecursionError) as error:
            # What the library says of a number that is none helps nobody.
            raise InputError(
                f"{source} is damaged, or no archive of a results folder: a header in it is damaged"
            ) from error
        folders = [entry for entry in place.iterdir() if entry.is_dir()]
        if len(folders) != 1:
            raise InputError(f"{source} is not an archive of a results folder")
        yield Store(folders[0])


@contextlib.contextmanager
def _decompressing(raw: IO[bytes], source: Path) -> Iterator[IO[bytes]]:
    if source.name.endswith(".gz"):
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream  # type: ignore[misc] # it is typed as no IO
        except zlib.error as error:
            raise OSError(str(error)) from error
    elif source.name.endswith(".zst"):
        try:
            with zstandard.ZstdDecompressor().stream_reader(raw) as stream:
                yield stream
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
    else:
        yield raw
