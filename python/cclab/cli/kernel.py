"""`cclab kernel`: make, find and try the kernels of the linux backend."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD

from cclab import kernel
from cclab.cli import choices, options
from cclab.cli.console import note, print_json, tell
from cclab.cli.drawn import Grid, show, stdout, styled
from cclab.cli.progress import BuildProgress, Display, duration
from cclab.errors import RunError
from cclab.late import late

if TYPE_CHECKING:
    from cclab.verification import kernels as kernel_checks
    from cclab.verification.kernels import Check
else:
    kernel_checks = late("cclab.verification.kernels")

app = typer.Typer(
    help="Make, find and try the kernels of the linux backend.",
    no_args_is_help=True,
)

Source = Annotated[
    Path | None,
    typer.Option(
        metavar="TARBALL",
        help="A .tar.xz or .tar.gz of Linux, instead of that of Debian's package for its series.",
    ),
]
BuiltName = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="What studies call it; a series such as 6.1 has a package of Debian's for source.",
    ),
]
Patches = Annotated[
    Path | None,
    typer.Option(
        "--patches", metavar="FOLDER", help="Patches of your own, instead of those of its series."
    ),
]
Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        show_default=False,
        help="A kernel of `cclab kernel list`.",
        autocompletion=choices.of(choices.kernels),
    ),
]
CompilerJobs = Annotated[
    int | None,
    typer.Option(
        parser=options.whole("--jobs", 1, 4096),
        metavar="N",
        help="Compilers at a time; one per CPU.",
    ),
]


@app.command("build")
def build(
    source: Source = None,
    name: BuiltName = None,
    patches: Patches = None,
    jobs: CompilerJobs = None,
    force: Annotated[bool, typer.Option("--force", help="Build it again.")] = False,
) -> None:
    """Make a kernel from its source; a few minutes, once."""
    began = time.monotonic()
    with BuildProgress() as progress:
        made = kernel.build(source, jobs, progress, force=force, name=name, patches=patches)
    took = f"built in {duration(time.monotonic() - began)}" if progress.worked else "already built"
    note(f"Linux {made.release}, called {made.name}, {took}")
    taken = kernel.installed(made.name)
    if taken is not None and taken.path != made.path:
        note(
            f"studies take the kernel {made.name} that came with cclab-kernel, {taken.path}: "
            "uninstall that, or give this one a name of its own with --name"
        )
    tell(str(made.path))


@app.command("list")
def list_(json: options.Json = False) -> None:
    """List the kernels that are built."""
    made = kernel.listed()
    if json:
        print_json({"schema": "cclab-kernels/1", "kernels": [_row(built) for built in made]})
        return
    if not made:
        note(f"no kernel is built; please run: {kernel.build_command()}")
        return
    table = Grid(header_style="bold", box=SIMPLE_HEAD)
    for heading in ("name", "release", "key", "size", "source", "patches", ""):
        table.add_column(heading)
    for built in made:
        row = _row(built)
        state = "" if row["current"] else "of another cclab: build it again"
        size = f"{row['size_bytes'] / 1e6:.1f} MB"
        table.add_row(
            *(row[key] for key in ("name", "release", "key")),
            size,
            *(row[key] for key in ("source", "patches")),
            state,
        )
    show(stdout(), table)


@app.command("path")
def path(name: Name = None) -> None:
    """Print where a kernel is."""
    tell(str(_there(name).path))


@app.command("test")
def try_(name: Name = None) -> None:
    """Boot a kernel and try it: the delay of a ping, the rate of a transfer, the variants."""
    done = []
    tried = _there(name)
    with Display(f"trying {tried.name}") as display:
        for check in kernel_checks.checks(tried):
            done.append(check)
            display.note(f"{check.name}: {'ok' if check.ok else 'FAILED'}")
    show(stdout(), _table(done))
    failed = [check.name for check in done if not check.ok]
    if failed:
        raise RunError(f"the kernel does not do what it should: {', '.join(failed)}")


def _there(name: str | None = None) -> kernel.Kernel:
    """The kernel `name`. Raises `RunError` with the command that makes it if there is none."""
    built = kernel.installed(name)
    if built is None:
        raise RunError(kernel.not_built(name))
    return built


def _row(made: kernel.Kernel) -> dict[str, Any]:
    """What `list` says of a kernel."""
    assert made.origin is not None, "a kernel in the cache was made here"
    return {
        "name": made.name,
        "release": made.release,
        "key": made.key,
        "size_bytes": made.path.stat().st_size,
        "source": made.origin.tarball,
        "patches": made.origin.patches,
        "current": made.origin.current,
        "path": str(made.path),
    }


def _table(checks: list[Check]) -> Grid:
    table = Grid(header_style="bold", box=SIMPLE_HEAD)
    for heading in ("check", "", "expected", "found"):
        table.add_column(heading)
    for check in checks:
        mark = styled("ok", "green") if check.ok else styled("FAILED", "bold red")
        table.add_row(check.name, mark, check.expected, check.found)
    return table
