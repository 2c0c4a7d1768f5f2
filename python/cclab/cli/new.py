"""`cclab new`: files to begin with."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from cclab import _core, shell, shown, starts, whole
from cclab.cli import choices
from cclab.cli.console import tell
from cclab.errors import InputError

_LONGEST = 15
"""Characters of a variant's name: the kernel's `TCP_CA_NAME_MAX` with the closing zero."""

app = typer.Typer(help="Write files to begin with.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="What tables call it, such as slow_reno.")
]
Language = Annotated[
    str,
    typer.Option(
        "--language",
        metavar="c|python|rust",
        help="What it is written in.",
        show_default=False,
        autocompletion=choices.of(lambda: starts.LANGUAGES),
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where to write; NAME if not given.")
]
LabsOut = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")]


@app.callback()
def new() -> None:
    """Write files to begin with."""


@app.command("variant")
def variant(name: Name, language: Language, out: Out = None) -> None:
    """Write a congestion control of your own that works, a study of it, and a test."""
    _check(name, language)
    folder = out if out is not None else Path(name)
    texts = starts.texts(name, language)
    _write(folder, texts)
    study = folder / "study.toml"
    for file in texts:
        tell(str(folder / file))
    tell(f"\nnext: {shell.called('cclab')} run {shell.word(study)}")
    tell(f"      {shell.called('pytest')} {shell.word(folder)}")


@app.command("labs")
def labs(out: LabsOut = Path("labs")) -> None:
    """Write the eight labs: notebooks that ask, let you predict, and run."""
    texts = starts.labs()
    _write(out, texts)
    for file in texts:
        tell(str(out / file))
    jupyter = shell.called("jupyter")
    tell(f"\nnext: {jupyter} lab {shell.word(out)}   (pip install 'cclab[labs]' brings it)")


def _check(name: str, language: str) -> None:
    """Raises `InputError` if no variant can be called `name`, or `language` is none of ours."""
    if language not in starts.LANGUAGES:
        near = difflib.get_close_matches(language.lower(), starts.LANGUAGES, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"--language {language}: one of {', '.join(starts.LANGUAGES)}{meant}")
    if not re.fullmatch(r"[a-z](_?[a-z0-9])*", name) or len(name) > _LONGEST:
        raise InputError(
            f"{shown.quoted(name)} cannot be the name of a variant: it has up to {_LONGEST} "
            "small letters, digits and single `_` between them, and begins with a letter"
        )
    if name in {row["name"] for row in json.loads(_core.variants())}:
        raise InputError(f"{name} is a variant of cclab (cclab list variants): choose another name")
    if why := starts.taken(name, language):
        raise InputError(f"{name}: {why}: choose another name")


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Writes `texts` into `folder`. Raises `InputError` if one of the files is there."""
    there = [name for name in texts if os.path.lexists(folder / name)]
    if there:
        raise InputError(
            f"{folder} has {' and '.join(there)} already, which stays: name another folder by --out"
        )
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is no folder: name another one by --out")
    # Whoever wrote one of the files meanwhile keeps it.
    whole.files(folder, {name: text.encode() for name, text in texts.items()}, keep=True)
