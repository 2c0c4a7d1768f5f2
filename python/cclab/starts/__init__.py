"""Variants to begin with: what `cclab new variant` writes.

The files of this folder are a variant that works, in each language; what they call `gentle` gets
the name asked for.
"""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent
_NAME = "gentle"
_CLASS = "Gentle"
_ENDINGS = {"c": ".c", "python": ".py", "rust": ".rs"}
LANGUAGES = tuple(_ENDINGS)
"""What a variant may be written in."""


def class_of(name: str) -> str:
    """The class, or struct, of the variant `name`: `slow_start` is `SlowStart`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def file_of(name: str, language: str) -> str:
    """The name of the variant's file."""
    return name + _ENDINGS[language]


def path_of(name: str, language: str) -> str:
    """What a study beside the file writes for it."""
    ending = f":{class_of(name)}" if language == "python" else ""
    return f"./{file_of(name, language)}{ending}"


def taken(name: str, language: str) -> str | None:
    """Why no variant in `language` can be called `name`, if none can."""
    word = class_of(name)
    text = (_FOLDER / file_of(_NAME, language)).read_text(encoding="utf-8")
    used = re.search(rf"\b{word}\b", text) is not None and word != _CLASS
    if language == "c":
        # Functions of headers would be defined a second time.
        return "the kernel has names that begin so" if name.split("_")[0] == "tcp" else None
    if used or keyword.iskeyword(word) or word == "Self":
        return f"the file means something else by {word}"
    if language == "python" and (name in sys.stdlib_module_names or name == "cclab"):
        return "Python has a module of that name"
    return None


def texts(name: str, language: str) -> dict[str, str]:
    """What is written for the variant `name`: a text for the name of each file."""
    of_variant = file_of(_NAME, language)
    test = f"test_{_NAME}.py"
    written = {
        file_of(name, language): of_variant,
        "study.toml": "study.toml",
        f"test_{name}.py": test,
    }
    return {
        new: _named((_FOLDER / old).read_text(encoding="utf-8"), name, language)
        for new, old in written.items()
    }


def _named(text: str, name: str, language: str) -> str:
    """`text` with the variant's own names in it; `gentler` is a word and stays."""
    # In one go: what is put in may itself hold one of these words.
    new = {f"./{_NAME}.c": path_of(name, language), _NAME: name, _CLASS: class_of(name)}
    words = rf"\./{_NAME}\.c\b|(?:{_NAME}|{_CLASS})(?![a-z])"
    return re.sub(words, lambda found: new[found.group()], text)
