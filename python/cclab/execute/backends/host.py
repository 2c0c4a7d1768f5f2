"""What this machine's kernel, programs and settings allow, found by trying.

The netns backend refuses a study that needs what is missing here before it runs anything, and
`cclab doctor` shows all of it. Whatever is tried is tried in namespaces made for it, which end
with the trial.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cclab import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

Privilege = Literal["root", "user namespace"] | None
"""How network namespaces are made; None: not at all."""

_PROBES = json.loads(_core.probes())
_PARTS = json.loads(_core.parts())
_ON_KERNEL = [row for row in json.loads(_core.variants()) if "netns" in row["backends"]]

QDISCS: dict[str, str] = {row["kind"]: row["least"] for row in _PROBES}
"""The qdiscs that studies use, with the least that `tc` takes for each."""

PARTS: dict[str, str] = {row["name"]: row["what"] for row in _PARTS}
"""What leads packets from one interface to another, with what each is to `ip` and `tc`."""

VARIANTS = tuple(row["name"] for row in _ON_KERNEL)
"""The variants of Linux."""

_MODULES: dict[str, str | None] = {
    **{f"qdisc {row['kind']}": row["module"] for row in _PROBES},
    **{f"part {row['name']}": row["module"] for row in _PARTS},
    **{f"variant {row['name']}": row["module"] for row in _ON_KERNEL},
}
"""The kernel's module of each of them; None where every kernel has it."""
_ON_LINUX: dict[str, str] = {f"qdisc {row['kind']}": row["linux"] for row in _PROBES}
"""How backend linux is asked for what each of them does, where that is not by its name alone."""
_PROC = Path("/proc/sys")
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_ENTER = {"root": ["unshare", "-n"], "user namespace": ["unshare", "-r", "-n"]}
"""How a trial gets a network namespace of its own, by privilege."""
_OPTIONS: dict[str, str] = {
    "qdisc": "CONFIG_NET_SCH_*",
    "variant": "CONFIG_TCP_CONG_*",
    **{f"part {row['name']}": row["option"] for row in _PARTS},
}
"""What a kernel that has it is configured with, by kind or by thing."""
_TC_ENDS = "We have an error talking to the kernel"
"""What `tc` says after a reason."""
_TRIAL_S = 20
"""A trial that takes longer counts as failed."""
_SYSTEM_PATHS = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where programs for root are, which the path of other users leaves out."""


@dataclass(frozen=True)
class Lack:
    """Something that is missing."""

    what: str
    """What was found instead, in one line."""
    remedy: str
    """What puts it right."""
    module: str = ""
    """The kernel's module to load, where that is the remedy."""


@dataclass(frozen=True)
class Host:
    """What network namespaces on this machine can do."""

    privilege: Privilege
    """How namespaces are made; None if they cannot be."""
    unprivileged: Lack | None
    """Why they cannot be."""
    qdiscs: frozenset[str]
    """Those of `QDISCS` that were added to an interface of a trial namespace."""
    variants: frozenset[str]
    """The variants that a flow can ask for."""
    lacks: dict[str, Lack]
    """For each of `QDISCS` (`qdisc NAME`), `PARTS` (`part NAME`) and `VARIANTS` (`variant NAME`)
    that is missing: why."""
    tracefs: Lack | None
    """Why the kernel's events cannot be read; None if they can."""

    @staticmethod
    def probe() -> Host:
        """Tries what this machine can do; a second call in a process remembers."""
        return _probed()

    def qdisc(self, name: str) -> Lack | None:
        """Why the qdisc `name` cannot be used; None if it can."""
        return self.lacks.get(f"qdisc {name}")

    def part(self, name: str) -> Lack | None:
        """Why the part `name` cannot be used; None if it can."""
        return self.lacks.get(f"part {name}")

    def variant(self, name: str) -> Lack | None:
        """Why the variant `name` cannot be used; None if it can."""
        return self.lacks.get(f"variant {name}")


def which(program: str) -> Path | None:
    """Where `program` is, looking also where only root's path leads."""
    path = os.pathsep.join((os.environ.get("PATH", ""), _SYSTEM_PATHS))
    program_path = shutil.which(program, path=path)
    return None if program_path is None else Path(program_path)


def agent() -> Path:
    """Where the agent's program is; `CCLAB_AGENT` in the environment names another."""
    return Path(os.environ.get("CCLAB_AGENT") or Path(__file__).parents[2] / "bin/cclab-agent")


_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION = 1
_ADDR_NO_RANDOMIZE = 0x0040000
"""personality(2): without randomised addresses."""


def ptrace() -> Lack | None:
    """Why a program may not trace one that it started, as the linux backend's kernel does."""
    trial = (
        "import ctypes, os, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "sys.exit(os.strerror(ctypes.get_errno()) if libc.ptrace(0, 0, 0, 0) else 0)\n"
    )
    said = _try([sys.executable, "-I", "-S", "-c", trial])
    if said is None:
        return None
    scope = _setting("kernel/yama/ptrace_scope")
    if scope.isdigit() and int(scope) >= 2:
        # 3 can only be changed by starting the machine again.
        how = "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and restart"
        remedy = "sysctl kernel.yama.ptrace_scope=1" if scope == "2" else how
        return Lack(f"refused: kernel.yama.ptrace_scope is {scope}", remedy)
    return Lack(
        f"refused ({said}): {_who_refuses()}",
        "in a container: --cap-add SYS_PTRACE, or --security-opt seccomp=unconfined",
    )


def addresses() -> Lack | None:
    """Why a program may not begin at the same addresses each time, as the linux backend's kernel
    does: by them its memory has the same size in each run."""
    trial = (
        "import ctypes, os, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"asked = libc.personality(0xFFFFFFFF) | {_ADDR_NO_RANDOMIZE:#x}\n"
        "refused = libc.personality(asked) < 0\n"
        "sys.exit(os.strerror(ctypes.get_errno()) if refused else 0)\n"
    )
    said = _try([sys.executable, "-I", "-S", "-c", trial])
    if said is None:
        return None
    return Lack(
        f"refused ({said}): {_who_refuses()}",
        "in a container: --security-opt seccomp=unconfined, or a profile that also allows "
        f"personality({_ADDR_NO_RANDOMIZE:#x})",
    )


def confinement() -> int | Lack:
    """The form of Landlock by which this machine's kernel confines a guest, or why it does not."""
    asked = ctypes.CDLL(None, use_errno=True).syscall(
        _LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION
    )
    if asked > 0:
        return int(asked)
    return Lack(
        "no Landlock: a program that takes a guest's kernel over can write to your files",
        "a kernel of 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and landlock in lsm= if it boots "
        "with that",
    )


def _who_refuses() -> str:
    filters = "\nSeccomp:\t2" in Path("/proc/self/status").read_text(encoding="utf-8")
    return "a seccomp filter is in force" if filters else "by a security module, it seems"


def shared_memory(folder: Path = Path("/dev/shm"), need: int = 512 << 20) -> Lack | None:
    """Why `folder` cannot hold the memory of a guest of `need` bytes; None if it can."""
    try:
        space = os.statvfs(folder)
    except OSError as error:
        return Lack(f"{folder}: {error.strerror}", f"mount -t tmpfs tmpfs {folder}")
    if space.f_flag & os.ST_NOEXEC:
        return Lack(f"{folder} is mounted noexec", f"mount -o remount,exec {folder}")
    room = space.f_bavail * space.f_frsize
    if room < need:
        return Lack(
            f"{folder} has {room >> 20} MiB free; a guest may use {need >> 20} MiB",
            f"mount -o remount,size=2G {folder}; in a container: --shm-size 2g",
        )
    return None


@functools.cache
def _probed() -> Host:
    privilege, unprivileged = _privilege()
    lacks: dict[str, Lack] = {}
    for name, said in _qdisc_trials(privilege).items():
        if said is not None:
            lacks[f"qdisc {name}"] = _lacking(said, f"qdisc {name}", privilege)
    for name, said in _part_trials(privilege).items():
        if said is not None:
            lacks[f"part {name}"] = _lacking(said, f"part {name}", privilege)
    variants = _setting("net/ipv4/tcp_available_congestion_control").split()
    for name in VARIANTS:
        module = _MODULES[f"variant {name}"]
        # The kernel loads a variant by itself only for root.
        if name not in variants and not (privilege == "root" and _is_module(module)):
            lacks[f"variant {name}"] = _lacking("not in this kernel", f"variant {name}", privilege)
    return Host(
        privilege,
        unprivileged,
        frozenset(name for name in QDISCS if f"qdisc {name}" not in lacks),
        frozenset(name for name in VARIANTS if f"variant {name}" not in lacks),
        lacks,
        _tracefs(),
    )


def _privilege() -> tuple[Privilege, Lack | None]:
    """How network namespaces are made, or why they cannot be."""
    if which("unshare") is None:
        return None, Lack("no program unshare", "apt install util-linux")
    if which("ip") is None:
        return None, Lack("no program ip", "apt install iproute2")
    trial = ["ip", "link", "set", "lo", "up"]
    ways: tuple[tuple[Literal["root", "user namespace"], list[str]], ...] = (
        ("root", _ENTER["root"]),
        ("user namespace", _ENTER["user namespace"]),
    )
    said = ""
    for way, enter in ways if os.geteuid() == 0 else ways[1:]:
        refused = _try([*enter, *trial])
        if refused is None:
            return way, None
        said = said or refused
    return None, Lack(f"refused: {said}", _privilege_remedy())


def _privilege_remedy() -> str:
    """What keeps an ordinary user from making namespaces, as far as the kernel tells."""
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "run as root, or: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    if _setting("kernel/unprivileged_userns_clone") == "0":
        return "run as root, or: sysctl kernel.unprivileged_userns_clone=1"
    if _setting("user/max_user_namespaces") == "0":
        return "run as root, or: sysctl user.max_user_namespaces=10000"
    if os.geteuid() == 0:
        return "in a container: --cap-add SYS_ADMIN --cap-add NET_ADMIN"
    return "run as root"


def _qdisc_trials(privilege: Privilege) -> dict[str, str | None]:
    """For each of `QDISCS` what `tc` said against it, None where it was added."""
    return _trials(
        privilege,
        {
            name: (f"tc qdisc add dev lo root {name} {least}", "tc qdisc del dev lo root")
            for name, least in QDISCS.items()
        },
    )


def _part_trials(privilege: Privilege) -> dict[str, str | None]:
    """For each of `PARTS` what `ip` or `tc` said against it, None where it was added."""
    return _trials(
        privilege,
        {row["name"]: (" && ".join(row["trial"]), "tc qdisc del dev lo clsact") for row in _PARTS},
    )


def _trials(privilege: Privilege, scripts: dict[str, tuple[str, str]]) -> dict[str, str | None]:
    """What was said against each trial, None where it succeeded; each comes with what undoes it."""
    if privilege is None:
        return dict.fromkeys(scripts, "not tried: no network namespaces here")
    if which("tc") is None:
        return dict.fromkeys(scripts, "not tried: no program tc (apt install iproute2)")
    script = "".join(
        f"{{ {trial}; }} 2>&1; echo = {name} $?\n{undo} 2>/dev/null\n"
        for name, (trial, undo) in scripts.items()
    )
    told = _run([*_ENTER[privilege], "sh", "-c", script])
    trials: dict[str, str | None] = dict.fromkeys(scripts, "the trial did not end")
    said: list[str] = []
    for line in told.stdout.splitlines() if told else ():
        match line.split():
            case ["=", name, code]:
                trials[name] = None if code == "0" else _sentence(said)
                said = []
            case _:
                said.append(line.strip())
    return trials


def _sentence(said: list[str]) -> str:
    """What `ip` or `tc` said, as part of a line."""
    told = " ".join(line for line in said if line != _TC_ENDS)
    return told.removeprefix("Error: ").rstrip(".") or "refused"


def _lacking(what: str, thing: str, privilege: Privilege) -> Lack:
    """What is missing for want of `thing`, which is one of `_MODULES`."""
    kind = thing.split()[0]
    if privilege is None and kind != "variant":
        return Lack(what, "see privileges")
    module = _MODULES[thing]
    if module is not None and _is_module(module):
        return Lack(what, f"as root: modprobe {module}", module)
    option = _OPTIONS.get(thing) or _OPTIONS[kind]
    return Lack(what, f"a kernel with {option}, or --backend {_ON_LINUX.get(thing, 'linux')}")


def _is_module(module: str | None) -> bool:
    """Whether this host has `module` to load."""
    if module is None or which("modprobe") is None:
        return False
    return _try(["modprobe", "-n", "-q", module]) is None


def _tracefs() -> Lack | None:
    if any((Path(place) / "events/tcp/tcp_probe").is_dir() for place in _TRACEFS):
        return None
    listed = Path("/proc/filesystems").read_text(encoding="utf-8").split()
    if "tracefs" not in listed:
        return Lack("not in this kernel", "a kernel with CONFIG_FTRACE, or --backend linux")
    if os.geteuid() != 0:
        return Lack("cannot be read by this user", "run as root")
    # Where it is not mounted, the agent mounts it for itself alone.
    mounts = f"mount -t tracefs tracefs {_TRACEFS[0]} && test -d {_TRACEFS[0]}/events/tcp/tcp_probe"
    if _try(["unshare", "-m", "sh", "-c", mounts]) is None:
        return None
    return Lack("no event tcp_probe", "a kernel with CONFIG_FTRACE, or --backend linux")


def _setting(name: str) -> str:
    """A kernel setting; empty if this kernel has none of that name."""
    try:
        return (_PROC / name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _try(command: Sequence[str]) -> str | None:
    """None if `command` succeeds, else what it said."""
    told = _run(command)
    if told is None:
        return f"{command[0]} cannot be run"
    if told.returncode == 0:
        return None
    said = (told.stderr or told.stdout).strip()
    return said.splitlines()[-1] if said else f"{command[0]} fails with {told.returncode}"


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    path = os.pathsep.join((os.environ.get("PATH", ""), _SYSTEM_PATHS))
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRIAL_S,
            check=False,
            env={**os.environ, "PATH": path, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
