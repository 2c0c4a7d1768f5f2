"""The kernel's source: a tarball of Linux, Debian's or any other."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cclab import whole
from cclab.errors import InputError
from cclab.kernel import programs
from cclab.kernel.workshop import StepError

if TYPE_CHECKING:
    from cclab.kernel.workshop import Workshop

_DEBIAN = Path("/usr/src")
"""Where Debian's packages put it."""
UPSTREAM = "https://cdn.kernel.org/pub/linux/kernel/"
"""Where everybody else's are."""

SERIES = re.compile(r"\d+\.\d+")
"""A series of Linux, such as 6.12."""

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


@dataclass(frozen=True)
class Source:
    """A tarball of a kernel."""

    tarball: Path
    sha256: str
    series: str
    """The first two numbers of its version, such as 6.12."""


def package(series: str) -> str:
    """Debian's package of a series."""
    return f"linux-source-{series}"


def debian(series: str) -> Path:
    """Where that package puts its tarball."""
    return _DEBIAN / f"{package(series)}.tar.xz"


def examine(tarball: Path, cache: Path) -> Source:
    """What a tarball is; that of one seen before, by path, size and time, is remembered.

    Raises `InputError` if it cannot be read, is no tarball or holds no kernel.
    """
    try:
        with tarball.open("rb") as stream:
            seen = os.fstat(stream.fileno())
            unpacker = _unpacker(tarball, stream)
            place = str(tarball.resolve())
            facts = [seen.st_size, seen.st_mtime_ns]
            known = _known(cache)
            match known.get(place):
                case [size, time, str() as sha256, str() as series] if [size, time] == facts:
                    return Source(tarball, sha256, series)
            stream.seek(0)
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
            series = _series(tarball, unpacker, stream)
    except OSError as error:
        raise InputError(f"cannot read the kernel source {tarball}: {_reason(error)}") from error
    _remember(cache, {**known, place: [*facts, sha256, series]})
    return Source(tarball, sha256, series)


def unpack(tarball: Path, workshop: Workshop) -> Path:
    """Unpacks what is needed of a tarball; gives the folder of the source.

    Raises `InputError` if the tarball is damaged, and `StepError` if the disk is full.
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
        f"{tarball} is not a tarball: --source takes a .tar.xz or .tar.gz of Linux, from "
        f"Debian's {package('VERSION')} or {UPSTREAM}"
    )


def _series(tarball: Path, unpacker: list[str], stream: IO[bytes]) -> str:
    """What series a tarball is of, by its Makefile. Raises `InputError` if it holds no kernel."""
    one = ["tar", "-x", "-O", "-f", "-", "--occurrence=1"]
    one += ["--wildcards", "--no-wildcards-match-slash", "*/Makefile"]
    with (
        _piped(unpacker, stream, subprocess.PIPE) as reader,
        _piped(one, reader.stdout, subprocess.DEVNULL) as program,
    ):
        assert reader.stdout is not None
        assert program.stdout is not None
        # The unpacker ends when nobody takes the rest.
        reader.stdout.close()
        makefile = program.stdout.read().decode(errors="replace")
        assert reader.stderr is not None
        damage = reader.stderr.read().decode(errors="replace")
    if not makefile:
        if damage:
            raise InputError(f"{tarball} cannot be unpacked: {damage.splitlines()[0]}")
        raise InputError(
            f"{tarball} holds no kernel: no folder with a Makefile in it "
            "(git archive puts one around a tree with --prefix=linux/)"
        )
    version = [
        next(iter(re.findall(rf"^{name} = (\d+)$", makefile, re.MULTILINE)), None)
        for name in ("VERSION", "PATCHLEVEL")
    ]
    if None in version:
        raise InputError(f"{tarball} holds no kernel: no version in its Makefile")
    return ".".join(str(part) for part in version)


def _piped(command: list[str], stdin: IO[bytes] | None, stderr: int) -> subprocess.Popen[bytes]:
    environment = programs.environment()
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=environment
    )


def _known(cache: Path) -> dict[str, object]:
    try:
        known = json.loads((cache / _TARBALLS).read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(cache: Path, known: dict[str, object]) -> None:
    """Keeps the hashes; if that fails, the next build reads the file again."""
    with contextlib.suppress(OSError):
        whole.file(cache / _TARBALLS, (json.dumps(known, indent=1) + "\n").encode())


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
