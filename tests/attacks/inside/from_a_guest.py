"""A flow's program that tries to get out of its guest, as root of it: prints what came of each try.

    python3 -m attacks.inside.from_a_guest VICTIM SOCKET PORT

VICTIM is a file of the host that it may not change; at the local SOCKET and at PORT of the loopback
somebody listens on the host.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.inside.trying import call, in_a_child, refuse, system_call, told, write

if TYPE_CHECKING:
    from attacks.inside.trying import Tries

VICTIM, SOCKET, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
RECORDS = bytes.fromhex(
    Path("/proc/cmdline").read_text().split("cclab_dir=")[1].split()[0]
).decode()
"""The folder of the host that the run's records are written to: the kernel was told."""
OWN = os.environ["TMPDIR"]
NEAR = VICTIM + ".new"
RUN = "/run/cclab"
TRACING = "/sys/kernel/tracing"

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE = 1, 32, 4096, 8192
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206


def mount(
    kind: str | None, place: str, flags: int = 0, data: str | None = None, source: str = "none"
) -> None:
    call("mount", source, place, kind, ctypes.c_ulong(flags), data)


def made(name: str) -> str:
    """A folder of the program's own."""
    place = os.path.join(OWN, name)
    os.makedirs(place, exist_ok=True)
    return place


def listed(place: str) -> list[str]:
    """Raises if nothing is to be seen there."""
    seen = os.listdir(place)
    if not seen:
        raise OSError(errno.EPERM, "empty")
    return seen


def through_a_link() -> None:
    link = os.path.join(OWN, "link")
    os.symlink(VICTIM, link)
    write(link)


def ioperm() -> None:
    call("ioperm", 0x80, 1, 1)


def memory() -> None:
    with open("/dev/mem", "r+b") as file:
        mmap.mmap(file.fileno(), 4096)


def too_large() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open(os.path.join(OWN, "large"), "w") as file:
        os.truncate(file.fileno(), 2 << 30)


def of_another_user() -> None:
    """A program that becomes root by its mode does not."""
    os.setgid(65534)
    os.setuid(65534)
    told = subprocess.run(["su", "-c", "id -u"], capture_output=True, text=True, check=False)
    if told.stdout.strip() != "0":
        raise OSError(errno.EPERM, "it stayed what it was")


def all_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    call("capset", header, data)


def kill_first() -> None:
    """The agent is the first process: nothing inside can end or stop it."""
    os.kill(1, signal.SIGKILL)
    os.kill(1, signal.SIGSTOP)
    state = Path("/proc/1/stat").read_text().rsplit(")", 1)[1].split()[0]
    if state in "RSD":
        refuse(f"the agent goes on, {state}")


def exit_code() -> None:
    write("/proc/exitcode", "77")
    if "77" not in Path("/proc/exitcode").read_text():
        refuse("it is not kept")


def cloned() -> None:
    """clone(2) with namespaces of its own."""
    system_call(56, CLONE_NEWUSER | CLONE_NEWNS | signal.SIGCHLD, 0, 0, 0, 0)
    os._exit(0)


def its_capabilities() -> list[str]:
    """Raises if there are none beyond those that it is said to have."""
    said = {1, 0, 3, 5, 6, 7, 10, 13, 23}
    (line,) = [
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("CapBnd:")
    ]
    has = {bit for bit in range(64) if int(line.split()[1], 16) >> bit & 1}
    if has == said:
        refuse("they are as said")
    return sorted(map(str, has ^ said))


def inherited() -> list[str]:
    """Open files that the agent left; raises if there are none but the usual ones."""
    names = [str(number) for number in range(3, 256)]
    left = [name for name in names if os.path.exists(f"/proc/self/fd/{name}")]
    return left or refuse("there are none")


TRIES: Tries = {
    "inherited files": inherited,
    # Files of the host.
    "write": lambda: write(VICTIM),
    "append": lambda: open(VICTIM, "a").close(),
    "truncate": lambda: os.truncate(VICTIM, 0),
    "unlink": lambda: os.unlink(VICTIM),
    "rename": lambda: os.rename(VICTIM, NEAR),
    "chmod": lambda: os.chmod(VICTIM, 0o777),
    "chown": lambda: os.chown(VICTIM, 1, 1),
    "utime": lambda: os.utime(VICTIM, (1, 1)),
    "setxattr": lambda: os.setxattr(VICTIM, "user.x", b"x"),
    "create": lambda: write(NEAR),
    "mkdir": lambda: os.mkdir(NEAR),
    "symlink": lambda: os.symlink("/etc/passwd", NEAR),
    "link": lambda: os.link(VICTIM, NEAR),
    "mknod": lambda: os.mknod(NEAR, 0o600 | 0o20000, os.makedev(1, 1)),
    "fifo": lambda: os.mkfifo(NEAR),
    "rmdir": lambda: os.rmdir(os.path.dirname(VICTIM)),
    "map": lambda: mmap.mmap(os.open(VICTIM, os.O_RDWR), 1),
    "write through a link": through_a_link,
    # Mounts.
    "remount the root": lambda: mount(None, "/", MS_REMOUNT),
    "remount the root's view": lambda: mount(None, "/", MS_REMOUNT | MS_BIND),
    "remount by the program": lambda: subprocess.run(
        ["mount", "-o", "remount,rw", "/"], check=True, capture_output=True
    ),
    "mount hostfs": lambda: mount("hostfs", made("a")),
    "mount hostfs at the victim": lambda: mount("hostfs", made("b"), data=os.path.dirname(VICTIM)),
    "mount hostfs at the records": lambda: mount("hostfs", made("c"), data=RECORDS),
    "bind the root": lambda: mount(None, made("d"), MS_BIND, source="/"),
    "move the records": lambda: mount(None, made("e"), MS_MOVE, source=RUN),
    "mount proc": lambda: mount("proc", made("f")),
    "mount devtmpfs": lambda: mount("devtmpfs", made("g")),
    "mount tracefs": lambda: mount("tracefs", made("h")),
    "mount cgroup2": lambda: mount("cgroup2", made("i")),
    "mount binfmt_misc": lambda: mount("binfmt_misc", made("j")),
    "mount tmpfs": lambda: mount("tmpfs", made("k")),
    "unmount the records' cover": lambda: call("umount2", RUN, 0),
    "detach the records' cover": lambda: call("umount2", RUN, 2),
    "unmount the trace's cover": lambda: call("umount2", TRACING, 2),
    "unmount the settings' cover": lambda: call("umount2", "/proc/sys", 2),
    "unmount devices": lambda: call("umount2", "/dev", 2),
    "open a mount": lambda: system_call(428, -100, 0, 1),
    "make a mount": lambda: system_call(430, 0, 0),
    "pivot_root": lambda: system_call(155, 0, 0),
    "chroot": lambda: os.chroot(OWN),
    # Namespaces.
    "unshare users": lambda: in_a_child(lambda: call("unshare", CLONE_NEWUSER)),
    "clone": lambda: in_a_child(cloned),
    "unshare mounts": lambda: in_a_child(lambda: call("unshare", CLONE_NEWNS)),
    "unshare the network": lambda: in_a_child(lambda: call("unshare", CLONE_NEWNET)),
    "enter the first's mounts": lambda: call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    "enter the first's network": lambda: call("setns", os.open("/proc/1/ns/net", os.O_RDONLY), 0),
    # The agent.
    "the agent's memory": lambda: open("/proc/1/mem", "r+b").close(),
    "the agent's root": lambda: listed("/proc/1/root/run"),
    "the agent's files": lambda: os.readlink("/proc/1/fd/0"),
    "the agent's environment": lambda: open("/proc/1/environ", "rb").read(),
    "trace the agent": lambda: call("ptrace", PTRACE_ATTACH, 1, 0, 0),
    "seize the agent": lambda: call("ptrace", PTRACE_SEIZE, 1, 0, 0),
    "kill the agent": kill_first,
    "the agent's descriptors": lambda: system_call(438, os.pidfd_open(1), 0, 0),
    # The run's records.
    "list the records": lambda: listed(RUN),
    "write a record": lambda: write(f"{RUN}/outcome.json"),
    "list the records on the host": lambda: listed(RECORDS),
    "write a record on the host": lambda: write(f"{RECORDS}/outcome.json"),
    "list the trace": lambda: listed(TRACING),
    "write to the trace": lambda: write(f"{TRACING}/tracing_on", "0"),
    # The kernel.
    "core_pattern": lambda: write("/proc/sys/kernel/core_pattern", f"|/bin/cp /etc/passwd {NEAR}"),
    "modprobe": lambda: write("/proc/sys/kernel/modprobe", "/bin/sh"),
    "hotplug": lambda: write("/sys/kernel/uevent_helper", "/bin/sh"),
    "ptrace of everybody": lambda: write("/proc/sys/kernel/yama/ptrace_scope", "0"),
    "the largest process number": lambda: write("/proc/sys/kernel/pid_max", "100"),
    "sysctl of memory": lambda: write("/proc/sys/vm/overcommit_memory", "1"),
    "exit code": exit_code,
    "memory": memory,
    "ports": ioperm,
    "iopl": lambda: call("iopl", 3),
    "a device": lambda: os.mknod(os.path.join(OWN, "mem"), 0o20600, os.makedev(1, 1)),
    "a file among devices": lambda: write("/dev/x"),
    "a file beside its own": lambda: write("/run/x"),
    "a module": lambda: system_call(175, 0, 0, 0),
    "a module's file": lambda: system_call(313, os.open("/etc/passwd", os.O_RDONLY), 0, 0),
    "another kernel": lambda: system_call(246, 0, 0, 0, 0),
    "a program of BPF": lambda: system_call(321, 5, 0, 0),
    "events of the processor": lambda: system_call(298, 0, 1, 0, 0, 0),
    "restart": lambda: system_call(169, 0xFEE1DEAD, 0x28121969, 0x1234567, 0),
    "swap": lambda: call("swapon", VICTIM, 0),
    "the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, 0.0),
    "the host's name": lambda: call("sethostname", "x", 1),
    "open by handle": lambda: system_call(304, os.open("/", os.O_RDONLY), 0, 0),
    "capabilities": all_capabilities,
    "others than are told": its_capabilities,
    "another user's program": lambda: in_a_child(of_another_user),
    "more open files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20)),
    "a large file": too_large,
    "its bound on files": lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    ),
    # The host's network.
    "the host's loopback": lambda: socket.create_connection(("127.0.0.1", PORT), timeout=1),
    "a local socket of the host": lambda: socket.socket(socket.AF_UNIX).connect(SOCKET),
    "a discipline of its own": lambda: subprocess.run(
        ["tc", "qdisc", "replace", "dev", "lo", "root", "pfifo"], check=True, capture_output=True
    ),
    "an address": lambda: subprocess.run(
        ["ip", "address", "add", "10.9.9.9/24", "dev", "lo"], check=True, capture_output=True
    ),
}
"""What is refused."""


def of_the_network(name: str, value: str) -> str:
    write(f"/proc/sys/net/{name}", value)
    return Path(f"/proc/sys/net/{name}").read_text().strip()


USES: Tries = {
    "read a file": lambda: open(VICTIM).read(),
    "write its own": lambda: write(os.path.join(OWN, "mine")),
    "home is its own": lambda: os.environ["HOME"] == OWN,
    "print": lambda: sys.stderr.write("told\n"),
    "raw sockets": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "packet sockets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "ports below 1024": lambda: socket.socket().bind(("0.0.0.0", 80)),
    "settings of its network": lambda: of_the_network("ipv4/tcp_retries2", "7"),
    "another user": lambda: in_a_child(lambda: os.setuid(65534)),
    "its own name": lambda: Path("/proc/self/comm").write_text("mine"),
    "other processors": lambda: os.nice(-1),
    "random": lambda: len(os.urandom(8)),
    "nothing": lambda: open("/dev/null", "w").write("x"),
}
"""What works."""


print(json.dumps({"tries": told(TRIES), "uses": told(USES)}))
