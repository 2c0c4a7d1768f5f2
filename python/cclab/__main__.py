"""The command `cclab`, which is also `python -m cclab`."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from cclab.late import late

if TYPE_CHECKING:
    from cclab.cli import main as commands
else:
    commands = late("cclab.cli.main")

_SEARCH_AFTER = 50_000
"""New objects after which garbage is searched for among them. Little is garbage of what a command
loads, reads and makes, and the searches would take a twentieth of its time."""


def main() -> None:
    """Runs the command line on the process's arguments, and exits."""
    gc.set_threshold(_SEARCH_AFTER)
    commands.main()


if __name__ == "__main__":
    main()
