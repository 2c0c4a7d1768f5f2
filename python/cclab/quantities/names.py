"""The numbers of one flow in one run, by the names that expressions call them."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cclab import captures, shown
from cclab.errors import StudyError
from cclab.metrics import RUN_METRICS, of_flow, of_source
from cclab.quantities import backoff, breaker, expressions, points, states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cclab.measure.points import Measured, Point


DERIVED = ("transfer_s", "share")
"""The numbers of a flow that are made here of its metrics."""


@dataclass(frozen=True)
class Names(Mapping[str, Any]):
    """The metrics of a flow and of its run.

    A flow's own as docs/metrics.md names them, what held it back as `limited_CAUSE`, its `share`
    of the goodput, `transfer_s`; the run's by their names, such as `jain`, and as
    `bottleneck_NAME`, `band_QUEUE_NAME`, `group_GROUP_NAME`, `traffic_SOURCE_NAME`; and those of
    the capture at its sender as `capture_NAME`. What was not measured is not a number.
    """

    run: Measured
    flow: str
    """Empty where only the run is meant."""
    plain: dict[str, Any] = field(default_factory=dict)
    """Names of constants."""
    unended: list[str] = field(default_factory=list)
    """Times asked for whose end the run did not see: their values are the least they can be."""

    def __getitem__(self, name: str) -> Any:
        if name in self.plain:
            return self.plain[name]
        if name.startswith("capture_"):
            return self._captured(name.removeprefix("capture_"))
        if name == "transfer_s" and self._metrics.get("fct_s") is None:
            self.unended.append(name)
        return _number(self._metrics[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    @cached_property
    def _metrics(self) -> dict[str, Any]:
        metrics = self.run.metrics
        values: dict[str, Any] = {name: metrics[name] for name in RUN_METRICS}
        values |= {f"bottleneck_{k}": v for k, v in metrics["bottleneck"].items()}
        for kind, rows in (
            ("band", metrics["bottleneck"].get("bands", [])),
            ("group", metrics.get("groups", [])),
        ):
            for row in rows:
                named = f"{kind}_{row['name']}_"
                values |= {named + k: v for k, v in row.items() if not isinstance(v, str | list)}
        for source in metrics.get("traffic", []):
            numbers = of_source(source)
            values |= {f"traffic_{source['name']}_{k}": v for k, v in numbers.items()}
        flow = next((f for f in metrics["flows"] if f["name"] == self.flow), None)
        if flow is None:
            return values
        total = sum(f["goodput_bps"] or 0.0 for f in metrics["flows"])
        values |= {k: v for k, v in of_flow(flow).items() if not isinstance(v, str)}
        ended = values.get("fct_s")
        values["transfer_s"] = values.get("elapsed_s") if ended is None else ended
        values["share"] = (flow["goodput_bps"] or 0.0) / total if total else None
        return values

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """Functions over the samples of the flow; times in seconds of the run."""
        return {name: method.__get__(self) for name, method in self.functions_of_class().items()}

    @classmethod
    def functions_of_class(cls) -> dict[str, Callable[..., Any]]:
        """The functions by their names in expressions, as methods of no flow yet."""
        return {
            "rate_bps": cls._rate,
            "segments": cls._segments,
            "until_rate_s": cls._until_rate,
            "correlation": cls._correlation,
            "sample_mean": cls._mean,
            "sample_min": cls._min,
            "sample_max": cls._max,
            "recovery_s": cls._recovery,
            "breaker_fired": cls._breaker_fired,
            "doublings": cls._doublings,
            "of": cls._of,
            "each": cls._each,
            "sources": cls._sources,
            "fct_by_size_s": cls._fct_by_size,
            "fct_quantile_s": cls._fct_quantile,
            "or_at_least": cls._or_at_least,
            "capture": cls._captured,
            "states": cls._states,
        }

    def _of(self, flow: str, expression: str) -> Any:
        """An expression over another flow of the run; not a number where that flow is absent."""
        if all(f["name"] != flow for f in self.run.metrics["flows"]):
            return math.nan
        of_flow = Names(self.run, flow, unended=self.unended)
        return expressions.value(expression, of_flow, of_flow.functions)

    def _each(self, pattern: str, expression: str) -> Any:
        """An expression over each flow of the run whose name a pattern means: a vector."""
        names = [flow["name"] for flow in self.run.metrics["flows"]]
        return np.array([self._of(name, expression) for name in fnmatch.filter(names, pattern)])

    def _sources(self, pattern: str, name: str) -> Any:
        """A number of each source of cross traffic whose name a pattern means: a vector."""
        numbers = {s["name"]: of_source(s) for s in self.run.metrics.get("traffic", [])}
        meant = fnmatch.filter(numbers, pattern)
        for source in meant:
            if name not in numbers[source]:
                known = ", ".join(numbers[source])
                raise expressions.ExpressionError(
                    f"no number {name!r} of traffic; there are {known}"
                )
        return np.array([_number(numbers[source][name]) for source in meant])

    def _fct_by_size(self, pattern: str, from_: float, to: float) -> float:
        """Mean completion time of cross traffic's transfers of some sizes, in seconds.

        Of the sources whose names a pattern means, and of their transfers that began after the
        warm-up, those between two quantiles of size; not a number if there are none.
        """
        took = self._took(pattern)
        first, end = (round(share * took.height) for share in (from_, to))
        mean = took[first:end]["took_s"].mean()
        return float(mean) if isinstance(mean, float) else math.nan

    def _fct_quantile(self, pattern: str, share: float) -> float:
        """The completion time in seconds that a share of cross traffic's transfers does not exceed.

        Of the sources whose names a pattern means, over transfers that began after the warm-up; a
        value that occurred, as percentiles of `traffic` are. Those that did not end come last.
        """
        took = self._took(pattern).sort("unended", "took_s")
        if not took.height:
            return math.nan
        rank = max(math.ceil(share * took.height), 1)
        # Those that did not end may have been the slowest.
        if took["unended"][rank - 1]:
            self.unended.append("fct_quantile_s")
        return float(took["took_s"][rank - 1])

    def _or_at_least(self, number: float, end: float) -> float:
        """A time; where none was measured, `end`, the least that it can be: until when the run saw
        that it was not over."""
        if math.isfinite(number):
            return number
        self.unended.append("or_at_least")
        return end

    def _took(self, pattern: str) -> pl.DataFrame:
        """How long transfers took that began after the warm-up, by size, and which are `unended`.

        One that did not end took what was left of the run, which is less than it would take: who
        holds up the slowest until the end has no better numbers for it.
        """
        every, scenario = self.run.transfers, self.run.run.scenario
        if every is None:
            return pl.DataFrame(schema={"took_s": pl.Float64, "unended": pl.Boolean})
        transfers = every.filter(pl.col("start_s") >= scenario["warmup"] / 1e9)
        meant = fnmatch.filter(transfers["source"].unique().to_list(), pattern)
        duration = scenario["duration"]
        ends = pl.lit(duration / 1e9) if duration is not None else pl.col("end_s").max()
        took = pl.col("end_s").fill_null(ends) - pl.col("start_s")
        of_sources = transfers.filter(pl.col("source").is_in(meant))
        return of_sources.sort("size_bytes", "start_s", "source").select(
            took.alias("took_s"), pl.col("end_s").is_null().alias("unended")
        )

    @cached_property
    def samples(self) -> pl.DataFrame:
        """The sampled state of the flow while it lasted."""
        return self.run.trace.samples_of(self.flow)

    def _captured(self, name: str, point: str = "sender", way: str = "data") -> float:
        """A number of the flow in the capture at a point, as docs/analyze.md names it.

        `point` is an end of the flow (`sender`, `receiver`) or the capture point's own name; `way`
        is `data` for the direction of the data, `acks` for the other.
        """
        own = point in ("sender", "receiver")
        path = self.run.trace.capture(f"{self.flow}.{point}" if own else point)
        if not path.is_file():
            raise expressions.ExpressionError(
                f"this run has no capture {path.name}: `[trace] capture` asks for it"
            )
        # Of several connections, as an application's, the one with most data is meant.
        there = sorted(connections(path), key=lambda row: int(row["unique_bytes"] or 0))
        data = there[-1]
        row = data if way == "data" else _other_way(there, data)
        if name not in row:
            known = ", ".join(row)
            raise expressions.ExpressionError(
                f"no number {shown.quoted(name)} of a capture; there are {known}"
            )
        return float(_number(row[name]))

    def _states(self, query: str) -> float:
        """A number of the inner state of the flow's variant, by SQL (`quantities.states`)."""
        return states.asked(self.run.trace, self.flow, query)

    def _between(self, from_s: float, to_s: float) -> pl.DataFrame:
        time = self.samples["time_s"]
        return self.samples.filter((time >= from_s) & (time <= to_s))

    def _rate(self, from_s: float, to_s: float) -> float:
        """In-order bits per second that the receiver got from one time to another."""
        frame = self._between(from_s, to_s)
        if frame.height < 2:
            return math.nan
        received, time = frame["received_bytes"], frame["time_s"]
        return 8 * float(received[-1] - received[0]) / float(time[-1] - time[0])

    def _segments(self, from_s: float, to_s: float) -> float:
        """Data segments that left from one time to another, retransmissions included."""
        frame = self._between(from_s, to_s)
        if frame.height < 2:
            return math.nan
        return float(frame["segments_sent"][-1] - frame["segments_sent"][0])

    def _until_rate(self, from_s: float, rate_bps: float) -> float:
        """Seconds from a time until a second begins in which the receiver got `rate_bps`.

        What is left of the flow if none does.
        """
        frame = self._between(from_s, math.inf)
        if frame.height < 2:
            return math.nan
        time, received = (self._column(frame, name) for name in ("time", "received"))
        later = np.searchsorted(time, time + 1.0 - 1e-9)
        whole = later < len(time)
        got = 8 * (received[later[whole]] - received[whole])
        fast = np.flatnonzero(got >= rate_bps * (time[later[whole]] - time[whole]))
        if not len(fast):
            self.unended.append("until_rate_s")
        # Instants are whole nanoseconds.
        return round(float((time[fast[0]] if len(fast) else time[-1]) - from_s), 9)

    def _column(self, frame: pl.DataFrame, name: str) -> np.ndarray:
        for spelled in (name, f"{name}_bytes", f"{name}_s", f"{name}_bps"):
            if spelled in frame.columns:
                return frame[spelled].cast(float).to_numpy()
        known = ", ".join(frame.columns)
        raise expressions.ExpressionError(f"no samples of {shown.quoted(name)}; there are {known}")

    def _correlation(self, a: str, b: str, from_s: float, to_s: float) -> float:
        """Pearson's correlation of two sampled quantities."""
        frame = self._between(from_s, to_s)
        column_a, column_b = self._column(frame, a), self._column(frame, b)
        both = np.isfinite(column_a) & np.isfinite(column_b)
        if both.sum() < 3 or column_a[both].std() == 0 or column_b[both].std() == 0:
            return math.nan
        return float(np.corrcoef(column_a[both], column_b[both])[0, 1])

    def _mean(self, name: str, from_s: float, to_s: float) -> float:
        """The mean of a sampled quantity."""
        return self._sampled(np.mean, name, from_s, to_s)

    def _min(self, name: str, from_s: float, to_s: float) -> float:
        """The least value of a sampled quantity."""
        return self._sampled(np.min, name, from_s, to_s)

    def _max(self, name: str, from_s: float, to_s: float) -> float:
        """The largest value of a sampled quantity."""
        return self._sampled(np.max, name, from_s, to_s)

    def _breaker_fired(self, interval_s: float, intervals: float) -> float:
        """How often a circuit breaker would have ended the flow."""
        frame = self._between(-math.inf, math.inf)
        columns = ("time", "segments_sent", "retransmits", "srtt", "received")
        samples = {name: self._column(frame, name) for name in columns}
        return breaker.fired(samples, interval_s, int(intervals))

    def _doublings(self, from_s: float, to_s: float) -> float:
        """How often in a row the gap between departures doubled, from one time to another."""
        frame = self._between(from_s, to_s)
        return backoff.doublings(self._column(frame, "time"), self._column(frame, "segments_sent"))

    def _sampled(
        self, of: Callable[[np.ndarray], Any], name: str, from_s: float, to_s: float
    ) -> float:
        """A number of the samples that have a value; not a number if none has."""
        values = self._column(self._between(from_s, to_s), name)
        known = values[np.isfinite(values)]
        return float(of(known)) if known.size else math.nan

    def _recovery(self, after_s: float, part: float) -> float:
        """Seconds from `after_s` until in-flight is back at `part` of its mean a second before it.

        Not a number if it never fell below that, and what is left of the flow if it never came
        back.
        """
        before = self._mean("in_flight", after_s - 1, after_s)
        frame = self._between(after_s, math.inf)
        if not frame.height or not math.isfinite(before):
            return math.nan
        flight = self._column(frame, "in_flight")
        low = np.flatnonzero(flight < part * before)
        if not len(low):
            return math.nan
        back = np.flatnonzero(flight[low[0] :] >= part * before)
        if not len(back):
            self.unended.append("recovery_s")
        at = low[0] + back[0] if len(back) else -1
        return float(frame["time_s"][int(at)]) - after_s


def evaluated(
    expression: str, point: Point, nth: int, flow: str, unended: list[str] | None = None
) -> Any:
    """An expression over the `nth` run of a point: a number, or one for each flow of a pattern.

    `unended` gets the times whose end the run did not see.
    """
    run = point.runs[nth]
    unended = [] if unended is None else unended
    if not flow:
        named = Names(run, "", unended=unended)
        return float(expressions.value(expression, named, named.functions))
    matching = points.flows(point, flow)
    if not matching:
        there = ", ".join(f["name"] for f in run.metrics["flows"])
        asked = shown.quoted(flow)
        raise StudyError(f"`{expression}`: no flow is called {asked}; there are {there}")
    values = []
    for name in matching:
        named = Names(run, name, unended=unended)
        values.append(float(expressions.value(expression, named, named.functions)))
    return values[0] if len(values) == 1 else np.array(values)


@lru_cache(maxsize=256)
def connections(path: Path) -> list[dict[str, Any]]:
    """Each direction of each connection in the capture at `path`."""
    rows: list[dict[str, Any]] = captures.analyze(path).document["connections"]
    return rows


def _other_way(there: list[dict[str, Any]], data: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in there if row["connection"] == data["connection"] and row is not data)


def _number(value: Any) -> Any:
    return math.nan if value is None else value
