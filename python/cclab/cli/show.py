"""`cclab show`: the runs of a results folder over time, in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cclab import report as reports
from cclab.cli.console import note, tell
from cclab.cli.held import measured_in
from cclab.errors import InputError


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    run: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="The run to open: its id, or how that begins (cclab query)."
        ),
    ] = None,
    with_: Annotated[
        str | None, typer.Option("--with", metavar="RUN", help="The run to lay beside it.")
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only print where the page is.")
    ] = False,
) -> None:
    """Open the page of a results folder: runs over time, one, or two side by side."""
    if with_ is not None and run is None:
        raise InputError("--with lays a run beside another: give --run too")
    asked = [beginning for beginning in (run, with_) if beginning is not None]
    measured = measured_in(folder)
    out = folder / "report"
    chosen = reports.runs_called(measured, asked)
    for lacking in [one.run.id for one in chosen if not one.is_sampled]:
        note(f"run {lacking} recorded no samples: trace.interval is 0s, so it has no time series")
    reports.refresh(measured, out, [one.run.id for one in chosen if one.is_sampled])
    page = (out / reports.EXPLORE).absolute()
    fragment = reports.fragment_of(chosen)
    tell(f"{page.as_uri()}#{fragment}" if fragment else str(page))
    if not no_open:
        # Desktops open files, and lose what stands behind their names: a page leads there.
        leading = reports.write_leading(measured, out, fragment) if fragment else page
        _open(leading.absolute())


def _open(page: Path) -> None:
    """Opens a page in the user's browser, if there is one that has a window."""
    if not _has_display():
        note("there is no display to open it on; open it in a browser")
        return
    try:
        is_open = webbrowser.open(page.as_uri())
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        note("no browser could be started; open it in one, or name one in BROWSER")


def _has_display() -> bool:
    """Whether a browser would have a window: one in the terminal cannot draw the page."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
