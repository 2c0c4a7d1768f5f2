"""The kernel's source: a tarball of Linux 6.12, Debian's or any other."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cclab.errors import InputError
from cclab.kernel.workshop import StepError

if TYPE_CHECKING:
    from cclab.kernel.workshop import Workshop

DEBIAN = Path("/usr/src/linux-source-6.12.tar.xz")
"""Where Debian's package puts it."""
PACKAGE = "linux-source-6.12"
"""Debian's package."""
UPSTREAM = "https://cdn.kernel.org/pub/linux/kernel/v6.x/"
"""Where everybody else's are."""

_SERIES = ("6", "12")

_UNNEEDED = (
    "*/Documentation/*/*",
    "*/arch/[a-tv-w]*/*.[chS]",
    "*/arch/*/boot/dts/*",
    "*/tools/perf/*",
    "*/tools/testing/*",
    "*/sound/*.[ch]",
    *(
        f"*/drivers/{kind}/*.[ch]"
        for kind in (
            *("accel", "clk", "gpu", "iio", "infiniband", "media", "net/ethernet"),
            *("net/wireless", "pinctrl", "scsi", "staging", "usb"),
        )
    ),
)
"""Two thirds of the source: other machines and hardware that a kernel in a process has not.
The Kconfig files stay, for the configuration reads all of them."""

_TARBALLS = "tarballs.json"


def digest(tarball: Path, cache: Path) -> str:
    """The SHA-256 of a tarball; that of one seen before, by path, size and time, is remembered.

    Raises `InputError` if it cannot be read or is no tarball.
    """
    try:
        with tarball.open("rb") as stream:
            seen = os.fstat(stream.fileno())
            _unpacker(tarball, stream)
            place = str(tarball.resolve())
            facts = [seen.st_size, seen.st_mtime_ns]
            known = _known(cache)
            match known.get(place):
                case [size, time, str() as found] if [size, time] == facts:
                    return found
            stream.seek(0)
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read the kernel source {tarball}: {_reason(error)}") from error
    _remember(cache, {**known, place: [*facts, found]})
    return found


def unpack(tarball: Path, workshop: Workshop) -> Path:
    """Unpacks what is needed of a tarball; gives the folder of the source.

    Raises `InputError` if the tarball is damaged or holds something else than Linux 6.12, and
    `StepError` if the disk is full.
    """
    tree = workshop.path / "source"
    tree.mkdir()
    tar = ["tar", "-x", "-f", "-", "-C", str(tree), "--strip-components=1", "--no-same-owner"]
    tar += [f"--exclude={pattern}" for pattern in _UNNEEDED]
    size = tarball.stat().st_size
    with tarball.open("rb", buffering=0) as stream:

        def tell() -> None:
            # The unpacker shares our place in the file.
            workshop.tell(min(1.0, os.lseek(stream.fileno(), 0, os.SEEK_CUR) / size))

        unpacker = _unpacker(tarball, stream)
        stream.seek(0)
        try:
            workshop.pipe(unpacker, tar, stream, tell)
        except StepError as error:
            if disk_full(error):
                raise
            why = error.output[0] if error.output else "it ends too early"
            raise InputError(f"{tarball} cannot be unpacked: {why}") from error
    _check(tarball, tree)
    return tree


def disk_full(error: StepError) -> bool:
    """Whether a step failed because there was no room."""
    return any(
        sign in line
        for line in error.output
        for sign in ("No space left on device", "Disk quota exceeded")
    )


def _unpacker(tarball: Path, stream: IO[bytes]) -> list[str]:
    """The program that makes a plain tar of a tarball. Raises `InputError` if it is none."""
    head = stream.read(512)
    if head.startswith(b"\xfd7zXZ\0"):
        return ["xz", "-dcT0"]
    if head.startswith(b"\x1f\x8b"):
        return ["gzip", "-dc"]
    if head[257:262] == b"ustar":
        return ["cat"]
    raise InputError(
        f"{tarball} is not a tarball: --source takes a .tar.xz or .tar.gz of Linux "
        f"{'.'.join(_SERIES)}, from Debian's {PACKAGE} or {UPSTREAM}"
    )


def _check(tarball: Path, tree: Path) -> None:
    """That the tree is a kernel of the right series. Raises `InputError`."""
    wanted = f"one of Linux {'.'.join(_SERIES)} is needed"
    try:
        makefile = (tree / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise InputError(f"{tarball} holds no kernel: no Makefile in it; {wanted}") from None
    found = [
        next(iter(re.findall(rf"^{name} = (\d+)$", makefile, re.MULTILINE)), None)
        for name in ("VERSION", "PATCHLEVEL")
    ]
    if None in found:
        raise InputError(f"{tarball} holds no kernel: no version in its Makefile; {wanted}")
    if tuple(found) != _SERIES:
        version = ".".join(str(part) for part in found)
        raise InputError(f"{tarball} holds Linux {version}; {wanted}")


def _known(cache: Path) -> dict[str, object]:
    try:
        known = json.loads((cache / _TARBALLS).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(cache: Path, known: dict[str, object]) -> None:
    """Keeps the hashes; if that fails, the next build reads the file again."""
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        work = cache / f"{_TARBALLS}.{os.getpid()}"
        try:
            work.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            work.replace(cache / _TARBALLS)
        finally:
            work.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
