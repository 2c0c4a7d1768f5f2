"""The programs that a build needs, and Debian's packages of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = (
    ("bc", "bc"),
    ("bison", "bison"),
    ("flex", "flex"),
    ("gcc", "gcc"),
    ("gzip", "gzip"),
    ("ld", "binutils"),
    ("make", "make"),
    ("patch", "patch"),
    ("perl", "perl"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
)
"""Programs and the Debian package of each."""

LIBC = "libc6-dev"
"""The package of the C library's headers: the kernel is a program like any other."""

_PASSED_ON = ("PATH", "HOME", "TMPDIR")


def environment() -> dict[str, str]:
    """What the programs of a build see of ours.

    A `make` around us, and settings such as ARCH or KCFLAGS, must not change what is built. The
    fixed date and names make equal inputs give equal kernels.
    """
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "2024-11-17",  # the day of Linux 6.12
        "KBUILD_BUILD_USER": "cclab",
        "KBUILD_BUILD_HOST": "cclab",
    }


def missing() -> list[str]:
    """The Debian packages of what a build needs and does not find."""
    packages = [package for program, package in PROGRAMS if shutil.which(program) is None]
    if "gcc" not in packages and not _compiles():
        packages.append(LIBC)
    return packages


def install(packages: Sequence[str]) -> str:
    """The command that installs `packages`."""
    return f"apt install {' '.join(packages)}"


def compiler() -> str:
    """The compiler's name and version. Raises `InputError` if it does not say."""
    try:
        told = subprocess.run(
            ["gcc", "--version"], capture_output=True, text=True, env=environment(), check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(f"`gcc --version` fails: {error}; {install(['gcc'])}") from error
    return told.stdout.partition("\n")[0].strip()


def _compiles() -> bool:
    """Whether the C library's headers are there."""
    try:
        told = subprocess.run(
            ["gcc", "-E", "-x", "c", "-"],
            input=b"#include <stdio.h>\n#include <linux/types.h>\n",
            capture_output=True,
            env=environment(),
            check=False,
        )
    except OSError:
        return False
    return told.returncode == 0
