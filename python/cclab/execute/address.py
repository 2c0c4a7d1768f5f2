"""Where the scheduler of a cluster is, and what it is reached with."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cclab import shown
from cclab.errors import InputError

_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "inproc")
_CLOSED = ("tls", "wss", "inproc")
"""Those by which nobody else reaches it: Dask's configuration then has the credentials."""

_PLACE = re.compile(r"\S+[:/]\d+/?")
"""Behind a scheme: a host and a port, or what Dask calls a place in a process."""

_HOST_AND_PORT = re.compile(r"[^\s/]+:\d+")
"""An address without a scheme, which no path in a folder is."""

_SCHEMA = "cclab-cluster/1"
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler."""

    address: str
    certificate: str | None = None
    """With which its processes and whoever asks them know each other, as PEM; None: as Dask is
    configured."""
    key: str | None = field(default=None, repr=False)
    """That of the certificate."""

    @classmethod
    def of(cls, named: str) -> Scheduler:
        """That of which a file of `cclab cluster local` tells, or that which is at an address.

        What is a file is no address. Raises `InputError` if `named` is neither.
        """
        scheme, separator, place = named.rpartition("://")
        if named and not separator and os.path.lexists(named):
            return _read(Path(named))
        if _PLACE.fullmatch(place) if scheme in _SCHEMES else _HOST_AND_PORT.fullmatch(named):
            return cls(named)
        raise InputError(
            f"{shown.quoted(named)} is no file of a cluster, and no address of a Dask scheduler: "
            "`cclab cluster local` starts one on this machine and prints the path of its file; the "
            "address of another is tls://HOST:PORT or tcp://HOST:PORT"
        )

    @property
    def danger(self) -> str | None:
        """What whoever uses it is told, if anyone who reaches it can have it run programs."""
        scheme, _, _ = self.address.rpartition("://")
        if self.certificate is not None or scheme in _CLOSED:
            return None
        return (
            f"{self.address} has no TLS: whoever reaches it can run programs as the owner of its "
            "workers, and can send this process what it then runs; docs/cluster.md"
        )

    def write(self, file: Path) -> None:
        """Writes `file`, which only its owner can read. Raises `InputError` if it is there, or
        cannot be written."""
        text = json.dumps({"schema": _SCHEMA, **asdict(self)}, indent=2) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(file, flags, 0o600)
        except FileExistsError:
            raise InputError(
                f"{file} is there already: if no cluster of it is under way, remove it"
            ) from None
        except OSError as error:
            raise InputError(f"cannot write {file}: {error.strerror}") from error
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                os.fchmod(handle, 0o600)  # whatever the umask
                out.write(text)
        except OSError as error:
            file.unlink(missing_ok=True)
            raise InputError(f"cannot write {file}: {error.strerror}") from error


def _read(file: Path) -> Scheduler:
    """The scheduler that `file` tells of.

    Raises `InputError` if it is another user's, or others can read it: this process does what the
    scheduler says, and the scheduler does what those say who have the credentials.
    """
    try:
        # Not to wait for who writes into a pipe.
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as opened:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                raise InputError(f"{file} is no file of a cluster")
            if state.st_uid != os.geteuid():
                raise InputError(
                    f"{file} belongs to another user, whose cluster could run programs as you: "
                    "`cclab cluster local` starts one of your own"
                )
            if state.st_mode & 0o077:
                raise InputError(
                    f"{file}: others on this machine may read it, and could run programs on the "
                    f"cluster: end the cluster and start another, or chmod 600 {file}"
                )
            raw = opened.read(_LARGEST)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    try:
        document: dict[str, Any] = json.loads(raw)
        if document["schema"] != _SCHEMA:
            raise ValueError
        words = [document[key] for key in ("address", "certificate", "key")]
        if not all(isinstance(word, str) for word in words):
            raise ValueError
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{file} is no file that `cclab cluster local` wrote") from None
    return Scheduler(*words)
