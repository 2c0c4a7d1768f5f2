"""The kernel that the linux backend boots: made here once, from its source and our patches.

What goes into it is the recipe (`fragment.config` and `patches/` in this folder), a tarball of
Linux 6.12 and the compiler; docs/kernel.md explains each part. A kernel that was made stays in
the user's cache under a hash of all three.
"""

from cclab.kernel.cache import Kernel, installed
from cclab.kernel.make import build
from cclab.kernel.source import DEBIAN, PACKAGE
from cclab.kernel.workshop import Listener, State

__all__ = ["BUILD", "DEBIAN", "PACKAGE", "Kernel", "Listener", "State", "build", "installed"]

BUILD = "cclab kernel build"
"""The command that makes it."""
