"""Captures that are damaged at random, and analyzed: what comes is a result or one message."""

from __future__ import annotations

import contextlib
import gzip
import struct
from typing import TYPE_CHECKING

import zstandard

import cclab
from agreement.comparison import made
from attacks.kind import Kind
from attacks.saying import said
from cclab.cli.exits import DONE, WRONG_INPUT
from lossy import study_of_two

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from attacks.kind import Strike

POINTS = ("bottleneck", "short.sender")
MOST = 200_000
"""Bytes of a capture that are taken: a longer one has nothing else in it."""

EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x10000, 28, 11)


def _flipped(content: bytearray, others: list[bytes], chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 3, 10, 100])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _in_the_head(content: bytearray, others: list[bytes], chance: random.Random) -> None:
    for _ in range(chance.choice([1, 2, 5])):
        content[chance.randrange(min(200, len(content)))] = chance.choice([0, 1, 127, 128, 255])


def _cut(content: bytearray, others: list[bytes], chance: random.Random) -> None:
    del content[chance.randrange(1, len(content) + 1) :]


def _without_a_piece(content: bytearray, others: list[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(content))
    del content[at : at + chance.choice([1, 2, 4, 16, 100, 5000])]


def _with_a_length_of_its_own(
    content: bytearray, others: list[bytes], chance: random.Random
) -> None:
    """Most lengths of blocks, packets and options begin at a multiple of two."""
    for _ in range(chance.choice([1, 1, 4])):
        at = chance.randrange(0, max(2, len(content) - 4), 2)
        form = chance.choice(["<I", ">I", "<H", ">H"])
        size = struct.calcsize(form)
        if at + size <= len(content):
            number = chance.choice(EXTREMES) & ((1 << 8 * size) - 1)
            struct.pack_into(form, content, at, number)


def _spliced(content: bytearray, others: list[bytes], chance: random.Random) -> None:
    """A piece of another capture, of another link type or form perhaps, stands in it."""
    other = chance.choice(others)
    begins = chance.randrange(len(other))
    piece = other[begins : begins + chance.choice([24, 100, 2000, len(other)])]
    at = chance.randrange(len(content) + 1)
    content[at : at + (len(piece) if chance.random() < 0.5 else 0)] = piece


def _twice(content: bytearray, others: list[bytes], chance: random.Random) -> None:
    begins, at = chance.randrange(len(content)), chance.randrange(len(content) + 1)
    content[at:at] = content[begins : begins + chance.choice([16, 500, 20_000])]


CHANGES: tuple[Callable[[bytearray, list[bytes], random.Random], None], ...] = (
    _flipped,
    _in_the_head,
    _cut,
    _without_a_piece,
    _with_a_length_of_its_own,
    _spliced,
    _twice,
)

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda content: gzip.compress(content, 1),
    "zst": zstandard.compress,
}

OPTIONS = ((), (), ("--json",), ("--csv",), ("--csv", "--udp"), ("--max-connections", "1"))


def captures_in(place: Path) -> list[bytes]:
    """Those of a run, as pcapng, and conversations in every link type and form, as pcap."""
    (place / "study.toml").write_text(study_of_two(POINTS))
    trace = cclab.run(place / "study.toml", out=place / "store").runs[0].trace
    (place / "made").mkdir()
    files = [trace.capture(point) for point in POINTS] + sorted(made(place / "made").values())
    return [file.read_bytes()[:MOST] for file in files]


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    whole = captures_in(place)

    def strike(number: int, chance: random.Random) -> str | None:
        # As many have to do with the run's as with all that are written by hand.
        content = bytearray(whole[number % 2] if chance.random() < 0.5 else chance.choice(whole))
        for change in chance.choices(CHANGES, k=chance.choice([1, 1, 2, 4])):
            change(content, whole, chance)
            if not content:
                break
        given = bytes(content)
        if chance.random() < 0.15:
            ending = chance.choice([*PACKED])
            packed = bytearray(PACKED[ending](given))
            if chance.random() < 0.7:
                chance.choice(CHANGES[:5])(packed, whole, chance)
            given = bytes(packed)
        file = place / "capture"
        file.write_bytes(given)
        words = ["analyze", str(file), *chance.choice(OPTIONS)]
        out = place / "out"
        if series := chance.random() < 0.05:
            words = ["analyze", str(file), "--out", str(out), "--series", "csv", "--xplot"]
        done = said(words)
        faults = done.faults([DONE, WRONG_INPUT])
        if done.code != DONE and series and out.exists():
            faults.append(f"left half of it: {sorted(out.iterdir())}")
        return "; ".join(faults) or None

    yield strike


CAPTURES = Kind("a capture is damaged, and analyzed", _bench, 60)
