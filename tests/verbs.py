"""The verbs of the command line, and what they take, as the parser itself has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from cclab.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator


_OF_FILES = r"DIR|FILE|\.toml"
"""What the help calls a file or a folder."""


class Verb(NamedTuple):
    """A verb, what must be given to it, and the options that take something."""

    words: tuple[str, ...]
    required: int
    optional: int
    options: tuple[tuple[str, int], ...]
    paths: tuple[str, ...]
    """Of these, those that take a file or a folder."""

    @property
    def goes_on(self) -> bool:
        """Whether it takes hours, or does not end, as soon as it is called."""
        return self.words in (("cluster", "local"), ("kernel", "build"))


def _leaves(words: tuple[str, ...], command: Any) -> Iterator[Verb]:
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from _leaves((*words, name), below)
        return
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    yield Verb(
        words,
        sum(p.required for p in arguments),
        sum(max(1, p.nargs) for p in arguments if not p.required),
        tuple((p.opts[-1], p.nargs) for p in options if not p.is_flag),
        tuple(p.opts[-1] for p in options if re.search(_OF_FILES, p.metavar or "")),
    )


VERBS = list(_leaves((), typer.main.get_command(main.verbs(*main.VERBS))))
