"""The two sides of a run: what its trace says of a flow, and what a capture shows of it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab.captures.capture import read
from cclab.documents import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cclab.captures import Problem
    from cclab.documents.scenario import Flow as WrittenFlow
    from cclab.documents.scenario import Scenario
    from cclab.measure.points import Measured
    from cclab.store.trace import Trace

NANOSECONDS = 1e9

_OF_THE_FILE = frozenset(
    {
        "cut-off",
        "lost-track",
        "unreadable",
        "damaged-block",
        "unknown-interface",
        "no-time",
        "bad-header",
        "bad-ip-fragment",
        "bad-tcp-header",
        "time-backwards",
    }
)
"""Problems that no capture has when cclab writes it: the file has changed since."""

INCOMPLETE = {
    "connections-given-up": "connections of the capture were given up: there are more than are "
    "kept, or than memory is meant for",
    "unknown-link-layer": "the capture is of a link layer that is not known",
    "header-cut": "the capture's snap length cuts TCP headers (trace.snaplen)",
    "options-cut": "the capture's snap length cuts TCP options (trace.snaplen)",
}
"""Problems of a capture of which packets were not counted though the file is whole, in words."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run: its flows as the trace has them, and where and when it was captured."""

    measured: Measured
    params: dict[str, Any]

    @property
    def trace(self) -> Trace:
        """Its trace."""
        return self.measured.trace

    @property
    def scenario(self) -> Scenario:
        """What ran."""
        return self.measured.run.scenario

    @property
    def times_the_last(self) -> bool:
        """Whether RTT samples are of the last of segments that are acknowledged together."""
        return self.on_kernel or self.scenario["stack"].startswith("linux")

    @property
    def on_kernel(self) -> bool:
        """Whether a kernel ran it, not the simulator."""
        return self.measured.run.backend != "sim"

    @property
    def on_kernels_network(self) -> bool:
        """Whether a kernel also carried the packets, so that its hosts delay and lose them."""
        by_kernel = self.scenario["network"].get("by") == "kernel"
        return self.in_real_time or (self.on_kernel and by_kernel)

    @property
    def in_real_time(self) -> bool:
        """Whether its host took time for what it did."""
        return self.measured.run.backend == "netns"

    @property
    def points(self) -> list[str]:
        """Where packets were captured."""
        return self.scenario["trace"]["capture"]

    @property
    def link_under_study(self) -> str | None:
        """What a graph calls the bottleneck, which is a point by that name, too."""
        graph = self.scenario["network"].get("graph")
        return None if graph is None else graph["links"][graph["bottleneck"]]["name"]

    @property
    def routes_change(self) -> bool:
        """Whether flows do not cross the same links all the time."""
        return bool(self.scenario["network"].get("graph", {}).get("reroutes"))

    @cached_property
    def crossings(self) -> list[tuple[list[int], list[int]]]:
        """Of each flow the links that its data cross, and its acknowledgements, by their rows."""
        return [(flow["data"], flow["acks"]) for flow in describe(self.scenario)["flows"]]

    @cached_property
    def covered(self) -> tuple[int, int]:
        """The time that captures cover, in nanoseconds since the beginning of the run."""
        trace = self.scenario["trace"]
        until = trace["until"]
        return trace["from"], self.end_ns if until is None else min(until, self.end_ns)

    @property
    def end_ns(self) -> int:
        """When the run ended."""
        return int(self._summary["end_ns"])

    @cached_property
    def slack_ns(self) -> int:
        """How late the trace may note an event that a capture has at its time.

        The simulator has one clock. An agent notes when it hears of an event: in virtual time
        within the kernel's slack of 50 us, in real time as late as its timers were.
        """
        if not self.on_kernel:
            return 0
        late = (self._summary.get("fidelity") or {}).get("timer_late_max_ns")
        return 100_000 if late is None else 1_000_000 + int(late)

    @cached_property
    def flows(self) -> list[Flow]:
        """Its flows, in the scenario's order."""
        rows = self.trace.rows("flows").to_dicts()
        metrics = self.measured.metrics["flows"]
        written = self.scenario["flows"]
        return [
            Flow(self, index, *sides)
            for index, sides in enumerate(zip(rows, metrics, written, strict=True))
        ]

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        """What its links did; the first is the bottleneck, the second its way back."""
        return self.trace.rows("links").to_dicts()

    @cached_property
    def steady_ns(self) -> tuple[int, int] | None:
        """The steady window of docs/metrics.md; None if it is empty."""
        started = [flow for flow in self.flows if flow.row["started_ns"] is not None]
        starts = [flow.row["started_ns"] for flow in started]
        ends = [flow.row["ended_ns"] for flow in started if flow.row["ended_ns"] is not None]
        begin = max([self.scenario["warmup"], *starts])
        end = min([self.end_ns, *ends])
        return (begin, end) if starts and begin < end else None

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of its trace as it lies on the disk; None if the study did not ask for it."""
        return self.trace.rows(name) if self.trace.has(name) else None

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return self.trace.summary


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow, as the trace has it."""

    run: Run
    index: int
    row: dict[str, Any]
    """Its row of `flows.parquet`."""
    metrics: dict[str, Any]
    """Its metrics, as docs/metrics.md defines them."""
    written: WrittenFlow
    """What the scenario says of it."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.row["name"])

    @property
    def ended(self) -> bool:
        """Whether all that it had to send was acknowledged."""
        return self.row["ended_ns"] is not None

    @property
    def is_program(self) -> bool:
        """Whether a program opens its connections, as many as it likes."""
        return "command" in self.written

    @property
    def delayed_at_sender(self) -> bool:
        """Whether the sender's capture point lies behind the delay that the study adds."""
        return self.run.on_kernels_network and self.written.get("delay_at") == "sender"

    def loses_packets_at(self, end: str) -> bool:
        """Whether packets are lost on its host at that end, where a kernel captures others.

        A kernel loses packets before the capture point of a sender, and behind that of a receiver.
        """
        bottleneck = self.run.scenario["network"]["bottleneck"]
        lossy = [*bottleneck.get("loss", []), *bottleneck.get("outage", [])]
        if end == "sender" and self.delayed_at_sender and "delay_limit" in self.written:
            return True
        return self.run.on_kernels_network and any(place["at"] == end for place in lossy)

    @property
    def addresses(self) -> tuple[str, str]:
        """Of its sender and its receiver, by docs/trace-schema.md."""
        x, y = self.index // 250, self.index % 250 + 1
        return f"10.0.{x}.{y}", f"10.1.{x}.{y}"

    @property
    def ports(self) -> tuple[int, int]:
        """Of its sender and its receiver, unless it is a program."""
        return 40_000 + self.index % 20_000, 5001 + self.index % 20_000

    @cached_property
    def all_samples(self) -> pl.DataFrame:
        """Its state at each multiple of the sampling interval, and at the marks."""
        table = self.run.table("flow_samples")
        assert table is not None, "every trace has samples, if none then an empty table"
        return table.filter(pl.col("flow") == self.index)

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Those while captures cover the run."""
        own = self.all_samples.filter(pl.col("time_ns").is_between(*self.run.covered))
        if self.run.on_kernel and not self.ended:
            # The last is taken a moment after the run's end, and captures end with the run.
            own = own.filter(pl.col("time_ns") < self.run.end_ns)
        return own

    @cached_property
    def last_snd_nxt(self) -> int | None:
        """The data it had sent at the end of the run; None if that was not sampled."""
        sent = self.all_samples["snd_nxt_bytes"]
        return None if sent.is_empty() else int(sent[-1])

    @property
    def lasted_ns(self) -> int:
        """From the first byte that arrived to the last."""
        first, last = self.row["first_byte_ns"], self.row["last_byte_ns"]
        return 0 if first is None or last is None else int(last - first)

    @property
    def lasted_late_ns(self) -> int:
        """How far that may be off, because the agent notes both ends late.

        For a flow that has not ended, a kernel gives the last arrival in whole milliseconds.
        """
        last = 1_000_000 if self.run.on_kernel and not self.ended else 0
        return 2 * self.run.slack_ns + last

    def owns(self, row: dict[str, Any]) -> bool:
        """Whether a direction of a connection is that of its data."""
        if self.is_program:
            return (row["source"], row["destination"]) == self.addresses
        return (row["source_port"], row["destination_port"]) == self.ports


@dataclass(frozen=True, eq=False)
class Captured:
    """What a capture shows of a run."""

    point: str
    packets: int
    problems: list[Problem]
    rows: list[dict[str, Any]]
    """Directions of connections, in pairs."""
    segments: pl.DataFrame

    @property
    def place(self) -> str:
        """The kind of its point: `bottleneck`, `sender` or `receiver`, or what no number is at."""
        _, dot, end = self.point.rpartition(".")
        return end if dot or self.point == "bottleneck" else f"link {self.point}"

    @property
    def unreadable(self) -> list[Problem]:
        """What shows that the file is not as it was written."""
        return [problem for problem in self.problems if problem.code in _OF_THE_FILE]

    @property
    def incomplete(self) -> str | None:
        """Why it does not tell of all packets that passed; None if it does."""
        codes = {problem.code for problem in self.problems}
        return next((why for code, why in INCOMPLETE.items() if code in codes), None)

    def of(self, flow: Flow) -> Seen:
        """What it shows of `flow`, which may be nothing."""
        return Seen(flow, self, [i for i, row in enumerate(self.rows) if flow.owns(row)])


@dataclass(frozen=True, eq=False)
class Seen:
    """What a capture shows of a flow."""

    flow: Flow
    capture: Captured
    places: list[int]
    """Where the rows of its data's direction are among the capture's."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The direction of its data, of each of its connections."""
        return [self.capture.rows[place] for place in self.places]

    @property
    def back(self) -> list[dict[str, Any]]:
        """The direction of its acknowledgements, of each of its connections."""
        return [self.capture.rows[place ^ 1] for place in self.places]

    def sum(self, column: str) -> int:
        """A counter over its connections."""
        return sum(row[column] for row in self.rows)

    @property
    def only(self) -> dict[str, Any]:
        """The direction of its data, where it has one connection."""
        [row] = self.rows
        return row

    @cached_property
    def data(self) -> pl.DataFrame:
        """Segments with data of its only connection."""
        return self._sent_by(self.places[0] % 2).filter(pl.col("payload") > 0)

    @cached_property
    def acks(self) -> pl.DataFrame:
        """What comes back on its only connection."""
        return self._sent_by(1 - self.places[0] % 2).filter(pl.col("ack").is_not_null())

    @cached_property
    def syn_ns(self) -> int | None:
        """When the first packet of its only connection was seen, if that is a SYN."""
        return int(self.only["started_ns"]) if self.only["syns"] > 0 else None

    @cached_property
    def sent_bytes(self) -> int:
        """The end of the data of its only connection that were seen."""
        end = self.data.select((pl.col("seq") + pl.col("payload")).max()).item()
        return 0 if end is None else int(end) - 1

    @cached_property
    def acked_bytes(self) -> int:
        """The data of its only connection that were acknowledged, without the FIN."""
        highest = self.acks["ack"].max()
        assert isinstance(highest, int | None)
        return 0 if highest is None else min(highest - 1, self.sent_bytes)

    def acknowledged_ns(self, data: int) -> int | None:
        """When the first `data` bytes of its only connection were acknowledged."""
        at = self.acks.filter(pl.col("ack") > data)["time_ns"].min()
        assert isinstance(at, int | None)
        return at

    @cached_property
    def arrived(self) -> tuple[int, int | None, int | None]:
        """Bytes of its only connection up to the first hole, when the first and the last came."""
        return self.arrived_by(None)

    def arrived_by(self, now_ns: int | None) -> tuple[int, int | None, int | None]:
        """The same of what came by `now_ns`; None: by the end."""
        data = self.data if now_ns is None else self.data.filter(pl.col("time_ns") <= now_ns)
        sent = data.select(
            pl.col("time_ns"),
            begin=pl.max_horizontal(pl.col("seq"), 1),
            end=pl.col("seq") + pl.col("payload"),
        ).filter(pl.col("begin") < pl.col("end"))
        # A segment may repeat a part of another, or more than it: all are cut where any of them
        # begins or ends, and each piece came with the first segment that has it.
        cuts = pl.concat([sent["begin"], sent["end"]]).unique().sort()
        if cuts.is_empty() or cuts[0] != 1:
            return 0, None, None
        pieces = (
            sent.select(
                pl.col("time_ns"),
                piece=pl.int_ranges(
                    cuts.search_sorted(sent["begin"]), cuts.search_sorted(sent["end"])
                ),
            )
            .explode("piece")
            .group_by("piece")
            .agg(pl.col("time_ns").min())
            .sort("piece")
        )
        # The first piece that nobody sent is a hole.
        whole = pieces.with_row_index().filter(pl.col("piece") == pl.col("index"))
        first, last = whole["time_ns"][0], whole["time_ns"].max()
        assert isinstance(last, int)
        return int(cuts[len(whole)]) - 1, int(first), last

    def acked_by(self, now_ns: int) -> int:
        """The data of its only connection that were acknowledged by `now_ns`."""
        highest = self.acks.filter(pl.col("time_ns") <= now_ns)["ack"].max()
        return min(max(highest - 1, 0), self.sent_bytes) if isinstance(highest, int) else 0

    @cached_property
    def first_rtts(self) -> pl.Series:
        """From the first segment that an acknowledgement acknowledges, in seconds.

        For its only connection. An acknowledgement of a segment that was sent again gives none.
        """
        sent = self.data.group_by("seq", maintain_order=True).agg(
            sent_ns=pl.col("time_ns").first(), times=pl.len()
        )
        again = sent.filter(pl.col("times") > 1).select(start=pl.col("seq")).sort("start")
        before = pl.col("ack").cum_max().shift(1)
        advances = self.acks.with_columns(before=before).filter(pl.col("ack") > pl.col("before"))
        timed = advances.join(sent, left_on="before", right_on="seq", how="inner", coalesce=False)
        # The first segment sent again from `before` on, if that is below the acknowledgement.
        timed = timed.sort("before").join_asof(
            again, left_on="before", right_on="start", strategy="forward"
        )
        once = timed.filter(pl.col("start").is_null() | (pl.col("start") >= pl.col("ack")))
        return once.select((pl.col("time_ns") - pl.col("sent_ns")) / NANOSECONDS).to_series()

    @cached_property
    def syn_rtt_s(self) -> float | None:
        """From the SYN of its only connection to the answer, if each was sent once."""
        answer = self.acks.filter(pl.col("kind") == "syn")["time_ns"]
        syns = self.only["syns"], self.back[0]["syns"]
        if self.syn_ns is None or syns != (1, 1) or answer.is_empty():
            return None
        return float(answer[0] - self.syn_ns) / NANOSECONDS

    def sent_by(self, now_ns: int, *kinds: str) -> int:
        """Segments with data, of these kinds if any are named, that were seen by `now_ns`."""
        sent = self.data.filter(pl.col("time_ns") <= now_ns)
        return len(sent.filter(pl.col("kind").is_in(kinds)) if kinds else sent)

    @cached_property
    def window_bytes(self) -> int | None:
        """The largest window that its receiver advertised, scaled."""
        windows = [row["window_max_bytes"] for row in self.back]
        # Those of SYNs, which are never scaled, are in the segments alone.
        of_connections = pl.col("connection").is_in([row["connection"] for row in self.back])
        syns = self.capture.segments.filter(
            of_connections, pl.col("kind") == "syn", pl.col("ack").is_not_null()
        )
        windows += syns["window_bytes"].to_list()
        return max((window for window in windows if window is not None), default=None)

    def _sent_by(self, sender: int) -> pl.DataFrame:
        [place] = self.places
        of = pl.col("connection") == self.capture.rows[place]["connection"]
        return self.capture.segments.filter(of, pl.col("sender") == sender)


def captured(run: Run, point: str) -> Captured:
    """Reads the capture of `run` at `point`. Raises `CaptureError` if the file is no capture."""
    with tempfile.TemporaryDirectory(prefix="cclab-verify-") as folder:
        capture = read(run.trace.capture(point), series=folder)
        segments = pl.read_parquet((Path(folder) / "segments.parquet").read_bytes())
    rows = capture.connections.to_dicts()
    called = "bottleneck" if point == run.link_under_study else point
    return Captured(called, capture.packets, capture.problems, rows, segments)


def flows_at(run: Run, point: str) -> Iterator[Flow]:
    """The flows that pass `point`, by its name: the point of a host has one flow's packets."""
    flow, dot, _ = point.rpartition(".")
    for candidate in run.flows:
        if not dot or candidate.name == flow:
            yield candidate
