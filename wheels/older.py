"""Captures in the older format, which most programs write: pcap of a pcapng.

The formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. It is for captures that cclab
wrote: little-endian, one section, one interface, nanoseconds.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
"""Types of blocks: a section's header, the description of an interface, an enhanced packet."""

_LITTLE_ENDIAN = 0x1A2B3C4D
_IN_NANOSECONDS = struct.pack("<HHB", 9, 1, 9)
"""The option of an interface whose clock counts them."""

_FORMAT = 0xA1B23C4D
"""What a file of pcap begins with whose times are in nanoseconds."""

_LONGEST = 262_144


def write(pcapng: Path) -> Path:
    """Writes the packets of the capture `pcapng` into a file of pcap beside it, and gives that.

    Raises `ValueError` if the capture is none as cclab writes them.
    """
    out = bytearray()
    for kind, body in _blocks(pcapng.read_bytes()):
        if kind == _SECTION and struct.unpack_from("<I", body)[0] != _LITTLE_ENDIAN:
            raise ValueError(f"{pcapng}: not little-endian")
        if kind == _INTERFACE:
            if out or _IN_NANOSECONDS not in body:
                raise ValueError(f"{pcapng}: several interfaces, or a clock of other units")
            link = struct.unpack_from("<H", body)[0]
            out += struct.pack("<IHHiIII", _FORMAT, 2, 4, 0, 0, _LONGEST, link)
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
        if length < 12:
            raise ValueError(f"a block of {length} bytes")
        yield kind, data[at + 8 : at + length - 4]
        at += length
