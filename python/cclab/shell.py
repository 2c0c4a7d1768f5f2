"""Commands as a shell takes them, in messages that name one."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core

if TYPE_CHECKING:
    from pathlib import PurePath


def word(text: str | PurePath) -> str:
    """`text` as one word of a command. What a terminal would obey, and bytes that are no UTF-8,
    are written byte by byte as `$'...'` of bash and zsh has them in every locale."""
    text = str(text)
    if _core.shown(in_bytes(text)) == text:
        return shlex.quote(text)
    return f"$'{''.join(map(_in_quotes, text))}'"


def command(*words: str | PurePath) -> str:
    """A command of these words, between the marks that messages set around one."""
    return f"`{' '.join(map(word, words))}`"


def called(program: str) -> str:
    """How a shell here calls `program`, if it is one of those beside this Python: by its name where
    that finds it, else by its path. What else is called so is called by its name."""
    own = Path(sys.executable).with_name(program)
    found = shutil.which(program)
    if not own.exists() or (found is not None and Path(found).samefile(own)):
        return program
    here = Path.cwd()
    return word(own.relative_to(here) if own.is_relative_to(here) else own)


def in_bytes(text: str) -> bytes:
    """`text` as names of files have it."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # Half of a pair, as `\\ud800` in JSON: no byte of a name.
        return text.encode("utf-8", "backslashreplace")


def _in_quotes(letter: str) -> str:
    """A letter between `$'` and `'`. There `\\u` stands for other bytes in other locales."""
    if letter in "\\'":
        return f"\\{letter}"
    shown = _core.shown(in_bytes(letter))
    if shown == letter or letter.isascii():
        return shown
    return "".join(f"\\x{byte:02x}" for byte in in_bytes(letter))
