"""The first process of a guest, whose root may be written to, that tries to change the host: prints
what came of each try, and ends the guest.

    as attacks.inside.from_hostfs.main(VICTIM, FOLDER)

VICTIM is a file of the host that it may not change, and FOLDER the only folder that it may.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
from typing import TYPE_CHECKING

from attacks.inside.trying import call, told, write

if TYPE_CHECKING:
    from attacks.inside.trying import Tries

RB_POWER_OFF = 0x4321FEDC


def mounted(place: str, data: str) -> str:
    """A folder of the host, mounted once more."""
    call("mount", "none", place, "hostfs", ctypes.c_ulong(0), data)
    return place


def tries(victim: str, folder: str) -> Tries:
    """What is refused."""
    near = victim + ".new"
    above = os.path.dirname(victim)
    beside = os.path.relpath(above, os.path.dirname(folder))

    def through_a_mount(place: str, data: str, name: str = os.path.basename(victim)) -> None:
        write(os.path.join(mounted(place, data), name))

    def through_a_link() -> None:
        os.symlink(above, f"{folder}/link")
        through_a_mount("/mnt", f"{folder}/link")

    return {
        "write": lambda: write(victim),
        "append": lambda: open(victim, "a").close(),
        "truncate": lambda: os.truncate(victim, 0),
        "map": lambda: mmap.mmap(os.open(victim, os.O_RDWR), 1),
        "unlink": lambda: os.unlink(victim),
        "rename": lambda: os.rename(victim, near),
        "take in": lambda: os.rename(victim, f"{folder}/taken"),
        "put out": lambda: os.rename(f"{folder}/own", near),
        "chmod": lambda: os.chmod(victim, 0o777),
        "chown": lambda: os.chown(victim, 1, 1),
        "utime": lambda: os.utime(victim, (1, 1)),
        "create": lambda: write(near),
        "mkdir": lambda: os.mkdir(near),
        "rmdir": lambda: os.rmdir(above),
        "symlink": lambda: os.symlink("/etc/passwd", near),
        "symlink within": lambda: os.symlink("/etc/passwd", f"{folder}/symlink"),
        "link": lambda: os.link(victim, near),
        "link within": lambda: os.link(victim, f"{folder}/link"),
        "device within": lambda: os.mknod(f"{folder}/device", 0o20600, os.makedev(1, 1)),
        "beside, of the same first letters": lambda: write(f"{folder}.new"),
        "a mount": lambda: through_a_mount("/mnt", above),
        "a mount of the folder and up": lambda: through_a_mount("/mnt", f"{folder}/../{beside}"),
        "a mount of a link": through_a_link,
    }


def uses(folder: str) -> Tries:
    """What works."""
    return {
        "write": lambda: write(f"{folder}/record"),
        "rename": lambda: os.rename(f"{folder}/record", f"{folder}/renamed"),
        "mkdir": lambda: os.mkdir(f"{folder}/mine"),
        "through a mount": lambda: write(mounted("/opt", folder) + "/through"),
        "unlink": lambda: os.unlink(f"{folder}/own"),
    }


def main(victim: str, folder: str) -> None:
    """Tries it all and powers off."""
    try:
        write(f"{folder}/own")
        outcomes = {"tries": told(tries(victim, folder)), "uses": told(uses(folder))}
        write(f"{folder}/outcomes", json.dumps(outcomes))
    finally:
        sys.stdout.flush()
        os.sync()
        call("reboot", RB_POWER_OFF)
