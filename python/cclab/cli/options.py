"""The options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.")]
Backend = Annotated[
    str | None, typer.Option(metavar="B", help="What to run on, instead of the study's backend.")
]
Repeat = Annotated[int | None, typer.Option(min=1, metavar="N", help="Runs per sweep point.")]
Seed = Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed of the first run.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a key, such as duration=10s."),
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")
]
