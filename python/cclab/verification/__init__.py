"""Compares a results folder's traces with its packet captures.

Both describe the same packets: the trace by what the simulator or the kernel counted, the capture
by what `cclab analyze` computes from the packets. An error in either shows as a difference.
docs/verify.md says what is compared.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from cclab.errors import CaptureError, DamagedRunsError, InputError, RunError
from cclab.measure.points import Measured
from cclab.measure.results import read_metrics
from cclab.store import Store
from cclab.verification.conditions import ON_ITS_WAY
from cclab.verification.numbers import NUMBERS
from cclab.verification.sides import Run, captured, flows_at
from cclab.verification.verified import Compared, Skipped, Subject, Verified
from cclab.verification.whole import ACROSS, Because

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab.verification.declared import Number
    from cclab.verification.sides import Captured, Flow, Seen
    from cclab.verification.whole import Across, Captures

__all__ = ["Verified", "verify"]

REMEDY = "--set 'trace.capture=[\"bottleneck\"]'"
"""What a run lacks that has no captures."""
NEITHER = "neither side tells it"
"""Why a number is not compared that is in neither."""


def verify(folder: str | Path) -> Verified:
    """Compares the trace of each run in the results folder `folder` with its packet captures.

    Raises `StoreError` if it is not a results folder, `InputError` if no run of it has captures,
    and `DamageError` if one of its captures or traces cannot be read. Captures that can, and are
    not as they were written, are compared all the same, and named in `altered`.
    """
    store = Store(folder)
    runs, absent = _runs(store)
    if not runs:
        raise InputError(f"{folder} holds none of its runs; run the study first")
    with_captures = [run for run in runs if run.points]
    if not with_captures:
        raise InputError(
            f"no run in {folder} has a packet capture to hold its trace against; "
            f"run the study again with {REMEDY}"
        )
    compared: list[Compared] = []
    skipped: list[Skipped] = []
    altered: list[Path] = []
    for run in with_captures:
        captures = _read(store.path, run)
        altered += _altered(store.path, run)
        for comparison in _compare(run, captures):
            if isinstance(comparison, Compared):
                compared.append(comparison)
            else:
                skipped.append(comparison)
    without = [run.measured.run.id for run in runs if not run.points]
    return Verified(store.path, len(runs), absent, without, altered, compared, skipped)


def _runs(store: Store) -> tuple[list[Run], int]:
    """The runs of its plan that `store` has, changed since or not, and how many it lacks.

    Raises `DamageError` if a trace cannot be read.
    """
    plan = store.plan()
    measured = read_metrics(store, plan.runs)
    unreadable = {run: why for run, why in measured.items() if isinstance(why, Exception)}
    if unreadable:
        raise DamagedRunsError(store.path, list(unreadable), str(next(iter(unreadable.values()))))
    runs: dict[str, Run] = {}
    for point in plan.points:
        for run in point.runs:
            metrics = measured.get(run.id)
            if run.id not in runs and isinstance(metrics, dict):
                runs[run.id] = Run(Measured(run, store, metrics), point.params)
    return list(runs.values()), len(plan.runs) - len(runs)


def _read(folder: Path, run: Run) -> Captures:
    """The captures of `run`, by their points."""

    def read(point: str) -> Captured | CaptureError:
        try:
            return captured(run, point)
        except CaptureError as error:
            return error

    with ThreadPoolExecutor() as pool:
        outcomes = list(pool.map(read, run.points))
    captures = {}
    for point, capture in zip(run.points, outcomes, strict=True):
        if isinstance(capture, CaptureError):
            raise DamagedRunsError(folder, [run.measured.run.id], str(capture)) from capture
        for problem in capture.unreadable:
            why = f"{point}.pcapng: {problem.code}, {problem.message}"
            raise DamagedRunsError(folder, [run.measured.run.id], why)
        captures[capture.point] = capture
    return captures


def _altered(folder: Path, run: Run) -> list[Path]:
    """The captures of `run` that are not as they were written.

    Raises `DamageError` if its trace does not tell.
    """
    files = [run.trace.capture(point) for point in run.points]
    try:
        return [file for file in files if not run.trace.is_as_written(file.name)]
    except RunError as error:
        raise DamagedRunsError(folder, [run.measured.run.id], str(error)) from error


def _compare(run: Run, captures: Captures) -> Iterator[Compared | Skipped]:
    for point, capture in captures.items():
        for flow in flows_at(run, point):
            seen = capture.of(flow)
            for number in NUMBERS:
                if capture.place in number.at:
                    yield _one(number, flow, seen, Subject(run, flow.name, point))
    for across in ACROSS:
        flows: list[Flow | None] = [*run.flows] if across.of_flows else [None]
        for flow_or_all in flows:
            yield _across(across, run, captures, flow_or_all)


def _one(number: Number, flow: Flow, seen: Seen, subject: Subject) -> Compared | Skipped:
    place = seen.capture.place
    if seen.capture.incomplete is not None:
        return Skipped(number.name, place, seen.capture.incomplete)
    for condition in (ON_ITS_WAY, *number.conditions):
        if not condition.holds(flow, seen):
            return Skipped(number.name, place, condition.unless)
    trace, capture = number.trace(flow, seen), number.capture(flow, seen)
    if trace is None and capture is None:
        return Skipped(number.name, place, NEITHER)
    bound = number.bound
    allowed = None if bound is None else (bound.least(flow, seen), bound.most(flow, seen))
    return Compared(
        number.name, number.unit, place, number.relative, subject, trace, capture, allowed
    )


def _across(across: Across, run: Run, captures: Captures, flow: Flow | None) -> Compared | Skipped:
    why = across.needs(run, captures, flow)
    if why is not None:
        return Skipped(across.name, across.point, why)
    both = across.both(run, captures, flow)
    if isinstance(both, Because):
        return Skipped(across.name, across.point, both)
    if both.trace is None and both.capture is None:
        return Skipped(across.name, across.point, NEITHER)
    subject = Subject(run, None if flow is None else flow.name, across.point)
    allowed = (both.least, both.most)
    return Compared(
        across.name, across.unit, across.point, False, subject, both.trace, both.capture, allowed
    )
