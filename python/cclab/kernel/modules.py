"""Kernels with modules of users' files in them: one compile of each file and one link.

    CACHE/KEY-HASH/    a kernel with modules: linux, modules.json; appears whole or not at all

HASH is of the modules, of what registers them and of the compiler; KEY is the kernel's without
them. A module that a run does not ask for registers nothing, so that one kernel serves all runs of
a study.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab.errors import InputError, RunError
from cclab.kernel import cache, programs, tree, wheel
from cclab.kernel.workshop import StepError, Workshop

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cclab.kernel.cache import Kernel
    from cclab.kernel.workshop import Listener

_SCHEMA = "cclab-kernel-modules/1"
_TOLD = "modules.json"
_KEPT = 32
"""Kernels with modules that stay: those used last."""
_REGISTER = "modules.c"
_FOLDER = "cclab"
"""Where modules are compiled, within the tree's folder of objects."""
_SHOWN = 30
"""Lines of the compiler that a message shows."""


@dataclass(frozen=True)
class Module:
    """A file that becomes a module of the kernel."""

    name: str
    """The module's name, unique to its content."""
    file: str
    """The file's name, without its folder."""
    texts: tuple[tuple[str, str], ...]
    """Its text and those of what it includes, by their paths from its folder."""


def linked(kernel: Kernel, modules: Iterable[Module], listener: Listener | None = None) -> Path:
    """The program of `kernel` with `modules` in it, made if there is none yet.

    Raises `InputError` if a file does not compile, or the kernel cannot be linked with it.
    """
    wanted = sorted(set(modules), key=lambda module: module.name)
    if not wanted:
        return kernel.path
    home = cache.folder()
    kernel = _with_tree(kernel)
    names = {module.name for module in wanted}
    if (there := _there(home, kernel, names)) is not None:
        return there
    if kernel.origin is None or not tree.is_kept(kernel.path.parent):
        raise InputError(_no_tree(kernel))
    if packages := programs.missing():
        raise InputError(
            f"compiling {_listed(wanted)} needs what is not here: {', '.join(packages)}; "
            f"please run\n  {programs.install(packages)}"
        )
    entry = home / f"{kernel.key}-{_hash(wanted)}"
    try:
        with Workshop(home, listener) as workshop:
            # Whom we waited for may have made it.
            if _there(home, kernel, names) is None:
                _make(kernel, wanted, entry, workshop)
                _forget(home)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RunError(
                f"the disk is full: linking a kernel needs about 150 MB in {home}"
            ) from (error)
        raise RunError(f"cannot write to {home}: {error.strerror or error}") from error
    made = _there(home, kernel, names)
    if made is None:
        raise RunError(f"the kernel in {entry} is not as it was written; is another program there?")
    return made


def _with_tree(kernel: Kernel) -> Kernel:
    """The same kernel built here, if `kernel` came in the wheel and there is one.

    One that was built otherwise would be another than runs are named after.
    """
    if kernel.origin is None or not kernel.origin.of_wheel:
        return kernel
    return next((built for built in cache.built() if built.key == kernel.key), kernel)


def _there(home: Path, kernel: Kernel, names: set[str]) -> Path | None:
    """The smallest kernel that is `kernel` with the modules `names`, and maybe others."""
    fitting = []
    with contextlib.suppress(OSError):
        for entry in home.glob(f"{kernel.key}-*"):
            told = _told(entry)
            if told is not None and names <= set(told["modules"]):
                fitting.append((len(told["modules"]), entry))
    if not fitting:
        return None
    entry = min(fitting)[1]
    with contextlib.suppress(OSError):
        os.utime(entry)
    return entry / "linux"


def _told(entry: Path) -> dict[str, Any] | None:
    """What modules.json in `entry` says; None if the kernel is not whole, or of another way."""
    try:
        told: dict[str, Any] = json.loads((entry / _TOLD).read_bytes())
        whole = (
            told["schema"] == _SCHEMA
            and told["register"] == _register_sha256()
            and told["linux_bytes"] == (entry / "linux").stat().st_size
            and isinstance(told["modules"], list)
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return told if whole else None


def _register_sha256() -> str:
    return hashlib.sha256((Path(__file__).parent / _REGISTER).read_bytes()).hexdigest()


def _hash(modules: Sequence[Module]) -> str:
    told = [programs.compiler(), _register_sha256(), *(module.name for module in modules)]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]


def _make(kernel: Kernel, modules: Sequence[Module], entry: Path, workshop: Workshop) -> None:
    workshop.begin("unpacking")
    root = workshop.path / "tree"
    root.mkdir()
    words = tree.unpack(kernel.path.parent, root)
    build = root / tree.BUILD
    objects = []
    for number, module in enumerate(modules):
        workshop.begin("compiling", module.file)
        workshop.tell(number / len(modules), module.file)
        objects.append(_compile(module, kernel, words, build, workshop))
    objects.append(_register(modules, words, build, workshop))
    workshop.begin("linking")
    linux = _link(modules, objects, words, build, workshop)
    new = workshop.path / "new"
    new.mkdir()
    shutil.move(linux, new / "linux")
    document = {
        "schema": _SCHEMA,
        "kernel": kernel.key,
        "compiler": programs.compiler(),
        "register": _register_sha256(),
        "linux_bytes": (new / "linux").stat().st_size,
        "modules": [module.name for module in modules],
    }
    (new / _TOLD).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if entry.exists():
        entry.rename(workshop.path / "old")
    new.rename(entry)


def _compile(
    module: Module, kernel: Kernel, words: dict[str, Any], build: Path, workshop: Workshop
) -> str:
    """Compiles the file of `module`; gives its object, of which no name is seen outside.

    Raises `InputError` with what the compiler says.
    """
    folder = f"{_FOLDER}/{module.name}"
    for name, text in module.texts:
        place = build / folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    made = f"{folder}.o"
    own = [f"-Dtcp_register_congestion_control=cclab_register_{module.name}"]
    command = [*words["compile"], *_named(module.name), *own, "-c", "-o", made]
    try:
        _run([*command, f"{folder}/{module.file}"], build, workshop)
    except StepError as error:
        said = [line.replace(f"{folder}/", "") for line in error.output[:_SHOWN]]
        what = f"{module.file} does not compile for the kernel {kernel.name}, {kernel.release}"
        raise InputError("\n".join((f"{what}:", *said))) from error
    # What it defines for all is its own: the kernel may have a name as well, or another file.
    _run(["objcopy", "--keep-global-symbol=cclab_none", made], build, workshop)
    return made


def _named(name: str) -> list[str]:
    """What kbuild tells a file of its module."""
    return [
        f'-DKBUILD_MODFILE="{_FOLDER}/{name}"',
        f'-DKBUILD_BASENAME="{name}"',
        f'-DKBUILD_MODNAME="{name}"',
        f"-D__KBUILD_MODNAME=kmod_{name}",
    ]


def _register(
    modules: Sequence[Module], words: dict[str, Any], build: Path, workshop: Workshop
) -> str:
    """Compiles what registers `modules`."""
    text = (Path(__file__).parent / _REGISTER).read_text(encoding="utf-8")
    text += "".join(f"CCLAB_MODULE({module.name})\n" for module in modules)
    (build / _FOLDER / _REGISTER).write_text(text, encoding="utf-8")
    made = f"{_FOLDER}/modules.o"
    command = [*words["compile"], *_named("cclab"), "-c", "-o", made, f"{_FOLDER}/{_REGISTER}"]
    _in_kernel(command, build, workshop)
    return made


def _link(
    modules: Sequence[Module],
    objects: Sequence[str],
    words: dict[str, Any],
    build: Path,
    workshop: Workshop,
) -> Path:
    """Links the kernel with `objects`. Raises `InputError` where one asks for what it has not."""
    _in_kernel(["ar", "cDPrS", "vmlinux.a", "vmlinux.o", *objects], build, workshop)
    # What the script would make again is there.
    settings = {**words["environment"], "MAKE": "true"}
    environment = [f"{name}={value}" for name, value in settings.items()]
    try:
        _run(["env", *environment, "sh", *words["link"]], build, workshop)
    except StepError as error:
        lacking = dict.fromkeys(
            re.findall(r"undefined reference to [`'‘](\w+)['’]", "\n".join(error.output))
        )
        if lacking:
            raise InputError(
                f"{_listed(modules)} cannot be linked: the kernel has no {', '.join(lacking)}"
            ) from error
        raise _failed(error) from error
    return build / "vmlinux"


def _in_kernel(command: Sequence[str], build: Path, workshop: Workshop) -> None:
    """Runs what no file of a user's can be the fault of."""
    try:
        _run(command, build, workshop)
    except StepError as error:
        raise _failed(error) from error


def _failed(error: StepError) -> RunError:
    shown = "\n".join(f"  {line}" for line in error.output[-_SHOWN:])
    return RunError(f"linking the kernel with modules failed:\n{shown}")


def _run(command: Sequence[str], build: Path, workshop: Workshop) -> None:
    workshop.run(["env", "-C", str(build), *command])


def _forget(home: Path) -> None:
    """Removes the kernels with modules that were not used for longest."""
    entries = [entry for entry in home.glob("*-*") if (entry / _TOLD).is_file()]
    entries.sort(key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
    for entry in entries[_KEPT:]:
        shutil.rmtree(entry, ignore_errors=True)


def _listed(modules: Sequence[Module]) -> str:
    return ", ".join(module.file for module in modules)


def _no_tree(kernel: Kernel) -> str:
    if kernel.origin is None:
        return (
            f"{cache.OVERRIDE} gives a kernel without what its modules are linked with; kernels of "
            "`cclab kernel build` have that"
        )
    if kernel.origin.of_wheel:
        return (
            f"the wheel {wheel.NAME} brings the kernel {kernel.name} without what modules are "
            "linked with; build one under a name of its own (cclab kernel build --source TARBALL "
            '--name mine) and let the study say kernel = "mine"'
        )
    why = tree.why_not(kernel.path.parent)
    if why is not None:
        return f"the kernel {kernel.name} cannot be linked with modules: {why}"
    return (
        f"the kernel {kernel.name} was built without what its modules are linked with; please run: "
        f"{cache.build_command(kernel.name)}"
    )
