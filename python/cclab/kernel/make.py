"""How a kernel is made: unpack, patch, configure, compile, install."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import machine, whole
from cclab.errors import InputError, RunError
from cclab.kernel import cache, patching, programs, tree
from cclab.kernel.recipe import FRAGMENT, Recipe
from cclab.kernel.source import (
    SERIES,
    UPSTREAM,
    Source,
    debian,
    disk_full,
    examine,
    package,
    unpack,
)
from cclab.kernel.workshop import StepError, Workshop

if TYPE_CHECKING:
    from cclab.kernel.cache import Kernel
    from cclab.kernel.workshop import Listener

_OBJECTS = 826
"""About how many files are compiled: what `compiling` is measured against."""
_COMPILED = re.compile(r"\s+(CC|AS)\s")
_SHOWN = 40
"""Lines of a failed step that its message shows."""


def build(
    source: str | Path | None = None,
    jobs: int | None = None,
    listener: Listener | None = None,
    *,
    force: bool = False,
    name: str | None = None,
    patches: str | Path | None = None,
) -> Kernel:
    """Makes a kernel, or finds it made of the same things, unless with `force`.

    `source` is a tarball of Linux; if None, that of Debian's package for the series that `name`
    is. `name` is what studies call the kernel; if None, the series of the tarball, and of the
    default kernel without one. `patches` is a folder of the user's own, instead of those that
    come with cclab for the tarball's series or the nearest one. `jobs` is the number of compilers
    at a time (one per CPU if None).

    Raises `InputError` if this processor can run no such kernel, the tarball is none of Linux, a
    patch does not apply to it, the name and the source do not go together, or a program is missing;
    and `RunError` if the build fails or the disk is full.
    """
    if (why := cache.foreign()) is not None:
        raise InputError(why)
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}; it must be at least 1")
    if name is not None:
        cache.valid(name)
    elif patches is not None:
        raise InputError("a kernel with patches of your own needs a name of its own: --name NAME")
    own = None if patches is None else Recipe.own(Path(patches))
    home = cache.folder()
    tar = examine(_tarball(source, name, own), home)
    name = name or tar.series
    if SERIES.fullmatch(name) and name != tar.series:
        raise InputError(
            f"{tar.tarball} holds Linux {tar.series}: its kernel cannot be called {name}"
        )
    recipe = own or Recipe.nearest(tar.series)
    compiler = programs.compiler()
    key = recipe.key(tar.sha256, compiler)
    is_there = _is_whole(home / key)
    made = None if force or not is_there else cache.find(key, name)
    if made is not None:
        return made
    try:
        with Workshop(home, listener) as workshop:
            # Whom we waited for may have made it, and another name takes no build.
            if force or not _is_whole(home / key) or not cache.call(key, name):
                _make(tar, recipe, key, name, jobs, workshop, compiler)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(home) from error
        raise RunError(f"cannot write to {home}: {error.strerror or error}") from error
    made = cache.find(key, name)
    if made is None:
        raise RunError(
            f"the kernel in {home / key} is not as it was written; is another program there?"
        )
    return made


def _is_whole(entry: Path) -> bool:
    """Whether the kernel in `entry` has what modules are linked with, or cannot have it."""
    return tree.is_kept(entry) or tree.why_not(entry) is not None


def _tarball(given: str | Path | None, name: str | None, own: Recipe | None) -> Path:
    """The tarball. Raises `InputError` if it, or a program, is not there."""
    packages = programs.missing()
    other = ""
    if given is not None:
        tarball = Path(given)
    else:
        series = name or cache.DEFAULT
        if not SERIES.fullmatch(series):
            if own is None:
                raise InputError(
                    f"{name} is no series of Linux, such as {cache.DEFAULT}, that a package would "
                    "have: give the source with --source TARBALL"
                )
            series = cache.DEFAULT
        tarball = debian(series)
        if not tarball.is_file():
            packages.append(package(series))
            other = f"\nor take a tarball of Linux {series} ({UPSTREAM}) with --source TARBALL"
    if packages:
        raise InputError(
            f"building the kernel needs what is not here: {', '.join(packages)}; please run\n"
            f"  {programs.install(packages)}{other}"
        )
    if not tarball.exists():
        raise InputError(f"{tarball}: no such file")
    return tarball


def _make(
    source: Source,
    recipe: Recipe,
    key: str,
    name: str,
    jobs: int | None,
    workshop: Workshop,
    compiler: str,
) -> None:
    home = cache.folder()
    log = home / f"{key}.log"
    try:
        workshop.begin("unpacking")
        folder = unpack(source.tarball, workshop)
        workshop.begin("patching", patching.missing(recipe, source.series))
        patching.lay(folder, recipe, source, workshop)
        tree.listen(folder)
        workshop.begin("configuring")
        out = _configure(folder, recipe, source.tarball, workshop)
        workshop.begin("compiling")
        _compile(folder, out, jobs, workshop)
        workshop.begin("installing")
        made_of = {
            "tarball": source.tarball.name,
            "tarball_sha256": source.sha256,
            "compiler": compiler,
        }
        _install(out, recipe, key, name, workshop, made_of)
    except StepError as error:
        if disk_full(error):
            raise _no_room(home) from error
        _keep(workshop.log, log)
        shown = "\n".join(f"  {line}" for line in error.output[-_SHOWN:])
        killed = any("Killed" in line for line in error.output[-_SHOWN:])
        hint = "; memory ran out, it seems: try --jobs 1" if killed else ""
        raise RunError(f"building the kernel failed{hint}; all of it is in {log}:\n{shown}") from (
            error
        )
    log.unlink(missing_ok=True)


def _configure(source: Path, recipe: Recipe, tarball: Path, workshop: Workshop) -> Path:
    """Lays the fragment over the smallest configuration; gives the folder of objects.

    Raises `InputError` if the source does not take a line of the fragment.
    """
    out = source / tree.BUILD
    out.mkdir()
    fragment = workshop.path / FRAGMENT
    fragment.write_text(recipe.fragment, encoding="utf-8")
    merge = source / "scripts/kconfig/merge_config.sh"
    make = ["make", "-C", str(source), f"O={out}", "ARCH=um"]
    workshop.run([*make, "tinyconfig"])
    workshop.run(["sh", merge, "-m", "-O", out, out / ".config", fragment])
    workshop.run([*make, "olddefconfig"])
    unmet = recipe.unmet((out / ".config").read_text(encoding="utf-8"))
    if unmet:
        raise InputError(
            f"{tarball} cannot be configured as {FRAGMENT} says; not in force: {', '.join(unmet)}\n"
            f"what a source has not is named in the {FRAGMENT} of its patches, as CONFIG_NAME=n"
        )
    return out


def _compile(source: Path, out: Path, jobs: int | None, workshop: Workshop) -> None:
    """Runs make, counting the files that it compiles."""
    done = 0

    def count(line: str) -> None:
        nonlocal done
        done += _COMPILED.match(line) is not None
        # Other releases and compilers differ a little from the one that was counted.
        total = max(_OBJECTS, done)
        workshop.tell(done / total, f"{done}/{total} files")

    number = jobs or machine.cpus()
    workshop.run(
        ["make", "-C", source, f"O={out}", "ARCH=um", f"-j{number}", "linux"],
        each=count,
    )


def _release(linux: Path) -> str:
    """What the kernel says it is. Raises `RunError` if it does not start."""
    release = cache.ask(linux, "--version").strip()
    if not release:
        raise RunError(f"the kernel was built, but `{linux.name} --version` fails")
    return release


def _install(
    out: Path, recipe: Recipe, key: str, name: str, workshop: Workshop, made_of: dict[str, str]
) -> None:
    """Moves the kernel to its place in the cache in one step."""
    release = _release(out / "linux")
    new = workshop.path / "new"
    new.mkdir()
    linux = Path(shutil.copy2(out / "linux", new / "linux"))
    config = Path(shutil.copy2(out / ".config", new / "config"))
    made_of |= tree.keep(out.parent, new, workshop)
    described = cache.describe(
        linux, config, key=key, name=name, release=release, recipe=recipe, made_of=made_of
    )
    (new / "build.json").write_text(described, encoding="utf-8")
    for path in (*sorted(new.iterdir()), new):
        whole.sync(path)
    target = cache.folder() / key
    if target.exists():
        # A damaged one, or one that is made again by force. Guests that run it keep theirs.
        target.rename(Path(tempfile.mkdtemp(prefix="old-", dir=workshop.path)) / "kernel")
    new.rename(target)
    whole.sync(target.parent)


def _keep(log: Path, place: Path) -> None:
    """Keeps the log of a failed build."""
    with contextlib.suppress(OSError):
        log.replace(place)


def _no_room(home: Path) -> RunError:
    return RunError(
        f"the disk is full: a build needs about 600 MB in {home} while it goes on; "
        "make room, or set XDG_CACHE_HOME to a folder elsewhere"
    )
