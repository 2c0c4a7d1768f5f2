"""Captures in the older format, which most programs write: pcap of a pcapng.

The formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. It is for captures that cclab
wrote: little-endian, one section, nanoseconds, one link layer.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_INTERFACE, _PACKET = 1, 6
"""Types of blocks: the description of an interface, and an enhanced packet."""

_NANOSECONDS = 0xA1B23C4D
_LONGEST = 262_144


def write(pcapng: Path) -> Path:
    """Writes the packets of the capture `pcapng` into a file of pcap beside it, and gives that."""
    data = pcapng.read_bytes()
    link = next(
        struct.unpack_from("<H", body)[0] for kind, body in _blocks(data) if kind == _INTERFACE
    )
    out = bytearray(struct.pack("<IHHiIII", _NANOSECONDS, 2, 4, 0, 0, _LONGEST, link))
    for kind, body in _blocks(data):
        if kind == _PACKET:
            _, high, low, kept, length = struct.unpack_from("<IIIII", body)
            seconds, nanoseconds = divmod(high << 32 | low, 10**9)
            out += struct.pack("<IIII", seconds, nanoseconds, kept, length) + body[20 : 20 + kept]
    written = pcapng.with_suffix(".pcap")
    written.write_bytes(out)
    return written


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The type of each block and what is in it."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8 : at + length - 4]
        at += length
