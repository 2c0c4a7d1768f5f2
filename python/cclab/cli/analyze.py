"""`cclab analyze`: what the TCP connections in a packet capture did."""

from __future__ import annotations

import os
import signal
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cclab.captures import analyze as analyze_capture
from cclab.cli import options
from cclab.cli.console import count, note, print_json, show, stderr, stdout, tell
from cclab.errors import CaptureError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.captures import Capture

_MOST_ROWS = 40
_MOST_CONNECTIONS = 2**32 - 1
_HEADINGS = (
    "#",
    "from",
    "to",
    "end",
    "elapsed (s)",
    "data (bytes)",
    "throughput (Mbit/s)",
    "packets",
    "retransmitted",
    "RTT min (ms)",
    "mean",
    "max",
    "in flight, max (bytes)",
    "peer's window, mean (bytes)",
)
_TEXT_COLUMNS = 4


def analyze(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A pcap or pcapng file, compressed or not; - for standard input.",
        ),
    ],
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="All numbers, a line per direction.")] = False,
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
    max_connections: Annotated[
        int | None,
        typer.Option(
            parser=options.whole("--max-connections", 1, _MOST_CONNECTIONS),
            metavar="N",
            help="Connections to keep; 100000 if not given.",
        ),
    ] = None,
) -> None:
    """Analyze a packet capture: throughput, losses, RTT and windows of each TCP connection."""
    if json and csv:
        raise InputError("--json and --csv: one of them")
    formats = _formats(series or [], xplot)
    if connection and not (out or formats):
        raise InputError("--connection chooses what is written: give --out DIR too")
    with _an_interrupt_ends_the_writer(file):
        if out or formats:
            capture = _written(file, out, max_connections, connection, formats)
        else:
            capture = analyze_capture(file, max_connections=max_connections)
    if json:
        print_json(capture.document)
    elif csv:
        sys.stdout.write(capture.connections.write_csv())
    else:
        _print_table(capture)
    _print_problems(capture)


@contextmanager
def _an_interrupt_ends_the_writer(file: Path) -> Iterator[None]:
    """Leaves Ctrl-C to the program that writes into our standard input: what it wrote is analysed.

    A capture through a pipe has no other end than that.
    """
    piped = str(file) == "-" and stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)
    before = signal.getsignal(signal.SIGINT)
    if piped:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _formats(series: list[str], xplot: bool) -> list[str]:
    """What series are to be written as, beside the figures."""
    wrong = [f for f in series if f not in ("csv", "parquet")]
    if wrong:
        raise InputError(f"--series {wrong[0]}: csv or parquet")
    return sorted(set(series)) + ["xplot"] * xplot


def _written(
    file: Path,
    out: Path | None,
    max_connections: int | None,
    connections: list[int] | None,
    formats: list[str],
) -> Capture:
    """Analyses `file`, writes all of it, and says where."""
    from cclab.series import folder as folders

    name = "standard input" if str(file) == "-" else file.name
    folder = folders.Folder(out or Path(f"{name.replace(' ', '-')}.analysis"))
    try:
        capture = analyze_capture(file, max_connections=max_connections, series=folder.path)
    except CaptureError:
        folder.abandon()
        raise
    page = folders.fill(folder, capture, name, connections, formats)
    chosen = "" if out else "; --out DIR chooses another folder"
    note(f"written: {page}, and tables and figures beside it{chosen}")
    left = capture.tables.with_data - folders.MOST_CONNECTIONS
    if not connections and left > 0:
        note(
            f"series of the {folders.MOST_CONNECTIONS} connections with the most data; "
            f"{count(left, 'other')} carried data too: --connection N chooses"
        )
    return capture


def _print_table(capture: Capture) -> None:
    rows: list[dict[str, Any]] = capture.document["connections"]
    peers = [rows[index ^ 1] for index in range(len(rows))]
    carrying = [pair for pair in zip(rows, peers, strict=True) if pair[0]["total_bytes"]]
    chosen = sorted(carrying, key=lambda pair: -pair[0]["unique_bytes"])[:_MOST_ROWS]
    kept = {id(row) for row, _ in chosen}
    table = Table(header_style="bold", box=SIMPLE_HEAD)
    for index, heading in enumerate(_HEADINGS):
        text = 0 < index < _TEXT_COLUMNS
        table.add_column(heading, justify="left" if text else "right", no_wrap=True)
    for row, peer in carrying:
        if id(row) in kept:
            table.add_row(*(Text(cell) for cell in _cells(row, peer)))
    total = count(len(rows) // 2, "TCP connection")
    tell(f"{total} in {capture.tcp_packets} of {count(capture.packets, 'packet')}")
    if chosen:
        show(stdout(), table)
    hidden = len(carrying) - len(chosen)
    if hidden:
        note(f"{count(hidden, 'direction')} with less data not shown; --csv and --json have all")


def _cells(row: dict[str, Any], peer: dict[str, Any]) -> list[str]:
    return [
        str(row["connection"]),
        _endpoint(row["source"], row["source_port"]),
        _endpoint(row["destination"], row["destination_port"]),
        row["end"],
        f"{row['elapsed_s']:.3f}",
        str(row["unique_bytes"]),
        _number(row["throughput_bps"], 1e-6, 3),
        str(row["packets"]),
        str(row["retransmitted_packets"]),
        _number(row["rtt_min_s"], 1e3, 1),
        _number(row["rtt_mean_s"], 1e3, 1),
        _number(row["rtt_max_s"], 1e3, 1),
        _number(row["outstanding_max_bytes"], 1, 0),
        _number(peer["window_mean_bytes"], 1, 0),
    ]


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"


def _print_problems(capture: Capture) -> None:
    for problem in capture.problems:
        head = Text.assemble((problem.code, "yellow"), f": {problem.count}")
        show(stderr(), head)
        show(stderr(), Padding(Text(problem.message, style="dim"), (0, 0, 0, 2), expand=False))
