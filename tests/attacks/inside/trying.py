"""Tries, one after the other, and what came of each."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    Tries = dict[str, Callable[[], object]]

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> None:
    """A function of the C library; raises what it refuses."""
    words = [os.fsencode(word) if isinstance(word, str) else word for word in arguments]
    if getattr(LIBC, name)(*words) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def system_call(number: int, *arguments: int) -> None:
    """A system call of x86-64 by its number; raises what it refuses."""
    call("syscall", ctypes.c_long(number), *map(ctypes.c_void_p, arguments))


def write(place: str, text: str = "x") -> None:
    """Writes a file; raises what is refused."""
    Path(place).write_text(text)


def in_a_child(do: Callable[[], object]) -> None:
    """As `do`, in a process of its own, which may be ended."""
    child = os.fork()
    if child == 0:
        try:
            do()
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise OSError(os.waitstatus_to_exitcode(status), f"it ended with status {status}")


def refuse(why: str) -> NoReturn:
    """Raises for a try that was let through and had no effect."""
    raise OSError(errno.EPERM, f"no effect: {why}")


def told(tries: Tries) -> dict[str, tuple[str, str]]:
    """What came of `tries`, by name: "done" and what was given, or the error's name and message.

    What is not there, or not a call of this kernel's, is told so: it proves nothing.
    """
    came: dict[str, tuple[str, str]] = {}
    for name, attempt in tries.items():
        try:
            came[name] = ("done", repr(attempt()))
        except OSError as error:
            came[name] = (errno.errorcode.get(error.errno or 0, "OSError"), str(error))
        except ValueError as error:
            came[name] = ("ValueError", str(error))
        except subprocess.CalledProcessError as error:
            came[name] = (f"exit {error.returncode}", str(error))
    return came
