"""Kernels that were made, in the user's cache, and those that came in the wheel `cclab-kernel`.

    CACHE/KEY/        a kernel: linux, config, build.json, tree.tar.gz; appears whole or not at all
    CACHE/KEY-HASH/   it with modules of users' files; see `modules`
    CACHE/KEY.log     what the last build of KEY said, if it failed
    CACHE/tmp/        what is being made; swept by the next build
    CACHE/lock        held by the build under way
    CACHE/tarballs.json   what tarballs are, so that a large file is not read each time

A kernel has the names under which it was asked for, one or several; of kernels with the same name
the wheel's bears it, or else the one that got it last.

CACHE is `$XDG_CACHE_HOME/cclab/kernel`, `~/.cache/cclab/kernel` without one.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab import shown, whole
from cclab.errors import InputError
from cclab.kernel import wheel
from cclab.kernel.recipe import Recipe
from cclab.kernel.source import SERIES

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCHEMA = "cclab-kernel-build/1"
OVERRIDE = "CCLAB_KERNEL"
"""Gives a kernel to use where none is named."""
_TEXTS = ("release", "config_sha256", "recipe_sha256", "patches", "tarball")


DEFAULT = "6.12"
"""The name of the kernel that is meant where none is named."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a kernel may be called."""


@dataclass(frozen=True)
class Origin:
    """What a kernel was made of."""

    tarball: str
    """The name of the tarball's file."""
    patches: str
    """The series of cclab's patches, such as 6.12, or the folder of the user's own."""
    current: bool
    """Whether this version of cclab would make it so; the user's own patches decide themselves."""
    of_wheel: bool = False
    """Whether it came in the wheel, without what modules are linked with."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted."""

    path: Path
    """The program."""
    key: str
    """Hash of what it was made of; of the program itself if it was not made here."""
    release: str
    """What `uname -r` says in it, such as 6.12.117."""
    config_sha256: str
    """SHA-256 of its configuration, as it tells it itself (`linux --showconfig`)."""
    name: str
    """What studies call it; its release if it was not made here."""
    origin: Origin | None = None
    """What it was made of; None if it was not made here."""


def installed(name: str | None = None) -> Kernel | None:
    """The kernel called `name`, made as this version of cclab makes it; None if there is none.

    Without a name it is the one that `CCLAB_KERNEL=/path/to/linux` in the environment gives, or
    else that of the name `DEFAULT`. Raises `InputError` if the former is not a kernel for virtual
    time, or `name` none that a kernel can have.
    """
    override = os.environ.get(OVERRIDE)
    if name is None and override:
        return _given(Path(override))
    name = valid(DEFAULT if name is None else name)
    return next((kernel for kernel in current() if kernel.name == name), None)


def current() -> list[Kernel]:
    """The kernels that studies can name: those made as this version makes them."""
    return [kernel for kernel in listed() if kernel.origin is not None and kernel.origin.current]


def listed() -> list[Kernel]:
    """All kernels by name: of each the wheel's, or else the newest, if possible a current one.

    Names are in the order in which people read their numbers.
    """
    return _listed([*_entries(wheel.folder(), of_wheel=True), *_entries(folder(), of_wheel=False)])


def built() -> list[Kernel]:
    """As `listed`, of the kernels in the user's cache alone."""
    return _listed(_entries(folder(), of_wheel=False))


def _entries(home: Path | None, *, of_wheel: bool) -> list[tuple[Path, bool]]:
    if home is None:
        return []
    try:
        return [(entry, of_wheel) for entry in home.iterdir()]
    except OSError:
        return []


def _listed(entries: Iterable[tuple[Path, bool]]) -> list[Kernel]:
    recipes: dict[str, Recipe | None] = {}
    first: dict[str, tuple[bool, bool, int, Kernel]] = {}
    for entry, of_wheel in entries:
        build = _build_of(entry)
        if build is None:
            continue
        patches = build["patches"]
        own = Path(patches).is_absolute()
        if patches not in recipes:
            recipes[patches] = None if own else Recipe.shipped(patches)
        recipe = recipes[patches]
        same = recipe is not None and recipe.sha256 == build["recipe_sha256"]
        origin = Origin(build["tarball"], patches, own or same, of_wheel)
        for name, since in build["names"].items():
            ranked = (origin.current, of_wheel, since, _kernel(entry, build, name, origin))
            if name not in first or first[name][:3] < ranked[:3]:
                first[name] = ranked
    return [first[name][3] for name in sorted(first, key=_by_number)]


def build_command(name: str | None = None) -> str:
    """The command that makes the kernel called `name`, or the default."""
    if name is None or name == DEFAULT:
        return "cclab kernel build"
    if is_series(name):
        return f"cclab kernel build --name {name}"
    return f"cclab kernel build --source TARBALL --name {name}"


def not_built(name: str | None = None) -> str:
    """What to say where the kernel called `name`, or the default, is needed and not there."""
    name = DEFAULT if name is None else name
    if (why := foreign()) is not None:
        return f'the kernel {name} is not there: {why}; backend = "netns" has this host\'s kernel'
    called = {kernel.name: kernel.name for kernel in current()}
    others = f" (there are: {', '.join(called)})" if called else ""
    # A release is that of one kernel, whatever others are called.
    called |= {kernel.release: kernel.name for kernel in current()}
    # Who writes a series means that one.
    close = [] if is_series(name) else difflib.get_close_matches(name, called, n=1, cutoff=0.5)
    near = [called[close_name] for close_name in close]
    meant = f"did you mean {near[0]}? If not, please run" if near else "please run"
    return f"the kernel {name} is not built{others}; {meant}: {build_command(name)}"


def foreign() -> str | None:
    """Why no kernel can run on this processor; None if one can."""
    here = platform.machine()
    if here == "x86_64":
        return None
    return f"the kernels are User Mode Linux, which is for x86-64, and this processor is {here}"


def is_series(name: str) -> bool:
    """Whether `name` is that of a series, such as 6.12, which no kernel of another has."""
    return SERIES.fullmatch(name) is not None


def valid(name: str) -> str:
    """The name itself. Raises `InputError` if no kernel can be called so."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{shown.quoted(name)} cannot be a kernel's name: letters, digits, `.`, `_` and `-` "
            "can, up to 64, the first a letter or a digit"
        )
    return name


def find(key: str, name: str) -> Kernel | None:
    """The kernel `key` by its name `name`, if the cache has it whole and so called."""
    return next((k for k in built() if k.key == key and k.name == name), None)


def call(key: str, name: str) -> bool:
    """Has the kernel `key` be what `name` means from now on; whether the cache has it whole.

    Raises `OSError` if that cannot be written down. The caller holds the cache's lock.
    """
    entry = folder() / key
    build = _build_of(entry)
    if build is None:
        return False
    document = {**build, "names": {**build["names"], name: time.time_ns()}}
    whole.file(entry / "build.json", as_json(document).encode())
    return True


def describe(
    linux: Path,
    config: Path,
    *,
    key: str,
    name: str,
    release: str,
    recipe: Recipe,
    made_of: dict[str, str],
) -> str:
    """What build.json says of the kernel in the file `linux`; `made_of` is for people to read."""
    before = _build_of(folder() / key)
    document = {
        "schema": _SCHEMA,
        "key": key,
        "names": {**(before["names"] if before else {}), name: time.time_ns()},
        "release": release,
        "recipe_sha256": recipe.sha256,
        "patches": recipe.origin,
        "config_sha256": hashlib.sha256(config.read_bytes()).hexdigest(),
        "linux_sha256": hashlib.sha256(linux.read_bytes()).hexdigest(),
        "linux_bytes": linux.stat().st_size,
        **made_of,
    }
    return as_json(document)


def as_json(build: dict[str, Any]) -> str:
    """What is said of a kernel as the text of its build.json."""
    return json.dumps(build, indent=1) + "\n"


def described(entry: Path) -> dict[str, Any]:
    """What build.json in the folder `entry` of a kernel says. Raises `LookupError` if it is not
    whole."""
    build = _build_of(entry)
    if build is None:
        raise LookupError(f"{entry} holds no whole kernel")
    return build


def folder() -> Path:
    """The cache, which need not exist. Raises `InputError` if there is no place for one."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    if not Path(base).is_absolute():
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            raise InputError("no home folder to keep kernels in; set XDG_CACHE_HOME") from None
    return Path(base) / "cclab" / "kernel"


def ask(linux: Path, option: str) -> str:
    """What `linux OPTION` prints; empty if it cannot be run or fails."""
    with contextlib.suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return subprocess.run(
            [linux, option],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout
    return ""


def _build_of(entry: Path) -> dict[str, Any] | None:
    """What build.json in `entry` says; None if it is not whole."""
    try:
        build = json.loads((entry / "build.json").read_bytes())
        linux = (entry / "linux").stat()
        # Those that were made before there were names are of the default's series.
        build = {"names": {DEFAULT: linux.st_mtime_ns}, "patches": DEFAULT, **build}
        whole = (
            build["schema"] == _SCHEMA
            and build["key"] == entry.name
            and build["linux_bytes"] == linux.st_size
            and (entry / "config").is_file()
            and all(isinstance(build[k], str) for k in _TEXTS)
            and all(isinstance(since, int) for since in build["names"].values())
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return build if whole else None


def _kernel(entry: Path, build: dict[str, Any], name: str, origin: Origin) -> Kernel:
    return Kernel(
        entry / "linux", entry.name, build["release"], build["config_sha256"], name, origin
    )


def _by_number(name: str) -> list[tuple[int, str]]:
    """Has 6.1 stand before 6.12, and 6.2 between them."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _given(path: Path) -> Kernel:
    """The kernel that the user names."""
    named = f"{OVERRIDE}={path}"
    if not path.is_file():
        raise InputError(f"{named}: no such file")
    if not os.access(path, os.X_OK):
        raise InputError(f"{named} cannot be executed (chmod +x)")
    release = ask(path, "--version").strip()
    config = ask(path, "--showconfig")
    if not re.fullmatch(r"\d+\.\d+\S*", release) or "CONFIG_UML=y" not in config.splitlines():
        raise InputError(f"{named} is not a User Mode Linux kernel (`linux`, ARCH=um)")
    if "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" not in config.splitlines():
        raise InputError(f"{named} has no virtual time (CONFIG_UML_TIME_TRAVEL_SUPPORT)")
    if "CONFIG_UML_WIRE=y" not in config.splitlines():
        raise InputError(
            f"{named} has no devices on the simulator's network (CONFIG_UML_WIRE): "
            "build it with cclab's patches, by `cclab kernel build --name NAME --source TARBALL`"
        )
    return Kernel(
        path.resolve(),
        hashlib.sha256(path.read_bytes()).hexdigest()[:16],
        release,
        hashlib.sha256(config.encode()).hexdigest(),
        release,
    )
