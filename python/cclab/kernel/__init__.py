"""The kernels that the linux backend boots: made here once, from their source and our patches.

What goes into one is the recipe (`fragment.config` and a folder of `patches/` in this folder), a
tarball of Linux and the compiler; docs/kernel.md explains each part. A kernel that was made stays
in the user's cache under a hash of all three, and studies call it by its name.
"""

from cclab.kernel.cache import (
    DEFAULT,
    Kernel,
    build_command,
    current,
    foreign,
    installed,
    is_series,
    listed,
    not_built,
)
from cclab.kernel.keys import keys
from cclab.kernel.make import build
from cclab.kernel.modules import Module, linked
from cclab.kernel.source import debian, package
from cclab.kernel.workshop import Listener, State

__all__ = [
    "DEFAULT",
    "Kernel",
    "Listener",
    "Module",
    "State",
    "build",
    "build_command",
    "current",
    "debian",
    "foreign",
    "installed",
    "is_series",
    "keys",
    "linked",
    "listed",
    "not_built",
    "package",
]
