"""What is kept of a kernel's build: enough to compile a file as its own, and to link it again.

    KEY/tree.tar.gz    headers, objects joined to one, scripts of the link, and `words.json`

The paths in it are relative: unpacked anywhere it works.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.kernel.workshop import Workshop

TREE = "tree.tar.gz"
BUILD = "build"
"""The folder of objects, within that of the source: then the kernel's paths are relative."""
WORDS = "words.json"
"""How a file is compiled (`compile`) and the kernel is linked (`link`, `environment`)."""
_LINK = "scripts/link-vmlinux.sh"
_ENVIRONMENT = ".cclab-link-environment"
_ARGUMENTS = ".cclab-link-words"
_PATTERN = "net/ipv4/.tcp_cong.o.cmd"
"""How the kernel compiles a neighbour of the modules."""
_WHY_NOT = "no_tree"
_PASSED_OVER = ("PATH", "HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "MAKEFLAGS", "MFLAGS")


class _NotKeptError(Exception):
    """The tree is not one that modules can be linked with; says why."""


def is_kept(kernel: Path) -> bool:
    """Whether modules can be linked with the kernel in the folder `kernel`."""
    return (kernel / TREE).is_file()


def why_not(kernel: Path) -> str | None:
    """Why the build of the kernel in the folder `kernel` kept nothing; None if it did not try."""
    try:
        said = json.loads((kernel / "build.json").read_bytes()).get(_WHY_NOT)
    except (OSError, ValueError, AttributeError):
        return None
    return said if isinstance(said, str) else None


def listen(source: Path) -> None:
    """Has the last link of the tree in `source` write down how it is called.

    A tree without that script keeps none.
    """
    script = source / _LINK
    if not script.is_file():
        return
    first, _, rest = script.read_text(encoding="utf-8").partition("\n")
    heard = f"""env -0 > {_ENVIRONMENT}; printf '%s\\0' "$0" "$@" > {_ARGUMENTS}"""
    script.write_text(f"{first}\n{heard}\n{rest}", encoding="utf-8")


def keep(source: Path, new: Path, workshop: Workshop) -> dict[str, str]:
    """Writes what is kept of `source`, which was built, to `new`.

    Gives what build.json says of it: why there is none, if there is none.
    """
    try:
        _keep(source, new, workshop)
    except _NotKeptError as why:
        return {_WHY_NOT: str(why)}
    return {}


def _keep(source: Path, new: Path, workshop: Workshop) -> None:
    build = source / BUILD
    words = _words(build)
    files = set(_headers(build, words["compile"]))
    needed = ["vmlinux.o", "init/version-timestamp.o", words["environment"]["KBUILD_LDS"]]
    scripts = ["scripts/link-vmlinux.sh", "scripts/mksysmap"]
    needed += ["scripts/kallsyms"] if (build / "scripts/kallsyms").is_file() else []
    for name in needed:
        if not (build / name).is_file():
            raise _NotKeptError(f"its build leaves no {name}")
    files |= {build / name for name in needed}
    files |= {source / name for name in (*scripts, "scripts/file-size.sh")}
    files |= {build / ".config", build / "include/config/auto.conf", build / "scripts/sorttable"}
    folder = workshop.path / "kept"
    for file in sorted(files):
        if file.is_file():
            place = folder / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
    for library in words["environment"].get("KBUILD_VMLINUX_LIBS", "").split():
        place = folder / BUILD / library
        place.parent.mkdir(parents=True, exist_ok=True)
        _whole(build, library, place, workshop)
    (folder / WORDS).write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    with tarfile.open(new / TREE, "w:gz", compresslevel=6) as archive:
        archive.add(folder, ".", filter=_alike)
    shutil.rmtree(folder)


def unpack(kernel: Path, folder: Path) -> dict[str, Any]:
    """Unpacks into `folder` what is kept of the kernel in the folder `kernel`; gives its words."""
    with tarfile.open(kernel / TREE) as archive:
        archive.extractall(folder, filter="data")
    words: dict[str, Any] = json.loads((folder / WORDS).read_bytes())
    return words


def _alike(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same bytes for the same content, whoever builds it and when."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def _words(build: Path) -> dict[str, Any]:
    """How the tree was compiled and linked."""
    try:
        environment = (build / _ENVIRONMENT).read_text(encoding="utf-8")
        arguments = (build / _ARGUMENTS).read_text(encoding="utf-8")
        pattern = (build / _PATTERN).read_text(encoding="utf-8")
    except OSError as error:
        raise _NotKeptError(f"its build leaves no {Path(str(error.filename)).name}") from error
    told = dict(one.partition("=")[::2] for one in environment.split("\0") if one)
    command = re.match(r"(?:saved)?cmd_\S+ := (.*)\n", pattern)
    if command is None:
        raise _NotKeptError(f"{_PATTERN} is not written as expected")
    if "KBUILD_LDS" not in told:
        raise _NotKeptError("its link is not told KBUILD_LDS")
    return {
        "compile": _of_any_file(shlex.split(command[1])),
        "link": arguments.split("\0")[:-1],
        "environment": {k: v for k, v in told.items() if k not in _PASSED_OVER},
    }


def _of_any_file(words: list[str]) -> list[str]:
    """The command that compiles a file, without what is of one file alone."""
    kept: list[str] = []
    for word in words[: words.index("-c")]:
        if not re.match(r"-Wp,-MM?D|-D(__)?KBUILD_(MODFILE|BASENAME|MODNAME)", word):
            kept.append(word)
    return kept


def _headers(build: Path, words: list[str]) -> Iterable[Path]:
    """The headers in the folders that `words` name, and those that they include by name."""
    source = build.parent.resolve()
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("-I"):
            folder = (build / word[2:]).resolve()
            if folder.is_relative_to(source) and folder != source:
                yield from folder.rglob("*.h")
        elif word == "-include":
            yield (build / after).resolve()


def _whole(build: Path, library: str, place: Path, workshop: Workshop) -> None:
    """Copies an archive that only names its members, with them in it."""
    place.unlink(missing_ok=True)
    script = 'cd "$1" && members=$(ar t "$2") && ar cDPrs "$3" $members'
    workshop.run(["sh", "-c", script, "sh", build, library, place])
