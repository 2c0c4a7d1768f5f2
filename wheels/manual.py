"""Writes the manual page cclab(1) of what the help says: `make manual`.

    python wheels/manual.py [FILE]

It says the version, and the day that SOURCE_DATE_EPOCH names, or today: equal sources of equal date
give equal bytes.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cclab import _core
from cclab.cli import main as command_line
from cclab.cli.exits import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE = Path(__file__).parent / "files" / "data" / "share" / "man" / "man1" / "cclab.1"
"""Where `maturin` takes it from, into the wheel."""


def main() -> None:
    """Writes the page to where it is told to."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE
    write(file, int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    print(file)


def write(file: Path, date: int) -> None:
    """Writes the page, of `date` in seconds since 1970."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(page(date)) + "\n", encoding="utf-8")


def page(date: int) -> Iterator[str]:
    """The lines of the page, as the macros of man(7) have them."""
    day = time.strftime("%Y-%m-%d", time.gmtime(date))
    command = typer.main.get_command(command_line.verbs(*command_line.VERBS))
    yield f'.TH CCLAB 1 "{day}" "cclab {_core.VERSION}" "User Commands"'
    help_ = _line(command.help)
    yield from (".SH NAME", _text(f"cclab - {help_[0].lower()}{help_[1:].rstrip('.')}"))
    yield from (".SH SYNOPSIS", ".B cclab", ".I VERB", "[OPTION]... [ARGUMENT]...")
    yield from (".SH DESCRIPTION", _text(help_))
    yield from _options(command, typer.Context(command, info_name="cclab"))
    yield ".SH VERBS"
    yield from _verbs(command, ("cclab",))
    yield ".SH EXIT STATUS"
    for code, meaning in MEANINGS.items():
        yield from (".TP", f".B {code}", _text(meaning))
    yield ".SH SEE ALSO"
    yield from (".B cclab list", _text("for the names that studies use,"))
    yield from (".B cclab doctor", _text("for what this machine lacks,"))
    yield from (".B cclab completion", _text("for completion in a shell."))


def _verbs(command: Any, words: tuple[str, ...]) -> Iterator[str]:
    """Of each verb how it is called, what it does, what it takes."""
    for name, verb in command.commands.items():
        called = (*words, name)
        if hasattr(verb, "commands"):
            yield from _verbs(verb, called)
            continue
        context = typer.Context(verb, info_name=" ".join(called))
        yield f'.SS "{_text(" ".join(called))} {_text(" ".join(_arguments(verb)))}"'
        yield _text(_line(verb.help))
        yield from _options(verb, context)


def _arguments(verb: Any) -> Iterator[str]:
    """The arguments as a line has them: what may be left out is in brackets."""
    for parameter in verb.params:
        if parameter.param_type_name == "argument":
            named = parameter.metavar or parameter.name.upper()
            yield named if parameter.required or named.startswith("[") else f"[{named}]"


def _options(verb: Any, context: Any) -> Iterator[str]:
    """The arguments and the options, each with its help."""
    for parameter in verb.get_params(context):
        told = parameter.get_help_record(context)
        # That of a verb is asked for as cclab's own.
        if told is None or (context.info_name != "cclab" and "--help" in parameter.opts):
            continue
        names, meaning = told
        if parameter.param_type_name == "argument":
            names, meaning = parameter.metavar, meaning.removesuffix("[required]")
        yield from (".TP", f".B {_text(_line(names))}", _text(_line(meaning)))


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _text(line: str) -> str:
    """A line of text for troff: what it would read as its own is escaped."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return re.sub(r"^([.'])", r"\\&\1", escaped)


if __name__ == "__main__":
    main()
