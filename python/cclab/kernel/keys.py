"""Which kernels runs can be on here, and what determines what each does."""

from __future__ import annotations

import contextlib
import platform

from cclab.errors import InputError
from cclab.kernel.cache import current, installed


def keys() -> dict[str, dict[str | None, str]]:
    """By the backend and the name of each kernel, None being the one used by default: the key of a
    kernel that was built here, which one made differently does not have, or the release of this
    host's. They are part of the content hashes of runs."""
    built: dict[str | None, str] = {kernel.name: kernel.key for kernel in current()}
    # The backend says what is wrong with the default kernel; others do without.
    with contextlib.suppress(InputError):
        default = installed()
        if default is not None:
            built[None] = default.key
    return {"linux": built, "netns": {None: platform.release()}}
