"""Builds the wheel `cclab` for Linux on another processor into dist/: `make wheel-aarch64`.

    python wheels/foreign.py TARGET --zig DIR [--out DIR]

TARGET is the system as rustc calls it, DIR the programs of an environment that has cargo-zigbuild:
zig compiles what is in C, and links. There is no training run, which the other processor would have
to do, and no wheel of kernels: User Mode Linux is for x86.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import build
import manual
from guided import RUSTFLAGS, SEPARATOR
from programs import ROOT, said

if TYPE_CHECKING:
    from collections.abc import Mapping

GLIBC = (2, 28)
"""The oldest C library that the wheel is for."""


def main() -> None:
    """Builds the wheel that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--zig", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    build.told(wheel(given.target, given.zig.resolve(), given.out))


def wheel(target: str, zig: Path, out: Path) -> Path:
    """The wheel `cclab` for `target`, with the programs in `zig`.

    It is made of a copy of the sources: in their place lies the agent of this processor.
    """
    if not Path(said(["rustc", "--print", "target-libdir", "--target", target])).is_dir():
        raise SystemExit(
            f"Rust has no library for {target}; please run: rustup target add {target}"
        )
    place = build.target().resolve() / "foreign"
    sources, made = place / "sources", place / "made"
    for folder in (sources, made):
        shutil.rmtree(folder, ignore_errors=True)
    _copy(sources)
    environment = {
        **os.environ,
        **build.date(),
        "CCLAB_BUILT_FROM": build.revision(),
        "CARGO_TARGET_DIR": str(place),
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        "PATH": os.pathsep.join((str(zig), os.environ["PATH"])),
        RUSTFLAGS: SEPARATOR.join(build.without_paths(sources)),
    }
    manual.write(sources / manual.PLACE.relative_to(ROOT), int(environment["SOURCE_DATE_EPOCH"]))
    _agent(target, sources, environment)
    maturin = [str(build.BIN / "maturin"), "build", "--profile", "release", "--locked", "--zig"]
    maturin += ["--compatibility", "manylinux_{}_{}".format(*GLIBC)]
    maturin += ["--features", "extension-module", "--target", target, "--out", str(made)]
    subprocess.run(maturin, cwd=sources, env=environment, check=True)
    (packed,) = made.glob("cclab-*.whl")
    return Path(shutil.move(packed, out / packed.name))


def _copy(place: Path) -> None:
    """Copies every file of the repository, as it is now."""
    listed = said(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_symlink() or source.is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / name, follow_symlinks=False)


def _agent(target: str, sources: Path, environment: Mapping[str, str]) -> None:
    """Builds the program that carries runs out, which here is for namespaces of the host alone."""
    cargo = ["cargo-zigbuild", "zigbuild", "--locked", "--release", "-p", "cclab-agent"]
    cargo += ["--target", "{}.{}.{}".format(target, *GLIBC)]
    subprocess.run(cargo, cwd=sources, env=environment, check=True)
    place = sources / "python" / "cclab" / "bin" / "cclab-agent"
    place.parent.mkdir(exist_ok=True)
    shutil.copy(Path(environment["CARGO_TARGET_DIR"]) / target / "release" / place.name, place)


if __name__ == "__main__":
    main()
