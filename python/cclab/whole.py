"""Files and folders that are written whole or not at all.

What a command leaves for people is written under a new name that nobody can guess, opened so that
no link is followed, put on the disk, and only then renamed into its place. A link in that place is
replaced; what it leads to, and other names of a file there, stay as they are.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core
from cclab.errors import READ_ONLY, InputError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
"""Of renameat2(2), which Python has no function for."""

_NO_SUCH_RENAME = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a kernel, a C library or a file system says that has no such rename."""

_LOCK, _NEW, _OLD = "lock", "new", "old"
"""What is in a folder in which something is made: the file that its maker holds a lock on, what is
made, and what was in its place."""


def sync(path: Path) -> None:
    """Waits until `path`, a file or a folder's own list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file(path: Path, content: bytes) -> None:
    """Makes `path` a file of `content`.

    Raises `StoreError` if that cannot be: what was at `path` is still there then.
    """
    files(path.parent, {path.name: content})


def files(
    folder: Path,
    contents: Mapping[str, bytes],
    *,
    gone: Iterable[str] = (),
    keep: bool = False,
    root: Path | None = None,
) -> None:
    """Makes files of `contents`, by their paths in `folder`, and removes those that are `gone`.

    No link to a folder is followed below `folder`, nor on the way to it from `root`, if that is
    above it.

    When all of them are on the disk, what is `gone` is moved aside, and then each is renamed into
    its place, in their order. With `keep`, a file that is there already stays, and `InputError`
    says so. Raises `StoreError` if the files cannot be written. Its message says how many files of
    `folder` are new then; if none is, what is `gone` is there again.
    """
    named = root if root is not None and folder.is_relative_to(root) else folder
    staged: dict[Path, Path] = {}
    aside: list[Path] = []
    old = [folder / name for name in gone]
    done = 0
    with (
        contextlib.ExitStack() as held,
        contextlib.ExitStack() as undone,
        contextlib.ExitStack() as returning,
    ):
        try:
            for path in (folder / name for name in contents):
                _make(path.parent, named, undone)
                _refuse_folders(path)
            _sweep([*old, *(folder / name for name in contents)])
            for name, content in contents.items():
                staged[folder / name] = _staged(folder / name, content, undone, held)
            _core.sync(list(staged.values()))
            for path in old:
                _refuse_links(path.parent, named)
                _refuse_folders(path)
            for path in old:
                aside += _moved_aside(path, returning)
            for path, work in staged.items():
                if keep:
                    _name(work, path)
                    undone.callback(path.unlink, missing_ok=True)
                else:
                    work.replace(path)
                    if not done:
                        # What vouches for the files is moved aside, and must not come back: some
                        # of them are new now, and others old.
                        returning.pop_all()
                        for old_file in aside:
                            undone.callback(old_file.unlink, missing_ok=True)
                done += 1
            returning.pop_all()
            undone.pop_all()
            for path in aside:
                path.unlink(missing_ok=True)
            for parent in {path.parent for path in (*staged, *aside)}:
                sync(parent)
        except _TakenError as error:
            raise _stays(error) from None
        except OSError as error:
            changed = 0 if keep else done
            raise _refused(folder, error, changed, len(staged)) from error


def name(work: Path, path: Path) -> None:
    """Makes `work`, a file in a folder of `scratch`, the file at `path`.

    Raises `InputError` if there is something already: it stays.
    """
    sync(work)
    try:
        _name(work, path)
    except _TakenError as error:
        raise _stays(error) from None
    sync(path.parent)


def _stays(taken: _TakenError) -> InputError:
    return InputError(f"{taken} is there already, and stays")


@contextlib.contextmanager
def folder(target: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """An empty folder to fill, which only this user can read, and which then becomes `target`.

    What is at `target` is replaced as a whole. `check` is called with it, unless it is empty,
    before anything is written, and raises `InputError` if it must stay. If the context ends with an
    error, `target` is as it was. Raises `InputError` if `target` is no folder or is changed
    meanwhile, and `StoreError` if it cannot be written.
    """
    target = Path(os.path.realpath(target))
    with contextlib.ExitStack() as undone, contextlib.ExitStack() as held:
        try:
            _entries(target)  # That it is a folder, before anything goes there.
            _sweep([target, target / target.name])
            before = _entries(target)
            if before:
                check(target)
            _make(target.parent, target.parent, undone)
            place = _place_for(target, held)
            work = place / _NEW
            yield work
            _core.sync([work])
            if _entries(target, besides=place.name) != before:
                raise _changed(target)
            if place.parent == target:
                _put_into(target, work, before or {}, place)
            else:
                _put_in_place(target, work, place, filled=bool(before))
                sync(target.parent)
            undone.pop_all()
        except StoreError:
            raise
        except OSError as error:
            raise _refused(target, error) from error


@contextlib.contextmanager
def into(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which only this user can read: its files then go into `folder`.

    That is made if need be. If the context ends with an error, `folder` is as it was. Raises
    `StoreError` if it cannot be written.
    """
    with contextlib.ExitStack() as undone:
        try:
            _make(folder, folder, undone)
            with scratch(folder, _NEW) as place:
                yield place
                made = sorted(place.iterdir())
                for work in made:
                    _refuse_folders(folder / work.name)
                _core.sync([place])
                for work in made:
                    work.replace(folder / work.name)
            undone.pop_all()
            sync(folder)
        except StoreError:
            raise
        except OSError as error:
            raise _refused(folder, error) from error


@contextlib.contextmanager
def scratch(folder: Path, name: str) -> Iterator[Path]:
    """An empty folder in `folder`, which only this user can read, to make in it what is called
    `name`; gone afterwards.

    If this process is killed, the next one that makes `name` there removes it.
    """
    with contextlib.ExitStack() as held:
        _sweep([folder / name])
        yield _place(folder / name, held) / _NEW


def _place_for(target: Path, held: contextlib.ExitStack) -> Path:
    """As `_place`, or in `target` where that cannot be renamed."""
    within = target / target.name
    if target.is_dir() and (target.is_mount() or Path.cwd().is_relative_to(target)):
        return _place(within, held)
    try:
        return _place(target, held)
    except OSError as error:
        # No new folder can be made beside one that can be written.
        if error.errno not in READ_ONLY or not target.is_dir():
            raise
        return _place(within, held)


def _place(path: Path, held: contextlib.ExitStack) -> Path:
    """A new folder beside `path`, which only this user can read, with a folder `_NEW` and a lock.

    `held` lets the lock go and removes all of it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        place = _unused(path)
        place.mkdir(0o700)
        held.callback(shutil.rmtree, place, ignore_errors=True)
        # Somebody may take it for one that was left behind, before it has the lock.
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(place / _LOCK, flags, 0o600)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:
                break
    (place / _NEW).mkdir()
    return place


def _put_in_place(target: Path, work: Path, place: Path, *, filled: bool) -> None:
    """Renames the folder `work` to `target`; what was there, if it was `filled`, goes into `place`.

    Raises `InputError` if it was not, and is now.
    """
    try:
        work.rename(target)  # over an empty folder too
        return
    except OSError as error:
        taken = error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
        if taken and not filled:
            raise _changed(target) from None
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    try:
        _rename(work, target, _RENAME_EXCHANGE)
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
        old = place / _OLD
        target.rename(old)
        try:
            work.rename(target)
        except OSError:
            old.rename(target)
            raise


def _put_into(target: Path, work: Path, before: Iterable[str], place: Path) -> None:
    """Moves what is in `work` into `target`; what was there goes into `place`."""
    old = place / _OLD
    old.mkdir()
    moved: list[tuple[Path, Path]] = []
    ways = [(target / name, old / name) for name in before]
    ways += [(entry, target / entry.name) for entry in sorted(work.iterdir())]
    try:
        for source, to in ways:
            source.rename(to)
            moved.append((source, to))
    except OSError:
        for source, to in reversed(moved):
            to.rename(source)
        raise
    sync(target)


def _changed(target: Path) -> InputError:
    return InputError(f"{target} was changed meanwhile, and stays as it is")


def _entries(folder: Path, besides: str = "") -> dict[str, tuple[int, int, int]] | None:
    """What is in `folder`, and a mark of each that a change moves; None if it is not there."""
    try:
        with os.scandir(folder) as entries:
            stats = {e.name: e.stat(follow_symlinks=False) for e in entries if e.name != besides}
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise InputError(f"{folder} is no folder") from None
    return {name: (state.st_ino, state.st_mtime_ns, state.st_size) for name, state in stats.items()}


def _make(inner: Path, folder: Path, undone: contextlib.ExitStack) -> None:
    """Makes `inner`, which is `folder` or in it, with what it lacks above it.

    Raises as `_refuse_links` does.
    """
    _refuse_links(inner, folder)
    for path in reversed([path for path in (inner, *inner.parents) if not path.exists()]):
        path.mkdir(exist_ok=True)
        undone.callback(_remove, path)


def _remove(folder: Path) -> None:
    """Removes `folder`, if nobody has put anything into it."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def _refuse_links(inner: Path, folder: Path) -> None:
    """Raises `NotADirectoryError` for a link on the way from `folder` to `inner`."""
    above = (inner, *inner.parents)
    for path in above[: above.index(folder)]:
        if path.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "a link, and no folder", str(path))


def _refuse_folders(path: Path) -> None:
    """Raises `OSError` for what no file replaces: a folder, a device."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.EINVAL, "a device, and no file", str(path))


def _staged(
    path: Path, content: bytes, undone: contextlib.ExitStack, held: contextlib.ExitStack
) -> Path:
    """A new file of `content` beside `path`, with a lock that `held` lets go."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        work = _unused(path)
        handle = os.open(work, flags, 0o666)
        held.callback(os.close, handle)
        undone.callback(work.unlink, missing_ok=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Somebody may have taken it for one that was left behind, before it had the lock.
        if os.fstat(handle).st_nlink:
            break
    with os.fdopen(os.dup(handle), "wb") as stream:
        stream.write(content)
    return work


def _sweep(paths: Iterable[Path]) -> None:
    """Removes what a process that was killed left beside `paths`: it holds no lock any more."""
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(re.escape(path.name[:100]))
    for folder, of_files in names.items():
        of_ours = re.compile(rf"\.(?:{'|'.join(of_files)})\.[0-9a-f]{{16}}")
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if of_ours.fullmatch(entry.name):
                    _remove_unlocked(Path(entry))


def _remove_unlocked(path: Path) -> None:
    """Removes the file or the folder of `_place` at `path`, unless somebody holds its lock."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
            return
        _remove(path)  # It has no lock if whoever made it was killed before.
        with os.fdopen(os.open(path / _LOCK, os.O_RDWR | flags), "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # What was to be replaced is nowhere else, as long as what replaces it is here.
            if not all(map(_is_filled, (path / _OLD, path / _NEW))):
                shutil.rmtree(path, ignore_errors=True)


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _moved_aside(path: Path, returning: contextlib.ExitStack) -> list[Path]:
    """Renames the file at `path`, and gives its new name; none if there is no file."""
    place = _unused(path)
    try:
        path.rename(place)
    except FileNotFoundError:
        return []
    returning.callback(_put_back, place, path)
    return [place]


def _put_back(place: Path, path: Path) -> None:
    """Renames `place` to `path`. Raises `StoreError`, which says where it is, if that fails."""
    try:
        place.rename(path)
    except OSError as error:
        raise StoreError(
            f"cannot put {path} back: {error.strerror or error}; it is now {place}"
        ) from error


def _unused(path: Path) -> Path:
    """A name beside `path` that nobody can guess."""
    return path.with_name(f".{path.name[:100]}.{os.urandom(8).hex()}")


class _TakenError(Exception):
    """There is something in the place of a new file: the message is its path."""


def _name(work: Path, path: Path) -> None:
    """Renames `work` to `path`. Raises `_TakenError` if there is something."""
    try:
        try:
            _rename(work, path, _RENAME_NOREPLACE)
        except OSError as error:
            if error.errno not in _NO_SUCH_RENAME:
                raise
            path.hardlink_to(work)
            work.unlink()
    except FileExistsError:
        raise _TakenError(str(path)) from None


def _rename(source: Path, target: Path, how: int) -> None:
    """renameat2(2)."""
    if not hasattr(_LIBC, "renameat2"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(source), None, str(target))
    ends = os.fsencode(source), os.fsencode(target)
    if _LIBC.renameat2(_AT_FDCWD, ends[0], _AT_FDCWD, ends[1], how) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(source), None, str(target))


def _refused(place: Path, error: OSError, changed: int = 0, of: int = 0) -> StoreError:
    """What the system refused, of which file if it says so, and what of `place` was changed."""
    at = Path(os.fsdecode(error.filename)) if error.filename else place
    named = place if at.name.startswith(".") else at
    state = f"{changed} of {of} files there are new" if changed else "nothing there was changed"
    refused = StoreError(f"cannot write {named}: {error.strerror or error}; {state}")
    refused.errno = error.errno
    return refused
