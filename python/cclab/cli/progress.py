"""The one display of what goes on: a live line on a terminal, elsewhere a plain one now and then.

Every verb that lets people wait shows itself here: sweeps, builds of kernels, their checks, and
work of which nobody knows how far it is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from cclab.cli.console import count, note
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rich import progress as live
    from rich.progress import Progress

    from cclab import kernel
    from cclab.cli import drawn
    from cclab.execute import State
else:
    live = late("rich.progress")
    drawn = late("cclab.cli.drawn")

_PLAIN_EVERY_S = 5.0


class Display:
    """One line on standard error about work that goes on; it is gone when the work is over."""

    def __init__(self, doing: str = "") -> None:
        """Nothing is shown outside the context; in it, on a terminal, `doing` at first."""
        self._terminal = terminal()
        self._doing = doing
        self._live: Progress | None = None
        self._next_plain_s = _PLAIN_EVERY_S

    def __enter__(self) -> Self:
        """Takes over the terminal's last line, if there is a terminal."""
        if self._terminal is not None:
            self._live = live.Progress(
                live.TextColumn("{task.description}", markup=False),
                live.BarColumn(bar_width=32),
                live.TextColumn("{task.fields[percent]}", markup=False),
                live.TextColumn("{task.fields[beside]}", markup=False),
                console=self._terminal,
                transient=True,
            )
            # Without a total the bar moves to and fro: nothing is known yet.
            self._live.add_task(
                self._terminal.shown(self._doing),
                total=None,
                visible=bool(self._doing),
                percent="",
                beside="",
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Gives the line back."""
        if self._live is not None:
            self._live.stop()

    def note(self, message: str) -> None:
        """One line that stays, above the live one."""
        if self._terminal is None:
            note(message)
        else:
            self._terminal.print(message, soft_wrap=True)

    def show(
        self,
        at_s: float,
        doing: str,
        part: float | None,
        percent: str,
        beside: Iterable[str],
        plain: Iterable[str],
        *,
        new: bool = False,
    ) -> None:
        """Shows what goes on `at_s` seconds after the start, and which `part` of it is done.

        On a terminal `percent` and what is `beside` it stand behind the bar; elsewhere `plain` is
        the line, at once if what goes on is `new`, and of no words there is none.
        """
        if self._live is not None and self._terminal is not None:  # both, or neither
            self._live.update(
                self._live.task_ids[0],
                visible=True,
                total=None if part is None else 1.0,
                completed=part or 0.0,
                description=self._terminal.shown(doing),
                percent=percent,
                beside=self._terminal.shown("  ".join(filter(None, beside))),
            )
        elif (new or at_s >= self._next_plain_s) and (told := ", ".join(filter(None, plain))):
            self._next_plain_s = at_s + _PLAIN_EVERY_S
            self.note(told)


def terminal() -> drawn.Output | None:
    """Standard error, if it is a terminal: what is merely taken for one, as by `FORCE_COLOR`, is to
    have colors, and keeps what a live line would take back."""
    if not sys.stderr.isatty():
        return None
    stream = drawn.stderr()
    return stream if stream.is_terminal else None


class SweepProgress(Display):
    """Shows the state of a sweep; a `cclab.execute.Listener`."""

    def __init__(self) -> None:
        """Nothing is shown before the first call."""
        super().__init__()
        self._last: State | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Gives the line back and says what was done."""
        super().__exit__(kind, error, trace)
        state = self._last
        if state is not None and kind is None:
            told = [
                f"{count(state.done, 'run')} in {duration(state.elapsed_s)}",
                f"{state.virtual_s:,.0f} virtual seconds",
                speed(state),
                f"{state.failed} failed" if state.failed else "",
            ]
            self.note(", ".join(filter(None, told)))

    def __call__(self, state: State) -> None:
        """Shows `state`."""
        known = () if self._last is None else self._last.lost
        for worker in state.lost[len(known) :]:
            self.note(f"{worker}; others do its runs, and it gets no more of them")
        self._last = state
        over = state.done == state.total
        left = "" if over or state.left_s is None else f"{duration(state.left_s)} left"
        if state.saving:
            left = "saving the rest"
        part = min(state.work, 1.0 if over else 0.99)  # 100% is all of them saved.
        doing, percent, rate = _runs(state), f"{int(100 * part)}%", speed(state)
        plain = () if over else (doing, percent, rate, left)
        self.show(state.elapsed_s, doing, part, percent, (rate, left), plain)


class BuildProgress(Display):
    """Shows the state of a build; a `cclab.kernel.Listener`."""

    def __init__(self) -> None:
        """Nothing is shown before the first call."""
        super().__init__()
        self.worked = False
        """Whether anything was built."""
        self._stage = ""

    def __call__(self, state: kernel.State) -> None:
        """Shows `state`."""
        self.worked = self.worked or state.works
        percent = "" if state.fraction is None else f"{100 * state.fraction:.0f}%"
        elapsed = duration(state.elapsed_s)
        self.show(
            state.elapsed_s,
            state.stage,
            state.fraction,
            percent,
            (state.detail, elapsed),
            (state.stage, state.detail, percent, elapsed),
            new=state.stage != self._stage,
        )
        self._stage = state.stage


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
