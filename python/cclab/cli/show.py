"""`cclab show`: the runs of a results folder over time, in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cclab.cli import options
from cclab.cli.console import note, tell
from cclab.cli.held import measured_in
from cclab.errors import InputError
from cclab.late import late

if TYPE_CHECKING:
    from cclab.report import opened
else:
    opened = late("cclab.report.opened")


def show(
    folder: options.ResultsFolder,
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
    tell(opened.show(measured_in(folder), run, with_, note, opens=not no_open))
