"""The kernels that the wheel `cclab-kernel` brings.

cclab_kernel/kernels/KEY/    a kernel as in the cache, without tree.tar.gz
cclab_kernel/sources/        its patches and configuration, and where the rest is to be had
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

NAME = "cclab-kernel"
"""What pip calls it."""

_PACKAGE = "cclab_kernel"
_KERNELS = "kernels"


def folder() -> Path | None:
    """The folder of its kernels; None if it is not installed."""
    try:
        spec = importlib.util.find_spec(_PACKAGE)
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) / _KERNELS if places else None
