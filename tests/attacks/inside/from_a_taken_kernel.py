"""A guest's process on the host that tries to get at the host: prints what came of each try.

    python3 -m attacks.inside.from_a_taken_kernel VICTIM FOLDER MEMORY LEFT_OPEN [stays]

It stands for a guest's kernel that was taken over. VICTIM is a file that it may not change, FOLDER
the run's folder, with `link` to that of the victim, and MEMORY that for the guest's memory.
LEFT_OPEN is the number by which whoever started it had the victim open. It leaves a process behind,
whose number it tells, and with `stays` does not end itself.
"""

from __future__ import annotations

import ctypes
import fcntl
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
AND_STAYS = "stays"
NEAR = VICTIM + ".new"
PARENT = os.getppid()
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
PTRACE_ATTACH = 16
FS_IOC_SETFLAGS = 0x40086602
F_OFD_SETLK = 37
NEXT = os.path.dirname(VICTIM)
PLACE = ctypes.create_string_buffer(os.fsencode(VICTIM))


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


def opened(place: str = VICTIM) -> int:
    return os.open(place, os.O_RDONLY)


def paired(kind: int) -> socket.socket:
    return socket.socketpair(socket.AF_UNIX, kind)[0]


def of_its_own_limits() -> None:
    """Gives the parent a limit that it has."""
    resource.prlimit(PARENT, resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))


TRIES: Tries = {
    "write": lambda: write(VICTIM),
    "append": lambda: open(VICTIM, "a").close(),
    "unlink": lambda: os.unlink(VICTIM),
    "rename": lambda: os.rename(VICTIM, NEAR),
    "take in": lambda: os.rename(VICTIM, within("taken")),
    "create": lambda: write(NEAR),
    "mkdir": lambda: os.mkdir(NEAR),
    "map": lambda: mmap.mmap(os.open(VICTIM, os.O_RDWR), 1),
    "through a link": lambda: write(within("link/x")),
    "through a link, the victim": lambda: write(within(f"link/{os.path.basename(VICTIM)}")),
    "out of the folder": out_of_the_folder,
    "memory beside its own": lambda: write("/dev/shm/cclab-attack"),
    "temporary files": lambda: write("/tmp/cclab-attack"),
    "a file left open": lambda: os.write(LEFT_OPEN, b"x"),
    "clone, the other call": lambda: in_a_child(cloned_by_structure),
    "of the other form": lambda: system_call(
        0x40000000 + 41, socket.AF_INET, socket.SOCK_STREAM, 0
    ),
    "enter mounts": lambda: call("setns", os.open(f"/proc/{PARENT}/ns/mnt", os.O_RDONLY), 0),
    "signal": lambda: os.kill(PARENT, 0),
    "end": lambda: os.kill(PARENT, signal.SIGUSR1),
    "trace": lambda: call("ptrace", PTRACE_ATTACH, PARENT, 0, 0),
    "memory of another": lambda: open(f"/proc/{PARENT}/mem", "r+b").close(),
    "read another": of_the_parent,
    "environment of another": lambda: open(f"/proc/{PARENT}/environ", "rb").read(),
    "files of another": lambda: os.readlink(f"/proc/{PARENT}/fd/0"),
    "an image of its memory": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)),
}
"""What is refused."""

CALLS: Tries = {
    "truncate": lambda: os.truncate(VICTIM, 0),
    "link": lambda: os.link(VICTIM, within("linked")),
    "symlink": lambda: os.symlink(VICTIM, within("symlink")),
    "fifo": lambda: os.mkfifo(within("fifo")),
    "device": lambda: os.mknod(within("device"), 0o20600, os.makedev(1, 1)),
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
    "keys": lambda: system_call(250, 0, -3, 1),
    "a module": lambda: system_call(175, 0, 0, 0),
    "another kernel": lambda: system_call(246, 0, 0, 0, 0),
    "restart": lambda: system_call(169, 0, 0, 0, 0),
    "the clock": lambda: call("settimeofday", ctypes.c_char_p(bytes(16)), None),
    "the host's name": lambda: call("sethostname", "x", 1),
    "who it is": lambda: in_a_child(lambda: os.setuid(65534) if os.getuid() == 0 else os.setuid(0)),
    "descriptors of another": lambda: system_call(438, LEFT_OPEN, 0, 0),
    "mode": lambda: os.chmod(VICTIM, 0o4755),
    "mode, open": lambda: os.fchmod(opened(), 0o4755),
    "mode, beneath a folder": lambda: system_call(268, -100, ctypes.addressof(PLACE), 0o4755),
    "mode, the newer call": lambda: system_call(452, -100, ctypes.addressof(PLACE), 0o4755, 0),
    "a program of root": lambda: os.open(within("root"), os.O_CREAT | os.O_WRONLY, 0o4755),
    "owner": lambda: os.chown(VICTIM, os.getuid(), os.getgid()),
    "owner, open": lambda: os.fchown(opened(), os.getuid(), os.getgid()),
    "owner, of a link": lambda: os.lchown(VICTIM, os.getuid(), os.getgid()),
    "owner, beneath a folder": lambda: os.chown(
        os.path.basename(VICTIM), os.getuid(), -1, dir_fd=opened(NEXT)
    ),
    "times": lambda: os.utime(VICTIM, (1, 1)),
    "times, open": lambda: os.utime(opened(), (1, 1)),
    "times, an older call": lambda: system_call(132, ctypes.addressof(PLACE), 0),
    "times, another": lambda: system_call(235, ctypes.addressof(PLACE), 0),
    "times, beneath a folder": lambda: system_call(261, -100, ctypes.addressof(PLACE), 0),
    "attribute": lambda: os.setxattr(VICTIM, "user.attack", b"x"),
    "attribute, open": lambda: os.setxattr(opened(), "user.attack", b"x"),
    "attribute, of a link": lambda: os.setxattr(VICTIM, "user.attack", b"x", follow_symlinks=False),
    "no attribute": lambda: os.removexattr(VICTIM, "user.attack"),
    "no attribute, open": lambda: os.removexattr(opened(), "user.attack"),
    "attribute, the newer call": lambda: system_call(
        463, -100, ctypes.addressof(PLACE), 0, 0, 0, 0
    ),
    "flags": lambda: fcntl.ioctl(opened(), FS_IOC_SETFLAGS, bytes(8)),
    "lock": lambda: fcntl.flock(opened(), fcntl.LOCK_EX),
    "lock of a part": lambda: fcntl.lockf(opened(), fcntl.LOCK_SH),
    "lock of an opening": lambda: fcntl.fcntl(opened(), F_OFD_SETLK, bytes(32)),
    "lease": lambda: fcntl.fcntl(opened(), fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "a pair of datagrams": lambda: paired(socket.SOCK_DGRAM),
    "a pair of packets": lambda: paired(socket.SOCK_SEQPACKET),
    "a pair of another kind": lambda: socket.socketpair(40, socket.SOCK_STREAM),
    "connect": lambda: paired(socket.SOCK_STREAM).connect(NEAR),
    "bind": lambda: paired(socket.SOCK_STREAM).bind("\0cclab-attack"),
    "send": lambda: paired(socket.SOCK_STREAM).sendto(b"x", NEAR),
    "send a message": lambda: paired(socket.SOCK_STREAM).sendmsg([b"x"]),
    "limits of another": of_its_own_limits,
    "processors of another": lambda: os.sched_setaffinity(PARENT, os.sched_getaffinity(0)),
    "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, PARENT, 19),
    "scheduling of another": lambda: os.sched_setscheduler(
        PARENT, os.SCHED_BATCH, os.sched_param(0)
    ),
    "the disk for another": lambda: system_call(251, 1, PARENT, 3 << 13),
    "shared memory": lambda: system_call(29, 0, 1 << 20, 0o1600),
    "messages": lambda: system_call(68, 0, 0o1600),
    "semaphores": lambda: system_call(64, 0, 1, 0o1600),
    "a queue of messages": lambda: system_call(240, ctypes.addressof(PLACE), 0o100, 0o600, 0),
    "a session of its own": lambda: in_a_child(os.setsid),
    "a group of its own": lambda: in_a_child(lambda: os.setpgid(0, 0)),
    "a handle of another": lambda: os.pidfd_open(PARENT),
}
"""Calls that are refused as such, whoever makes them: privileges and paths play no part."""


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


def left_behind() -> int:
    """A process that nobody waits for and nothing holds, whose parent has ended; its number."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
            os.write(writer, str(os.getpid()).encode())
            os.close(writer)
            signal.pause()
        os._exit(0)
    os.waitpid(child, 0)
    return int(os.read(reader, 20))


tries, calls = told(TRIES), told(CALLS)
if os.path.exists(within("mine")):
    os.unlink(within("mine"))
outcomes = {"tries": tries, "calls": calls, "uses": told(USES)}
print(json.dumps({"outcomes": outcomes, "left": left_behind()}), flush=True)
if AND_STAYS in sys.argv:
    signal.pause()
