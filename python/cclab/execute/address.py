"""Where the scheduler of a cluster is."""

from __future__ import annotations

import re

from cclab.errors import InputError

_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "inproc")
_PLACE = re.compile(r"\S+[:/]\d+/?")
"""A host and a port, or what Dask calls a place in a process."""


def check_address(address: str) -> None:
    """Raises `InputError` if `address` cannot be that of a Dask scheduler."""
    scheme, separator, place = address.rpartition("://")
    if (separator and scheme not in _SCHEMES) or not _PLACE.fullmatch(place):
        raise InputError(
            f"{address!r} is no address of a Dask scheduler: write tcp://HOST:PORT; "
            "`cclab cluster local` starts one on this machine and prints its address"
        )
