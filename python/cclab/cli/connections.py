"""Prints a capture on a terminal: its directions, what limited them, and flows side by side.

Then its conversations over UDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cclab import units
from cclab.captures import words
from cclab.cli.console import count, note, tell
from cclab.cli.drawn import indented, line_of, print_table, show, stderr, styled
from cclab.tabular import Table

if TYPE_CHECKING:
    from cclab import _core
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
    "late": True,
    "RTT min ({rtt})": True,
    "median": True,
    "p95": True,
    "in flight, max (bytes)": True,
    "window, mean (bytes)": True,
    "limited by": False,
}
"""And whether a column holds numbers; in braces, units that follow the scale."""
_RTTS = ("rtt_min_s", "rtt_p50_s", "rtt_p95_s")
_TALK_HEADINGS = {
    "#": True,
    "speaks": False,
    "from": False,
    "to": False,
    "elapsed (s)": True,
    "datagrams": True,
    "payload (bytes)": True,
    "Mbit/s": True,
    "size, mean (bytes)": True,
    "gap median ({gap})": True,
    "p99": True,
    "sd": True,
    "CE": True,
    "handshake RTT ({rtt})": True,
}
_COLUMNS = (
    "connection",
    "source",
    "source_port",
    "destination",
    "destination_port",
    "end",
    "elapsed_s",
    "total_bytes",
    "unique_bytes",
    "throughput_bps",
    "retransmitted_packets",
    "out_of_order_packets",
    *_RTTS,
    "outstanding_max_bytes",
    "limited_by",
    "limited_because",
)
_GAPS = ("gap_p50_s", "gap_p99_s", "gap_stdev_s")
_TALK_COLUMNS = (
    "conversation",
    "speaks",
    "quic_version",
    "source",
    "source_port",
    "destination",
    "destination_port",
    "elapsed_s",
    "packets",
    "total_bytes",
    "throughput_bps",
    "size_mean_bytes",
    *_GAPS,
    "ce_packets",
    "quic_handshake_rtt_s",
)
_NO_HANDSHAKE = 1
"""Columns at the end that are left out where no handshake was timed."""


def print_capture(capture: Capture) -> None:
    """Prints the directions with data; of many, the largest."""
    connections, _ = capture.rows
    rows, hidden = _largest(connections, _COLUMNS, "total_bytes", "unique_bytes")
    windows = connections.columns(["window_mean_bytes"])["window_mean_bytes"]
    for row in rows:
        # The two directions of a connection are neighbours.
        row["peer_window_bytes"] = windows[row["row"] ^ 1]
    tell(_holdings(capture))
    if rows:
        rtt, rtts = _scaled(rows, _RTTS)
        cells = [[_cells(row, own)] for row, own in zip(rows, rtts, strict=True)]
        headings = [heading.format(rtt=rtt) for heading in _HEADINGS]
        print_table("", Table(headings, list(_HEADINGS.values()), cells, 0, 0))
    if hidden:
        note(f"{count(hidden, 'direction')} with less data not shown; --csv and --json have all")
    _print_reasons(rows)
    _print_together(capture.together)
    _print_talks(capture)


def _holdings(capture: Capture) -> str:
    """What the packets of a capture are."""
    connections, conversations = capture.rows
    tcp = count(len(connections) // 2, "TCP connection")
    talks = len(conversations) // 2
    parts = [f"{tcp} in {capture.tcp_packets} of {count(capture.packets, 'packet')}"]
    if talks:
        parts.append(f"{count(talks, 'conversation')} over UDP in {capture.udp_packets}")
    parts += [f"{packets} {name}" for name, packets in capture.other_packets.items()]
    return "; ".join(parts)


def _print_talks(capture: Capture) -> None:
    """Prints the conversations over UDP; of many directions, the largest."""
    _, conversations = capture.rows
    rows, hidden = _largest(conversations, _TALK_COLUMNS, "packets", "total_bytes")
    if not rows:
        return
    gap, gaps = _scaled(rows, _GAPS)
    rtt, rtts = _scaled(rows, ("quic_handshake_rtt_s",))
    columns = len(_TALK_HEADINGS) - (_NO_HANDSHAKE if not any(own for [own] in rtts) else 0)
    cells = [
        [_talk_cells(row, *of_row)[:columns]] for row, *of_row in zip(rows, gaps, rtts, strict=True)
    ]
    headings = [heading.format(gap=gap, rtt=rtt) for heading in _TALK_HEADINGS][:columns]
    table = Table(headings, list(_TALK_HEADINGS.values())[:columns], cells, 0, 0)
    print_table("", table)
    if hidden:
        more = count(hidden, "direction")
        note(f"{more} over UDP with less data not shown; --csv --udp and --json have all")


def _largest(
    rows: _core.Rows, names: tuple[str, ...], carrying: str, size: str
) -> tuple[list[dict[str, Any]], int]:
    """The largest by `size` of the `rows` with something `carrying`, in their order, with their
    columns `names` and their number `row`; and how many others there are."""
    columns = rows.columns(names)
    there = [row for row, value in enumerate(columns[carrying]) if value > 0]
    shown = sorted(there, key=lambda row: -columns[size][row])[:_MOST_ROWS]
    told = [{"row": row} | {n: columns[n][row] for n in names} for row in sorted(shown)]
    return told, len(there) - len(told)


def _scaled(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> tuple[str, list[list[str]]]:
    """The unit that suits times in `columns`, and the cells of each row."""
    name, cells = units.column((row[column] for row in rows for column in columns), units.time)
    width = len(columns)
    return name, [cells[place : place + width] for place in range(0, len(cells), width)]


def _talk_cells(row: dict[str, Any], gaps: list[str], rtts: list[str]) -> list[str]:
    return [
        str(row["conversation"]),
        words.spoken(row),
        _endpoint(row["source"], row["source_port"]),
        _endpoint(row["destination"], row["destination_port"]),
        f"{row['elapsed_s']:.3f}",
        str(row["packets"]),
        str(row["total_bytes"]),
        _number(row["throughput_bps"], 1e-6, 3),
        _number(row["size_mean_bytes"], 1, 0),
        *gaps,
        str(row["ce_packets"]),
        *rtts,
    ]


def print_problems(capture: Capture) -> None:
    """Prints what was skipped, or is in doubt."""
    for problem in capture.problems:
        head = line_of((problem.code, "yellow"), f": {problem.count}")
        show(stderr(), head)
        show(stderr(), indented(styled(problem.message, "dim"), 2))


def _cells(row: dict[str, Any], rtts: list[str]) -> list[str]:
    return [
        str(row["connection"]),
        _endpoint(row["source"], row["source_port"]),
        _endpoint(row["destination"], row["destination_port"]),
        row["end"],
        f"{row['elapsed_s']:.3f}",
        str(row["unique_bytes"]),
        _number(row["throughput_bps"], 1e-6, 3),
        str(row["retransmitted_packets"]),
        str(row["out_of_order_packets"]),
        *rtts,
        _number(row["outstanding_max_bytes"], 1, 0),
        _number(row["peer_window_bytes"], 1, 0),
        row["limited_by"] or "",
    ]


def _print_reasons(rows: list[dict[str, Any]]) -> None:
    """Prints the evidence for what limited the largest directions."""
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
    for name, when in (
        ("whole", "from the first data to the last"),
        ("overlap", "while all last"),
        ("congested", "while the link is full and data are lost"),
        ("asked", "asked for"),
    ):
        interval = together[name]
        if interval is not None:
            tell(
                f"  {interval['from_s']:.3f} to {interval['to_s']:.3f} s, {when}: "
                f"{interval['throughput_bps'] / 1e6:.3f} Mbit/s, "
                f"Jain {_number(interval['jain'], 1, 4) or 'of nothing'}"
            )
            if told := words.shares(interval):
                tell(f"    {told}")


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"
