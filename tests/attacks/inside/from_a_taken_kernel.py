"""A guest's process on the host that tries to get at the host: prints what came of each try.

    python3 -m attacks.inside.from_a_taken_kernel VICTIM FOLDER MEMORY LEFT_OPEN

It stands for a guest's kernel that was taken over. VICTIM is a file that it may not change, FOLDER
the run's folder, with `link` to that of the victim, and MEMORY that for the guest's memory.
LEFT_OPEN is the number by which whoever started it had the victim open.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING

from attacks.inside.trying import call, in_a_child, system_call, told, write

if TYPE_CHECKING:
    from attacks.inside.trying import Tries

VICTIM, FOLDER, MEMORY = sys.argv[1:4]
LEFT_OPEN = int(sys.argv[4])
NEAR = VICTIM + ".new"
PARENT = os.getppid()
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
PTRACE_ATTACH = 16


def within(name: str) -> str:
    return os.path.join(FOLDER, name)


def cloned() -> None:
    """clone(2) with namespaces of its own."""
    system_call(56, CLONE_NEWUSER | CLONE_NEWNS | signal.SIGCHLD, 0, 0, 0, 0)


def cloned_by_structure() -> None:
    """As `cloned`, clone3(2)."""
    asked = (ctypes.c_uint64 * 8)(CLONE_NEWUSER | CLONE_NEWNS, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    system_call(435, ctypes.addressof(asked), ctypes.sizeof(asked))


def out_of_the_folder() -> None:
    write(within("mine"))
    os.rename(within("mine"), NEAR)


def of_the_parent(size: int = 16) -> None:
    """Reads the parent's memory where a program's first mapping is."""
    start = int(open(f"/proc/{PARENT}/maps").read().split("-")[0], 16)
    space = ctypes.create_string_buffer(size)

    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    here = Part(ctypes.addressof(space), size)
    there = Part(start, size)
    call("process_vm_readv", PARENT, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


TRIES: Tries = {
    "write": lambda: write(VICTIM),
    "append": lambda: open(VICTIM, "a").close(),
    "truncate": lambda: os.truncate(VICTIM, 0),
    "unlink": lambda: os.unlink(VICTIM),
    "rename": lambda: os.rename(VICTIM, NEAR),
    "take in": lambda: os.rename(VICTIM, within("taken")),
    "create": lambda: write(NEAR),
    "mkdir": lambda: os.mkdir(NEAR),
    "map": lambda: mmap.mmap(os.open(VICTIM, os.O_RDWR), 1),
    "link": lambda: os.link(VICTIM, within("linked")),
    "symlink": lambda: os.symlink(VICTIM, within("symlink")),
    "through a link": lambda: write(within("link/x")),
    "through a link, the victim": lambda: write(within(f"link/{os.path.basename(VICTIM)}")),
    "out of the folder": out_of_the_folder,
    "fifo": lambda: os.mkfifo(within("fifo")),
    "device": lambda: os.mknod(within("device"), 0o20600, os.makedev(1, 1)),
    "memory beside its own": lambda: write("/dev/shm/cclab-attack"),
    "temporary files": lambda: write("/tmp/cclab-attack"),
    "a file left open": lambda: os.write(LEFT_OPEN, b"x"),
    "open by handle": lambda: system_call(304, -100, 0, 0),
    "internet": lambda: socket.socket(socket.AF_INET),
    "internet 6": lambda: socket.socket(socket.AF_INET6),
    "local": lambda: socket.socket(socket.AF_UNIX),
    "packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM),
    "io_uring": lambda: system_call(425, 8, 0),
    "bpf": lambda: system_call(321, 5, 0, 0),
    "perf": lambda: system_call(298, 0, 1, 0, 0, 0),
    "userfaultfd": lambda: system_call(323, 1),
    "mount": lambda: call("mount", "none", FOLDER, "tmpfs", ctypes.c_ulong(0), None),
    "unmount": lambda: call("umount2", "/proc", 2),
    "open a mount": lambda: system_call(428, -100, 0, 1),
    "make a mount": lambda: system_call(430, 0, 0),
    "pivot_root": lambda: system_call(155, 0, 0),
    "chroot": lambda: os.chroot(FOLDER),
    "unshare users": lambda: in_a_child(lambda: call("unshare", CLONE_NEWUSER)),
    "unshare mounts": lambda: in_a_child(lambda: call("unshare", CLONE_NEWNS)),
    "clone": lambda: in_a_child(cloned),
    "clone, the other call": lambda: in_a_child(cloned_by_structure),
    "of the other form": lambda: system_call(
        0x40000000 + 41, socket.AF_INET, socket.SOCK_STREAM, 0
    ),
    "enter mounts": lambda: call("setns", os.open(f"/proc/{PARENT}/ns/mnt", os.O_RDONLY), 0),
    "keys": lambda: system_call(250, 0, -3, 1),
    "a module": lambda: system_call(175, 0, 0, 0),
    "another kernel": lambda: system_call(246, 0, 0, 0, 0),
    "restart": lambda: system_call(169, 0, 0, 0, 0),
    "signal": lambda: os.kill(PARENT, 0),
    "end": lambda: os.kill(PARENT, signal.SIGUSR1),
    "trace": lambda: call("ptrace", PTRACE_ATTACH, PARENT, 0, 0),
    "memory of another": lambda: open(f"/proc/{PARENT}/mem", "r+b").close(),
    "read another": of_the_parent,
    "environment of another": lambda: open(f"/proc/{PARENT}/environ", "rb").read(),
    "files of another": lambda: os.readlink(f"/proc/{PARENT}/fd/0"),
    "descriptors of another": lambda: system_call(438, os.pidfd_open(PARENT), 0, 0),
    "an image of its memory": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)),
    "the clock": lambda: call("settimeofday", ctypes.c_char_p(bytes(16)), None),
    "the host's name": lambda: call("sethostname", "x", 1),
    "who it is": lambda: in_a_child(lambda: os.setuid(65534) if os.getuid() == 0 else os.setuid(0)),
}
"""What is refused."""


def record() -> str:
    os.mkdir(within("mine"))
    write(within("mine/record"))
    return "written"


def unnamed() -> None:
    place = os.path.join(MEMORY, "memory")
    file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o700)
    os.unlink(place)
    os.ftruncate(file, 1 << 20)
    mmap.mmap(file, 1 << 20)[:1] = b"x"


def ended() -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


USES: Tries = {
    "read": lambda: open(VICTIM).read(),
    "list": lambda: os.listdir("/"),
    "a record": record,
    "memory": unnamed,
    "nothing": lambda: open("/dev/null", "r+b").close(),
    "its own processes": ended,
    "a pair of sockets": socket.socketpair,
}
"""What works."""

tries = told(TRIES)
if os.path.exists(within("mine")):
    os.unlink(within("mine"))
print(json.dumps({"tries": tries, "uses": told(USES)}))
