"""Kernels that were made, in the user's cache.

    CACHE/KEY/        a kernel: linux, config, build.json; appears whole or not at all
    CACHE/KEY.log     what the last build of KEY said, if it failed
    CACHE/tmp/        what is being made; swept by the next build
    CACHE/lock        held by the build under way
    CACHE/tarballs.json   hashes of tarballs, so that a large file is not read each time

CACHE is `$XDG_CACHE_HOME/cclab/kernel`, `~/.cache/cclab/kernel` without one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cclab.errors import InputError
from cclab.kernel.recipe import Recipe

_SCHEMA = "cclab-kernel-build/1"
_OVERRIDE = "CCLAB_KERNEL"
"""Names a kernel to use instead of those in the cache."""


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


def installed(recipe: Recipe | None = None) -> Kernel | None:
    """The newest whole kernel made by `recipe`, the present one if None; None if there is none.

    `CCLAB_KERNEL=/path/to/linux` in the environment comes first. Raises `InputError` if that is
    not a kernel for virtual time.
    """
    override = os.environ.get(_OVERRIDE)
    if override:
        return _given(Path(override))
    wanted = (recipe or Recipe.load()).sha256
    found = []
    with contextlib.suppress(OSError):
        for entry in folder().iterdir():
            build = _build_of(entry)
            if build is not None and build["recipe_sha256"] == wanted:
                found.append((build["made_ns"], entry.name, _kernel(entry, build)))
    return max(found)[2] if found else None


def find(key: str) -> Kernel | None:
    """The kernel `key`, if the cache has it whole."""
    entry = folder() / key
    build = _build_of(entry)
    return None if build is None else _kernel(entry, build)


def describe(
    linux: Path, config: Path, *, key: str, release: str, recipe: Recipe, inputs: dict[str, str]
) -> str:
    """What build.json says of the kernel in the file `linux`; `inputs` is for people to read."""
    document = {
        "schema": _SCHEMA,
        "key": key,
        "release": release,
        "recipe_sha256": recipe.sha256,
        "config_sha256": hashlib.sha256(config.read_bytes()).hexdigest(),
        "linux_sha256": hashlib.sha256(linux.read_bytes()).hexdigest(),
        "linux_bytes": linux.stat().st_size,
        **inputs,
    }
    return json.dumps(document, indent=1) + "\n"


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
    """What build.json in `entry` says, with the time it was made; None if it is not whole."""
    try:
        build = json.loads((entry / "build.json").read_bytes())
        linux = (entry / "linux").stat()
        whole = (
            build["schema"] == _SCHEMA
            and build["key"] == entry.name
            and build["linux_bytes"] == linux.st_size
            and (entry / "config").is_file()
            and all(isinstance(build[k], str) for k in ("release", "config_sha256"))
        )
        return {**build, "made_ns": linux.st_mtime_ns} if whole else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _kernel(entry: Path, build: dict[str, Any]) -> Kernel:
    return Kernel(entry / "linux", entry.name, build["release"], build["config_sha256"])


def _given(path: Path) -> Kernel:
    """The kernel that the user names."""
    named = f"{_OVERRIDE}={path}"
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
    return Kernel(
        path.resolve(),
        hashlib.sha256(path.read_bytes()).hexdigest()[:16],
        release,
        hashlib.sha256(config.encode()).hexdigest(),
    )
