"""The options that several verbs share."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from cclab import _core, shown
from cclab.cli import choices
from cclab.cli.console import note
from cclab.late import late
from cclab.machine import MOST_JOBS

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.execute import address
    from cclab.execute.address import Scheduler
else:
    address = late("cclab.execute.address")


_I63 = 2**63 - 1
_U32 = 2**32 - 1
_U64 = 2**64 - 1


class Refusal(TyperException):
    """An option's value is wrong: the message names both and the right form."""

    # Not a ValueError: the framework would put words of its own around the message.
    exit_code = 2


def whole(option: str, least: int, most: int) -> Callable[[object], int]:
    """Reads the whole number, from `least` to `most`, that is given for `option`."""

    def read(value: object) -> int:
        try:
            number = int(str(value))
        except ValueError:
            raise Refusal(f"{option} {value}: not a whole number") from None
        if number < least:
            raise Refusal(f"{option} {value}: at least {least}")
        if number > most:
            raise Refusal(f"{option} {value}: at most {most}")
        return number

    return read


def let_pipes_break() -> None:
    """Has a connection that is closed by its other end be an error, as for any program of Python.

    TLS writes to it before it has read that, and the signal would end this process.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|ADDRESS",
        help="A cluster whose workers do the runs: its file, or a Dask scheduler's address.",
    ),
]


def scheduler(cluster: str | None) -> Scheduler | None:
    """The scheduler of `cluster`, the value of --cluster, of whose dangers the user is told."""
    if cluster is None:
        return None
    let_pipes_break()
    of_cluster = address.Scheduler.of(cluster)
    if of_cluster.danger is not None:
        note(of_cluster.danger)
    return of_cluster


def _repeat(value: object) -> int | str:
    """Reads the number of runs of a point; the core decides whether other text is a rule."""
    text = str(value).strip()
    return _times(text) if text.lstrip("+-").isdecimal() else text


def _size(value: object) -> int:
    """Reads a size, such as 4GiB."""
    text = shown.line(str(value))
    bytes_ = _core.number(text) if _core.dimension(text) == "size" else None
    if bytes_ is None or not 1 <= bytes_ <= _I63:
        raise Refusal(f"--max-decompressed {text}: not a size such as 4GiB")
    return int(bytes_)


_times = whole("--repeat", 1, _U32)

StudyFile = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY.toml",
        help="The study file, or a ready study by its name, such as rrul.",
        autocompletion=choices.studies,
    ),
]
ResultsFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="A results folder.", autocompletion=choices.folders),
]
Backend = Annotated[
    str | None,
    typer.Option(
        metavar="B",
        help="What to run on, instead of the study's backend.",
        autocompletion=choices.of(choices.backends),
    ),
]
Repeat = Annotated[
    # A union would be taken for text.
    int | None,
    typer.Option(
        parser=_repeat, metavar="N|RULE", help='Runs per sweep point, or "until ci95 < 2%".'
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(parser=whole("--seed", 0, _U64), metavar="N", help="Seed of the first run."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        parser=whole("--jobs", 1, MOST_JOBS), metavar="N", help="Runs at a time; one per CPU."
    ),
]
MaxDecompressed = Annotated[
    int | None,
    typer.Option(
        parser=_size,
        metavar="SIZE",
        help="What a compressed file may become, such as 4GiB; plausible sizes if not given.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a key, such as duration=10s."),
]
EveryFlow = Annotated[
    bool, typer.Option("--all", help="A row for every flow, also where a group has many.")
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")
]
