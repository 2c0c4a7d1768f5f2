"""What passes between cclab and a shell that completes its command lines.

A shell that completes a line calls `cclab` with that line in its environment; typer answers it. The
text that has a shell do so is typer's, too.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from cclab.late import late

if TYPE_CHECKING:
    from typer import completion
else:
    completion = late("typer.completion")

_PROGRAM = "cclab"

_ASKS = "_CCLAB_COMPLETE"
"""The variable by which typer knows that a shell asks, after the program's name."""

_LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Where the line is: that of bash, then that of the others."""


class Shell(StrEnum):
    """A shell that can complete command lines."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def asked() -> list[str] | None:
    """The words of the line that a shell asks to complete; None if none asks."""
    if not os.environ.get(_ASKS):
        return None
    # typer does this by itself where it adds options of its own, which install completion.
    completion.completion_init()  # type: ignore[attr-defined] # it comes from a private module
    line = next((os.environ[name] for name in _LINES if name in os.environ), "")
    return line.split()[1:]


def script(shell: Shell) -> str:
    """What `shell` has to read to complete the command lines of cclab."""
    text: str = completion.get_completion_script(  # type: ignore[attr-defined] # as above
        prog_name=_PROGRAM, complete_var=_ASKS, shell=shell
    )
    return text
