"""`cclab completion`: what a shell reads to complete command lines of cclab."""

from __future__ import annotations

from typing import Annotated

import typer

from cclab import shown
from cclab.cli import choices, shells
from cclab.cli.console import tell
from cclab.errors import InputError


def completion(
    shell: Annotated[
        str,
        typer.Argument(
            metavar="|".join(shells.Shell),
            help="The shell that is to read it.",
            autocompletion=choices.of(lambda: shells.Shell),
        ),
    ],
) -> None:
    """Print what a shell reads to complete verbs, options and names of cclab."""
    if shell not in set(shells.Shell):
        known = ", ".join(shells.Shell)
        raise InputError(f"no completion for {shown.quoted(shell)}; one of {known}")
    tell(shells.script(shells.Shell(shell)))
