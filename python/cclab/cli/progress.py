"""The progress of a sweep: a live line on a terminal, elsewhere a plain line every few seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from cclab.cli.console import note, stderr

if TYPE_CHECKING:
    from types import TracebackType

    from cclab.execute import State

_PLAIN_EVERY_S = 5.0


class SweepProgress:
    """Shows the state of a sweep on standard error; a `cclab.execute.Listener`."""

    def __init__(self) -> None:
        """Nothing is shown before the first call."""
        self._console = stderr()
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._next_plain_s = _PLAIN_EVERY_S
        self._last: State | None = None

    def __enter__(self) -> Self:
        """Takes over the terminal's last line, if there is a terminal."""
        if self._console.is_terminal:
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=32),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[rate]}"),
                TextColumn("{task.fields[left]}"),
                console=self._console,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Gives the line back and says what was done."""
        if self._live is not None:
            self._live.stop()
        state = self._last
        if state is not None and kind is None:
            told = [
                f"{state.done} run{'' if state.done == 1 else 's'} in {duration(state.elapsed_s)}",
                f"{state.virtual_s:,.0f} virtual seconds",
                speed(state),
                f"{state.failed} failed" if state.failed else "",
            ]
            note(", ".join(part for part in told if part))

    def __call__(self, state: State) -> None:
        """Shows `state`."""
        known = () if self._last is None else self._last.lost
        for worker in state.lost[len(known) :]:
            note(f"{worker}; others do its runs, and it gets no more of them")
        self._last = state
        left = "" if state.left_s is None else f"{duration(state.left_s)} left"
        if state.saving:
            left = "saving the rest"
        if self._live is not None:
            if self._task is None:
                self._task = self._live.add_task("", total=1.0, rate="", left="")
            self._live.update(
                self._task,
                completed=min(state.work, 1.0 if state.done == state.total else 0.99),
                description=_runs(state),
                rate=speed(state),
                left=left,
            )
        elif state.elapsed_s >= self._next_plain_s and state.done < state.total:
            self._next_plain_s = state.elapsed_s + _PLAIN_EVERY_S
            percent = min(99, int(100 * state.work))  # 100% is all of them saved.
            told = [_runs(state), f"{percent}%", speed(state), left]
            note(", ".join(part for part in told if part))


def _runs(state: State) -> str:
    failed = f" ({state.failed} failed)" if state.failed else ""
    return f"{state.done:,}/{state.total:,} runs{failed}"


def speed(state: State) -> str:
    """Virtual against real time, and the runs a second where there are many."""
    rate = f"{state.rate:,.0f}× real time" if state.rate >= 10 else f"{state.rate:.1f}× real time"
    return rate if state.runs_per_s < 10 else f"{rate}, {state.runs_per_s:,.0f} runs/s"


def duration(seconds: float) -> str:
    """A span of real time for people."""
    if seconds < 0.1:
        return "less than 0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
