"""Builds the wheels `cclab` and `cclab-kernel` into dist/: `make wheel`.

Equal kernels and sources give equal bytes: dates are those of the commit, and paths of this machine
stay out.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import guided
import manual
from guided import RUSTFLAGS, SEPARATOR
from programs import ROOT, host, said

from cclab import _core, kernel
from cclab.kernel import cache
from cclab.kernel.recipe import Recipe

VERSION = _core.VERSION
"""That of both wheels."""

KERNELS = ("6.12", "6.1")
"""Those that the wheel brings."""

BIN = Path(sys.executable).parent
"""The programs beside this Python."""

SNAPSHOT = "https://snapshot.debian.org/package/linux/"
"""Where Debian keeps every version of the sources of its kernels."""


@dataclass(frozen=True)
class Source:
    """What a kernel of the wheel was made of."""

    release: str
    tarball: str
    package: str
    """Debian's package that has the tarball."""
    version: str
    """That of the package."""
    tarball_sha256: str
    program_sha256: str
    patches: tuple[tuple[str, str], ...]
    """Names and texts, in their order."""


def main() -> None:
    """Builds the wheels that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--only", choices=("cclab", "cclab-kernel"))
    parser.add_argument("--profile", default="release", help="what Rust is built as")
    parser.add_argument(
        "--untrained", action="store_true", help="compile without a training run: sooner, slower"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.only != "cclab-kernel":
        told(core(given.out, given.profile, trained=not given.untrained))
    if given.only != "cclab":
        told(kernels(given.out))


def told(wheel: Path) -> None:
    """Prints what was built, its size and its digest."""
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, SHA-256 {digest(wheel)}")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def core(out: Path, profile: str, *, trained: bool) -> Path:
    """The wheel `cclab`, with the program of the guests and the manual page in it.

    A release is compiled by a training run if it is to be `trained`. Of the profile that tests
    use, what they have built is packed, and paths stay in it.
    """
    environment = {**os.environ, **date(), "CCLAB_BUILT_FROM": revision()}
    manual.write(manual.PLACE, int(environment["SOURCE_DATE_EPOCH"]))
    features = ["--features", "extension-module"]
    if profile == "release":
        flags, place = without_paths(ROOT), target() / "wheel"
        environment |= {"CARGO_TARGET_DIR": str(place), RUSTFLAGS: SEPARATOR.join(flags)}
        static = SEPARATOR.join([*flags, "-C", "target-feature=+crt-static"])
        _agent(place, {**environment, RUSTFLAGS: static})
        if trained:
            counts = guided.flags(environment, place)
            environment |= {RUSTFLAGS: SEPARATOR.join([*flags, *counts])}
        # As the module that counts: counts are of functions by name, and the target is in names.
        features += ["--target", host()]
    else:
        features += ["--features", "as-tested"]
    with tempfile.TemporaryDirectory() as made:
        maturin = [str(BIN / "maturin"), "build", "--profile", profile, "--locked", *features]
        subprocess.run([*maturin, "--out", made], cwd=ROOT, env=environment, check=True)
        (wheel,) = Path(made).glob("cclab-*.whl")
        return Path(shutil.move(wheel, out / wheel.name))


def target() -> Path:
    """Where cargo keeps what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def without_paths(sources: Path) -> list[str]:
    """What rustc is told so that no path of this machine is in what it builds of `sources`."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    remapped = {sources: "/cclab", home: "/cargo"}
    return [f"--remap-path-prefix={path}={name}" for path, name in remapped.items()]


def _agent(target: Path, environment: dict[str, str]) -> None:
    """Builds the program of the guests into the package: static, and without symbols."""
    target_of = host()
    cargo = ["cargo", "build", "--locked", "--release", "-p", "cclab-agent", "--target", target_of]
    subprocess.run(cargo, cwd=ROOT, env=environment, check=True)
    place = ROOT / "python" / "cclab" / "bin" / "cclab-agent"
    place.parent.mkdir(exist_ok=True)
    built = target / target_of / "release" / "cclab-agent"
    subprocess.run(["install", "--strip", built, place], check=True)


def kernels(out: Path) -> Path:
    """The wheel `cclab-kernel`, of kernels that were built here."""
    built = current()
    with tempfile.TemporaryDirectory() as place:
        package = Path(place) / "kernel"
        shutil.copytree(ROOT / "wheels" / "kernel", package)
        inside = package / "src" / "cclab_kernel"
        needed = [_lay(each, inside, package) for each in built]
        (inside / "__init__.py").write_text(
            f'"""Kernels for cclab: see README.md."""\n\n__version__ = "{VERSION}"\n'
        )
        glibc = ".".join(map(str, max(needed)))
        environment = {**os.environ, **date()}
        environment["CCLAB_PLATFORM"] = f"manylinux_{glibc.replace('.', '_')}_x86_64"
        subprocess.run(
            [BIN / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", place],
            cwd=package,
            env=environment,
            check=True,
        )
        (wheel,) = Path(place).glob("cclab_kernel-*.whl")
        return Path(shutil.move(wheel, out / wheel.name))


def current() -> list[kernel.Kernel]:
    """Those of `KERNELS`, as built here; ends with a message where one is missing."""
    built = {each.name: each for each in cache.built() if each.origin and each.origin.current}
    for name in KERNELS:
        if name not in built:
            raise SystemExit(kernel.not_built(name))
    return [built[name] for name in KERNELS]


def source(made: kernel.Kernel) -> Source:
    """What a kernel that was built here was made of; its tarball has to be at hand still."""
    assert made.origin is not None, "it was built here"
    recipe = Recipe.shipped(made.origin.patches)
    assert recipe is not None, "these patches come with cclab"
    build = cache.described(made.path.parent)
    tarball = kernel.debian(made.origin.patches)
    if digest(tarball) != build["tarball_sha256"]:
        raise SystemExit(
            f"the kernel {made.name} was built of another tarball than {tarball}; please run: "
            f"{kernel.build_command(made.name)}"
        )
    package = kernel.package(made.origin.patches)
    return Source(
        made.release,
        build["tarball"],
        package,
        _version(package),
        build["tarball_sha256"],
        digest(made.path),
        tuple(recipe.patches),
    )


def _lay(made: kernel.Kernel, inside: Path, package: Path) -> tuple[int, int]:
    """Puts a kernel and its sources in their places; gives the C library's version it needs."""
    assert made.origin is not None, "it was built here"
    entry = made.path.parent
    folder = inside / "kernels" / made.key
    folder.mkdir(parents=True)
    for name in ("linux", "config"):
        shutil.copy2(entry / name, folder / name)
    build = cache.described(entry)
    # When it was built here is of no meaning elsewhere.
    (folder / "build.json").write_text(cache.as_json({**build, "names": {made.name: 0}}))
    recipe = Recipe.shipped(made.origin.patches)
    assert recipe is not None, "these patches come with cclab"
    sources = inside / "sources" / made.name
    sources.mkdir(parents=True)
    for name, content in recipe.patches:
        (sources / name).write_text(content)
    (sources / "fragment.config").write_text(recipe.fragment)
    of = source(made)
    (sources / "SOURCE.txt").write_text(
        f"Linux {made.release}\n"
        f"tarball: {of.tarball}, of Debian's package {of.package} {of.version}\n"
        f"SHA-256 of the tarball: {of.tarball_sha256}\n"
        f"where: {SNAPSHOT}, or beside this wheel in its release\n"
        f"patches: those in this folder, in the order of their names\n"
        f"configuration: ../../kernels/{made.key}/config\n"
        f"compiler: {build['compiler']}\n"
        f"how: cclab kernel build --name {made.name}\n"
    )
    if not (package / "COPYING").exists():
        (package / "COPYING").write_bytes(_copying(kernel.debian(made.origin.patches)))
    symbols = said(["objdump", "-T", str(entry / "linux")])
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)
    return max((int(major), int(minor)) for major, minor in versions)


def _copying(tarball: Path) -> bytes:
    """The licence of Linux, with the text of the GPL: COPYING names it, LICENSES/ holds it."""
    wanted = ("COPYING", "LICENSES/preferred/GPL-2.0", "LICENSES/exceptions/Linux-syscall-note")
    texts: dict[str, bytes] = {}
    with lzma.open(tarball) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = member.name.partition("/")[2]
            if name in wanted and (file := tar.extractfile(member)) is not None:
                texts[name] = file.read()
            if len(texts) == len(wanted):
                break
    return b"\n".join(texts[name] for name in wanted)


def _version(package: str) -> str:
    return said(["dpkg-query", "--show", "--showformat=${Version}", package])


def date() -> dict[str, str]:
    """The date of all files in wheels: the commit's, or what the environment says."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None and not (ROOT / ".git").exists():
        raise SystemExit("no repository tells the date of the files; set SOURCE_DATE_EPOCH")
    return {"SOURCE_DATE_EPOCH": given or said(["git", "log", "-1", "--format=%ct"])}


def revision() -> str:
    """What is built: the commit, and whether it was changed; empty where there is no repository."""
    try:
        return said(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
    except (OSError, subprocess.CalledProcessError):
        return ""


if __name__ == "__main__":
    main()
