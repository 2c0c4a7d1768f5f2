"""What `cclab doctor` looks at for the backends that use a kernel's TCP."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from cclab import kernel
from cclab.errors import InputError
from cclab.execute.backends import host
from cclab.kernel import programs


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    needed: bool
    """Whether cclab does not work without it."""
    found: str
    """What was found, or what is wrong."""
    remedy: str
    """What would put it right; empty if nothing is wrong."""


def linux() -> list[Check]:
    """What the kernel in virtual time needs."""
    return [
        *_kernels(),
        _lack("linux: ptrace", "allowed", host.ptrace()),
        _lack("linux: personality", "programs may keep their addresses", host.addresses()),
        _confinement(),
        _lack("linux: memory", "/dev/shm has room for a guest", host.shared_memory()),
        _program("linux", "ip", "iproute2", "sets up a network"),
        _program("linux", "tc", "iproute2", "sets up links and queues"),
        _program("linux", "iptables-legacy", "iptables", "loses packets at a receiver"),
        _agent(),
    ]


def netns() -> list[Check]:
    """What network namespaces in real time need."""
    probed = host.Host.probe()
    return [
        _lack("netns: privileges", f"namespaces as {probed.privilege}", probed.unprivileged),
        *_kinds("qdisc", "netns: qdiscs", list(host.QDISCS), probed),
        *_kinds("part", "netns: redirection", list(host.PARTS), probed),
        *_kinds("variant", "netns: variants", list(host.VARIANTS), probed),
        _lack("netns: tracefs", "the kernel's events can be read", probed.tracefs),
    ]


def _kernels() -> list[Check]:
    """The default kernel, whether it could be built, and the other kernels."""
    return [*_default(), *map(_named, (k for k in kernel.listed() if k.name != kernel.DEFAULT))]


def _default() -> list[Check]:
    try:
        made = kernel.installed()
    except InputError as error:
        return [Check("linux: kernel", False, False, str(error), "set CCLAB_KERNEL right")]
    if made is not None:
        return [Check("linux: kernel", True, False, f"{made.release}, {made.path}", "")]
    if (why := kernel.foreign()) is not None:
        return [Check("linux: kernel", False, False, why, "backend netns has this host's kernel")]
    packages = programs.missing()
    if not kernel.debian(kernel.DEFAULT).is_file():
        packages.append(kernel.package(kernel.DEFAULT))
    build = Check("linux: kernel", False, False, "not built", kernel.build_command())
    if not packages:
        return [build, Check("linux: kernel's packages", True, False, "all there", "")]
    absent = f"not there: {', '.join(packages)}"
    remedy = programs.install(packages)
    return [build, Check("linux: kernel's packages", False, False, absent, remedy)]


def _named(made: kernel.Kernel) -> Check:
    title = f"linux: kernel {made.name}"
    if made.origin is not None and made.origin.current:
        return Check(title, True, False, f"{made.release}, {made.path}", "")
    state = f"{made.release}, as another version of cclab made it"
    return Check(title, False, False, state, kernel.build_command(made.name))


def _confinement() -> Check:
    name = "linux: confinement"
    match host.confinement():
        case host.Lack(what, remedy):
            return Check(name, False, False, what, remedy)
        case form:
            return Check(
                name, True, False, f"guests write to their runs alone (Landlock {form})", ""
            )


def _agent() -> Check:
    place = host.agent()
    name = "linux: agent"
    if place.is_file():
        return Check(name, True, False, str(place), "")
    return Check(name, False, False, f"{place} is not there", "make kernel")


def _program(backend: str, program: str, package: str, purpose: str) -> Check:
    name = f"{backend}: {program}"
    place = host.which(program)
    if place is None:
        return Check(name, False, False, f"not found; it {purpose}", f"apt install {package}")
    return Check(name, True, False, str(place), "")


def _lack(name: str, fine: str, lack: host.Lack | None) -> Check:
    if lack is None:
        return Check(name, True, False, fine, "")
    return Check(name, False, False, lack.what, lack.remedy)


def _kinds(kind: str, title: str, names: list[str], probed: host.Host) -> list[Check]:
    """One line for the names that are present, and one for every reason why others are missing."""
    there = [name for name in names if f"{kind} {name}" not in probed.lacks]
    checks = [Check(title, True, False, " ".join(there), "")] if there else []
    reasons: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        lack = probed.lacks.get(f"{kind} {name}")
        if lack is not None:
            # Modules are loaded by one command.
            remedy = "as root: modprobe -a" if lack.module else lack.remedy
            reasons[lack.what, remedy].append(name)
    for (what, remedy), absent in reasons.items():
        modules = (probed.lacks[f"{kind} {name}"].module for name in absent)
        command = " ".join((remedy, *filter(None, modules)))
        checks.append(Check(title, False, False, f"{' '.join(absent)}: {what}", command))
    return checks
