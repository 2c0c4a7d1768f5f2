"""Other programs, and what they print."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[1]


def said(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What a command prints, run at the root of the repository."""
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def host() -> str:
    """The system that Rust compiles for."""
    return _of_rustc("host", r".*")


def llvm_profdata() -> Path:
    """The program that merges the counts of training runs, of the LLVM that rustc has.

    Ends with a message that says how to get it where it is missing.
    """
    major = _of_rustc("LLVM version", r"\d+")
    tools = Path(said(["rustc", "--print", "sysroot"])) / "lib" / "rustlib" / host() / "bin"
    for name in (str(tools / "llvm-profdata"), f"llvm-profdata-{major}"):
        if (place := shutil.which(name)) is not None:
            return Path(place)
    raise SystemExit(
        "the wheel is compiled by a training run, and llvm-profdata, which merges its counts, is "
        f"missing: install Debian's llvm-{major}, or run `rustup component add llvm-tools`; "
        "`make wheel WHEEL_FLAGS=--untrained` compiles without"
    )


def _of_rustc(key: str, pattern: str) -> str:
    told = re.search(rf"^{key}: ({pattern})", said(["rustc", "-vV"]), re.MULTILINE)
    assert told is not None, f"rustc tells its {key}"
    return told[1]
