"""`cclab analyze`: what the TCP connections and conversations over UDP in a capture did."""

from __future__ import annotations

import os
import signal
import stat
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cclab import _core, shell
from cclab.captures import analyze as analyze_capture
from cclab.cli import options
from cclab.cli.console import count, note, print_csv, print_json
from cclab.cli.progress import Display
from cclab.errors import CaptureError, InputError
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cclab.captures import Capture
    from cclab.captures.series import folder as folders
    from cclab.cli import connections
else:
    connections = late("cclab.cli.connections")
    folders = late("cclab.captures.series.folder")

_MOST_CONNECTIONS = 2**32 - 1

COMMAND_SETTINGS = {"allow_extra_args": True}
"""Files beyond the first are refused here, in words that say what would be right."""


def analyze(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A pcap or pcapng file, compressed or not; - for standard input.",
        ),
    ],
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="All numbers, a line per direction.")] = False,
    udp: Annotated[
        bool, typer.Option("--udp", help="With --csv: conversations over UDP, not connections.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write tables, figures of series and an interactive page there."
        ),
    ] = None,
    xplot: Annotated[
        bool, typer.Option("--xplot", help="Write graphs for xplot too, named as tcptrace's.")
    ] = False,
    series: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT", help="Write series as csv or parquet too; repeatable."),
    ] = None,
    connection: Annotated[
        list[int] | None,
        typer.Option(
            parser=options.whole("--connection", 1, _MOST_CONNECTIONS),
            metavar="N",
            help="Write series of this connection, not of the largest; repeatable.",
        ),
    ] = None,
    interval: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="FROM TO",
            help="Tell how flows shared this time, such as 10s 20s after the first packet.",
        ),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option(
            parser=options.whole("--max-connections", 1, _MOST_CONNECTIONS),
            metavar="N",
            help="Connections and conversations to keep; 50000 of each if not given.",
        ),
    ] = None,
    max_decompressed: options.MaxDecompressed = None,
) -> None:
    """Analyze a packet capture: throughput, losses, RTT and windows of each TCP connection.

    Of UDP and QUIC: rates, sizes and times between datagrams of each conversation.
    """
    if context.args:
        raise InputError(_one_at_a_time([file, *context.args]))
    if json and csv:
        raise InputError("--json and --csv: one of them")
    if udp and not csv:
        raise InputError("--udp chooses what --csv prints: give --csv too")
    formats = _formats(series or [], xplot)
    if connection and not (out or formats):
        raise InputError("--connection chooses what is written: give --out DIR too")
    bounds = _Bounds(max_connections, _seconds(interval), max_decompressed)
    if file.is_fifo():
        note(f"waiting for a program that writes a capture into {file}")
    with _an_interrupt_ends_the_writer(file):
        if out or formats:
            capture = _written(file, out, bounds, connection, formats)
        else:
            with Display(_doing(file)):
                capture = bounds.analyze(file)
    if json:
        print_json(capture.document)
    elif csv:
        print_csv(capture.rows[udp].csv())
    else:
        connections.print_capture(capture)
    if capture.problems:  # or what prints them would be loaded for nothing
        connections.print_problems(capture)


def _one_at_a_time(files: Sequence[str | Path]) -> str:
    """What to say where `files` are given for one."""
    named = files if len(files) < 4 else [*files[:2], "..."]
    merging = shell.command("mergecap", "-w", "all.pcapng", *named)
    return (
        f"{len(files)} files, and a call is of one capture: call cclab analyze for each, or make "
        f"one capture of several of the same place by {merging}"
    )


@contextmanager
def _an_interrupt_ends_the_writer(file: Path) -> Iterator[None]:
    """Leaves Ctrl-C to the program that writes into our standard input, and analyses what it wrote.

    A capture through a pipe ends in no other way. Another Ctrl-C ends the analysis itself, and so
    does the first where none had begun.
    """
    piped = str(file) == "-" and stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)
    before = signal.getsignal(signal.SIGINT)
    interrupted = False

    def once(number: int, frame: object) -> None:
        nonlocal interrupted
        interrupted = True
        # The next one is meant for us.
        signal.signal(signal.SIGINT, before)

    if piped:
        signal.signal(signal.SIGINT, once)
    try:
        yield
    except CaptureError:
        # What is no capture by its first bytes is refused as they come, without waiting for more.
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class _Bounds:
    """What bounds an analysis, and what it is asked for."""

    max_connections: int | None
    interval: tuple[float, float] | None
    max_decompressed: int | None

    def analyze(self, file: Path, series: Path | None = None) -> Capture:
        return analyze_capture(
            file,
            max_connections=self.max_connections,
            interval=self.interval,
            series=series,
            max_decompressed=self.max_decompressed,
        )


def _name(file: Path) -> str:
    return "standard input" if str(file) == "-" else file.name


def _doing(file: Path) -> str:
    return f"analyzing {_name(file)}"


def _seconds(interval: tuple[str, str] | None) -> tuple[float, float] | None:
    if interval is None:
        return None
    borders = []
    for text in interval:
        # A number alone has no unit, and "10" might be anything.
        seconds = _core.number(text) if text.endswith("s") else None
        if seconds is None:
            raise InputError(f'--interval {" ".join(interval)}: {text} is no time such as "10s"')
        borders.append(seconds)
    return borders[0], borders[1]


def _formats(series: list[str], xplot: bool) -> list[str]:
    """What series are to be written as, beside the figures."""
    wrong = [f for f in series if f not in ("csv", "parquet")]
    if wrong:
        raise InputError(f"--series {wrong[0]}: csv or parquet")
    return sorted(set(series)) + ["xplot"] * xplot


def _written(
    file: Path,
    out: Path | None,
    bounds: _Bounds,
    connections: list[int] | None,
    formats: list[str],
) -> Capture:
    """Analyses `file`, writes all of it, and says where."""
    name = _name(file)
    folder = out or Path(f"{'standard-input' if str(file) == '-' else name}.analysis")
    with folders.folder(folder) as place, Display(_doing(file)):
        capture = bounds.analyze(file, series=place)
        folders.fill(place, capture, name, connections, formats)
    chosen = "" if out else "; --out DIR chooses another folder"
    note(f"written: {folder / folders.PAGE}, and tables and figures beside it{chosen}")
    left = capture.tables.with_data - folders.MOST_CONNECTIONS
    if not connections and left > 0:
        note(
            f"series of the {folders.MOST_CONNECTIONS} connections with the most data; "
            f"{count(left, 'other')} carried data too: --connection N chooses"
        )
    return capture
