"""`cclab doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cclab import _core, versions
from cclab.cli import checks as backends
from cclab.cli import options
from cclab.cli.checks import Check
from cclab.cli.console import print_json
from cclab.cli.drawn import line_of, stdout
from cclab.errors import StoreError
from cclab.machine import cpus
from cclab.store import Store
from cclab.store.folder import RESULTS

if TYPE_CHECKING:
    from rich.text import Text

_LIBRARIES = ("polars", "numpy", "matplotlib", "jinja2", "rich", "typer")
_TOOLS = (
    ("tshark", "reads packet captures as text", "apt install tshark"),
    ("wireshark", "shows packet captures", "apt install wireshark"),
    ("tcptrace", "analyses packet captures", "apt install tcptrace"),
)


def doctor(
    json: options.Json = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The results folder to try to write to.")
    ] = RESULTS,
) -> None:
    """Check this machine: what is there, what is missing, how to get it."""
    checks = [
        Check("python", True, True, platform.python_version(), ""),
        Check("cclab", True, True, f"{_core.VERSION}, {versions.AT_HAND}", ""),
        Check("processors", True, True, str(cpus()), ""),
        *(_library(name) for name in _LIBRARIES),
        _store(out),
        *(_tool(*tool) for tool in _TOOLS),
        *backends.linux(),
        *backends.netns(),
    ]
    broken = [check for check in checks if check.needed and not check.ok]
    if json:
        print_json({"schema": "cclab-doctor/1", "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            stdout().print(_line(check), soft_wrap=True)
    if broken:
        raise typer.Exit(3)


def _library(name: str) -> Check:
    try:
        return Check(name, True, True, importlib.metadata.version(name), "")
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, True, "not installed", f"pip install {name}")


def _store(folder: Path) -> Check:
    """Whether a writer can open in `folder`; a folder made for the trial is removed again."""
    made = not folder.exists()
    try:
        with Store(folder).writer():
            pass
    except StoreError as error:
        return Check("results folder", False, True, str(error), "choose another with --out DIR")
    finally:
        if made:
            _remove_empty(folder)
    return Check("results folder", True, True, f"{folder} can be written", "")


def _remove_empty(folder: Path) -> None:
    """Removes what opening a writer made, unless somebody uses it by now."""
    with contextlib.suppress(OSError):
        (folder / "runs").rmdir()
        (folder / "tmp" / "lock").unlink()
        (folder / "tmp").rmdir()
        folder.rmdir()


def _tool(name: str, purpose: str, remedy: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(name, False, False, f"not found; it {purpose}", remedy)
    return Check(name, True, False, _version(path) or path, "")


def _version(path: str) -> str:
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next(iter(told.stdout.splitlines()), "").strip()


def _line(check: Check) -> Text:
    if check.ok:
        mark, style = "ok      ", "green"
    else:
        mark, style = ("MISSING ", "bold red") if check.needed else ("absent  ", "yellow")
    line = line_of((mark, style), f"{check.name}: {check.found}")
    if check.remedy:
        line.append(f"  ({check.remedy})", style="dim")
    return line
