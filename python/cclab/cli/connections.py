"""What a terminal shows of a capture: its directions, what limited them, and flows side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from cclab.cli.console import count, note, print_table, show, stderr, tell
from cclab.report.tables import Table

if TYPE_CHECKING:
    from cclab.captures import Capture

_MOST_ROWS = 40
_MOST_REASONS = 10
_HEADINGS = {
    "#": True,
    "from": False,
    "to": False,
    "end": False,
    "elapsed (s)": True,
    "data (bytes)": True,
    "Mbit/s": True,
    "sent again": True,
    "RTT min (ms)": True,
    "median": True,
    "p95": True,
    "in flight, max (bytes)": True,
    "window, mean (bytes)": True,
    "limited by": False,
}
"""And whether a column holds numbers."""


def print_capture(capture: Capture) -> None:
    """Prints what the directions with data did, the largest first to be chosen."""
    import polars as pl

    frame = capture.connections.with_row_index("row")
    peers = frame.select(pl.col("row") ^ 1, peer_window_bytes="window_mean_bytes")
    carrying = frame.filter(pl.col("total_bytes") > 0).join(peers, on="row", how="left")
    shown = carrying.sort("unique_bytes", descending=True).head(_MOST_ROWS).sort("row")
    total = count(len(frame) // 2, "TCP connection")
    tell(f"{total} in {capture.tcp_packets} of {count(capture.packets, 'packet')}")
    rows = shown.to_dicts()
    if rows:
        cells = [[_cells(row)] for row in rows]
        print_table("", Table(list(_HEADINGS), list(_HEADINGS.values()), cells, 0, 0))
    hidden = len(carrying) - len(rows)
    if hidden:
        note(f"{count(hidden, 'direction')} with less data not shown; --csv and --json have all")
    _print_reasons(rows)
    _print_together(capture.together)


def print_problems(capture: Capture) -> None:
    """Prints what was skipped, or is in doubt."""
    for problem in capture.problems:
        head = Text.assemble((problem.code, "yellow"), f": {problem.count}")
        show(stderr(), head)
        show(stderr(), Padding(Text(problem.message, style="dim"), (0, 0, 0, 2), expand=False))


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        str(row["connection"]),
        _endpoint(row["source"], row["source_port"]),
        _endpoint(row["destination"], row["destination_port"]),
        row["end"],
        f"{row['elapsed_s']:.3f}",
        str(row["unique_bytes"]),
        _number(row["throughput_bps"], 1e-6, 3),
        str(row["retransmitted_packets"]),
        _number(row["rtt_min_s"], 1e3, 1),
        _number(row["rtt_p50_s"], 1e3, 1),
        _number(row["rtt_p95_s"], 1e3, 1),
        _number(row["outstanding_max_bytes"], 1, 0),
        _number(row["peer_window_bytes"], 1, 0),
        row["limited_by"] or "",
    ]


def _print_reasons(rows: list[dict[str, Any]]) -> None:
    """Prints what the estimates of what limited the largest directions rest on."""
    told = [row for row in rows if row["limited_by"]]
    largest = sorted(told, key=lambda row: -row["unique_bytes"])[:_MOST_REASONS]
    if largest:
        tell("What limited them, by an estimate:")
    for row in sorted(largest, key=lambda row: row["row"]):
        ports = f"{row['source_port']} to {row['destination_port']}"
        tell(f"  {row['connection']} ({ports}): {row['limited_by']}, {row['limited_because']}")


def _print_together(together: dict[str, Any]) -> None:
    """Prints how flows shared the rate, where there are two or more."""
    if together["flows"] < 2:
        return
    left_out = together["left_out"]
    others = f", {count(left_out, 'smaller one')} left out" if left_out else ""
    tell(f"{count(together['flows'], 'flow')} beside each other{others}:")
    for name, words in (
        ("whole", "from the first data to the last"),
        ("overlap", "while all last"),
        ("congested", "while the link is full and data are lost"),
        ("asked", "asked for"),
    ):
        interval = together[name]
        if interval is not None:
            tell(
                f"  {interval['from_s']:.3f} to {interval['to_s']:.3f} s, {words}: "
                f"{interval['throughput_bps'] / 1e6:.3f} Mbit/s, "
                f"Jain {_number(interval['jain'], 1, 4) or 'of nothing'}"
            )


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"
