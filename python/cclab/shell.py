"""Commands as a shell takes them, in messages that name one."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from pathlib import PurePath


def word(text: str | PurePath) -> str:
    """`text` as one word of a command. What a terminal would obey, and bytes that are no UTF-8,
    are written as `$'...'` of bash, zsh and POSIX since 2024 has them."""
    text = str(text)
    shown = _core.shown(in_bytes(text))
    if shown == text:
        return shlex.quote(text)
    return f"$'{_core.shown(in_bytes(text.translate(_IN_QUOTES)))}'"


def command(*words: str | PurePath) -> str:
    """A command of these words, between the marks that messages set around one."""
    return f"`{' '.join(map(word, words))}`"


def in_bytes(text: str) -> bytes:
    """`text` as names of files have it."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # Half of a pair, as `\\ud800` in JSON: no byte of a name.
        return text.encode("utf-8", "backslashreplace")


_IN_QUOTES = str.maketrans({"\\": r"\\", "'": r"\'"})
