"""What this machine has, and the most that is asked of it."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

MOST_JOBS = 4096
"""Runs at a time: each has a thread, and some have processes and memory of their own."""

_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_OF_V1 = "memory"
"""The controller of version 1 that bounds memory, and the folder where it usually is."""
_OF_PROCESS = Path("/proc/self/cgroup")


def cpus() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def memory() -> int:
    """Bytes of memory that this process may come to have: those of the machine, or of its control
    group or limits where that is less."""
    bounds = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_of_groups()]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        bounds.append(soft)
    return min(bounds)


def _of_groups() -> list[int]:
    """The bounds of the control groups and of those that they are in, of versions 1 and 2."""
    bounds: list[int | None] = []
    with contextlib.suppress(OSError, ValueError):
        for line in _OF_PROCESS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                root, file = _CGROUP, "memory.max"
            elif _MEMORY_OF_V1 in controllers.split(","):
                root, file = _CGROUP / _MEMORY_OF_V1, "memory.limit_in_bytes"
            else:
                continue
            group = root / path.lstrip("/")
            bounds += [_bound(place / file) for place in (group, *group.parents)]
    return [bound for bound in bounds if bound is not None]


def _bound(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return None
