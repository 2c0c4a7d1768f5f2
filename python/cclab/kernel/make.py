"""How a kernel is made: unpack, patch, configure, compile, install."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cclab.errors import InputError, RunError
from cclab.kernel import cache, programs
from cclab.kernel.recipe import FRAGMENT, Recipe
from cclab.kernel.source import DEBIAN, PACKAGE, UPSTREAM, digest, disk_full, unpack
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
    recipe: Recipe | None = None,
) -> Kernel:
    """Makes the kernel, or finds it made of the same things, unless with `force`.

    `source` is a tarball of Linux 6.12 (that of Debian's package if None), `jobs` the number of
    compilers at a time (one per CPU if None), `recipe` what is ours in it (that of this version
    if None).

    Raises `InputError` if the tarball is none of Linux 6.12, a patch does not apply to it, or a
    program is missing; and `RunError` if the build fails or the disk is full.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}; it must be at least 1")
    recipe = recipe or Recipe.load()
    tarball = _prepared(source)
    home = cache.folder()
    compiler = programs.compiler()
    content = digest(tarball, home)
    key = recipe.key(content, compiler)
    made = None if force else cache.find(key)
    if made is not None:
        return made
    try:
        with Workshop(home, listener) as workshop:
            # Whom we waited for may have made it.
            made = None if force else cache.find(key)
            if made is not None:
                return made
            inputs = {"tarball": tarball.name, "tarball_sha256": content, "compiler": compiler}
            return _make(tarball, recipe, key, jobs, workshop, inputs)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(home) from error
        raise RunError(f"cannot write to {home}: {error.strerror or error}") from error


def _prepared(given: str | Path | None) -> Path:
    """The tarball. Raises `InputError` if it, or a program, is not there."""
    tarball = DEBIAN if given is None else Path(given)
    packages = programs.missing()
    if given is None and not tarball.is_file():
        packages.append(PACKAGE)
    if packages:
        other = (
            f"\nor take another tarball of Linux 6.12 ({UPSTREAM}) with --source TARBALL"
            if PACKAGE in packages
            else ""
        )
        raise InputError(
            f"building the kernel needs what is not here: {', '.join(packages)}; please run\n"
            f"  {programs.install(packages)}{other}"
        )
    if not tarball.exists():
        raise InputError(f"{tarball}: no such file")
    return tarball


def _make(
    tarball: Path,
    recipe: Recipe,
    key: str,
    jobs: int | None,
    workshop: Workshop,
    inputs: dict[str, str],
) -> Kernel:
    home = cache.folder()
    log = home / f"{key}.log"
    try:
        workshop.begin("unpacking")
        tree = unpack(tarball, workshop)
        workshop.begin("patching")
        _patch(tree, recipe, tarball, workshop)
        workshop.begin("configuring")
        out = _configure(tree, recipe, tarball, workshop)
        workshop.begin("compiling")
        _compile(tree, out, jobs, workshop)
        workshop.begin("installing")
        release = _release(out / "linux")
        entry = _install(out, recipe, key, release, workshop, inputs)
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
    made = cache.find(key)
    if made is None:
        raise RunError(f"the kernel in {entry} is not as it was written; is another program there?")
    return made


def _patch(tree: Path, recipe: Recipe, tarball: Path, workshop: Workshop) -> None:
    """Applies the patches. Raises `InputError` that names the one that does not apply."""
    for name, content in recipe.patches:
        file = workshop.path / name
        file.write_text(content, encoding="utf-8")
        command = ["patch", "-p1", "--batch", "--forward", "-d", str(tree), "-i", str(file)]
        try:
            workshop.run(command)
        except StepError as error:
            if disk_full(error):
                raise
            files = _rejecting(error.output)
            raise InputError(
                f"{name} does not apply to {files or 'the source'} of {tarball}; "
                f"it is made for Debian's {PACKAGE} (Linux 6.12.117)"
            ) from error


def _rejecting(output: list[str]) -> str:
    """The files that `patch` could not patch, by what it said."""
    files: list[str] = []
    current = ""
    for line in output:
        if line.startswith(("patching file ", "checking file ")):
            current = line.split(" ", 2)[2]
        elif line.startswith("|+++ "):
            current = line.split()[1].removeprefix("b/")
        elif re.search(r"FAILED|ignored|Skipping patch", line) and current not in files:
            files.append(current)
    return ", ".join(file for file in files if file)


def _configure(tree: Path, recipe: Recipe, tarball: Path, workshop: Workshop) -> Path:
    """Lays the fragment over the smallest configuration; gives the folder of objects.

    Raises `InputError` if the source does not take a line of the fragment.
    """
    out = workshop.path / "out"
    out.mkdir()
    fragment = workshop.path / FRAGMENT
    fragment.write_text(recipe.fragment, encoding="utf-8")
    merge = tree / "scripts/kconfig/merge_config.sh"
    make = ["make", "-C", str(tree), f"O={out}", "ARCH=um"]
    workshop.run([*make, "tinyconfig"])
    workshop.run(["sh", merge, "-m", "-O", out, out / ".config", fragment])
    workshop.run([*make, "olddefconfig"])
    unmet = recipe.unmet((out / ".config").read_text(encoding="utf-8"))
    if unmet:
        raise InputError(
            f"{tarball} cannot be configured as {FRAGMENT} says; not in force: {', '.join(unmet)}"
        )
    return out


def _compile(tree: Path, out: Path, jobs: int | None, workshop: Workshop) -> None:
    """Runs make, counting the files that it compiles."""
    done = 0

    def count(line: str) -> None:
        nonlocal done
        done += _COMPILED.match(line) is not None
        # Other releases and compilers differ a little from the one that was counted.
        total = max(_OBJECTS, done)
        workshop.tell(done / total, f"{done}/{total} files")

    number = jobs or len(os.sched_getaffinity(0))
    workshop.run(
        ["make", "-C", tree, f"O={out}", "ARCH=um", f"-j{number}", "linux"],
        each=count,
    )


def _release(linux: Path) -> str:
    """What the kernel says it is. Raises `RunError` if it does not start."""
    release = cache.ask(linux, "--version").strip()
    if not release:
        raise RunError(f"the kernel was built, but `{linux.name} --version` fails")
    return release


def _install(
    out: Path, recipe: Recipe, key: str, release: str, workshop: Workshop, inputs: dict[str, str]
) -> Path:
    """Moves the kernel to its place in the cache in one step."""
    new = workshop.path / "new"
    new.mkdir()
    linux = Path(shutil.copy2(out / "linux", new / "linux"))
    config = Path(shutil.copy2(out / ".config", new / "config"))
    described = cache.describe(
        linux, config, key=key, release=release, recipe=recipe, inputs=inputs
    )
    (new / "build.json").write_text(described, encoding="utf-8")
    for path in (*sorted(new.iterdir()), new):
        _sync(path)
    target = cache.folder() / key
    if target.exists():
        # A damaged one, or one that is made again by force. Guests that run it keep theirs.
        target.rename(Path(tempfile.mkdtemp(prefix="old-", dir=workshop.path)) / "kernel")
    new.rename(target)
    _sync(target.parent)
    return target


def _keep(log: Path, place: Path) -> None:
    """Keeps the log of a failed build."""
    with contextlib.suppress(OSError):
        log.replace(place)


def _no_room(home: Path) -> RunError:
    return RunError(
        f"the disk is full: a build needs about 600 MB in {home} while it goes on; "
        "make room, or set XDG_CACHE_HOME to a folder elsewhere"
    )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
