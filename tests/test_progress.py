"""What a person sees of work that goes on: of sweeps, of builds, of what has no known end."""

from __future__ import annotations

import io
import re
import sys

import pytest

from cclab import kernel
from cclab.cli import progress as displays
from cclab.cli.drawn import Output
from cclab.cli.progress import BuildProgress, Display, SweepProgress, duration, speed
from cclab.execute import State


def _state(elapsed_s: float, done: int = 1, work: float = 0.25, failed: int = 0) -> State:
    return State(
        total=10, done=done, failed=failed, work=work, virtual_s=100.0, elapsed_s=elapsed_s
    )


def test_outside_a_terminal_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with SweepProgress() as progress:
        for tenth in range(1, 121):
            progress(_state(tenth / 10))
        progress(_state(12.0, done=10, work=1.0))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "1/10 runs, 25%, 20× real time, 15 s left",
        "1/10 runs, 25%, 10× real time, 30 s left",
        "10 runs in 12 s, 100 virtual seconds, 8.3× real time",
    ]


def test_runs_that_are_over_but_not_saved_are_not_all_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with SweepProgress() as progress:
        progress(_state(20.0, done=2, work=0.9999))
    assert capsys.readouterr().err.splitlines()[0] == (
        "2/10 runs, 99%, 5.0× real time, saving the rest"
    )


def test_a_build_tells_each_stage_and_a_long_one_every_few_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with BuildProgress() as progress:
        progress(kernel.State("unpacking", None, "", 0.5))
        assert progress.worked
        for tenth in range(10, 121):
            progress(kernel.State("compiling", tenth / 200, f"{tenth}/200 files", tenth / 10))
    assert capsys.readouterr().err.splitlines() == [
        "unpacking, 0.5 s",
        "compiling, 10/200 files, 5%, 1.0 s",
        "compiling, 60/200 files, 30%, 6.0 s",
        "compiling, 110/200 files, 55%, 11 s",
    ]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What standard error gets as a terminal of 100 columns."""
    screen = io.StringIO()
    console = Output(file=screen, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(displays, "terminal", lambda: console)
    return screen


def _lines(screen: io.StringIO) -> list[str]:
    """What was written to a terminal, without its bars and the codes that move the cursor."""
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    return [
        re.sub("[ ━╸╺]+", " ", line).strip() for line in re.split("[\r\n]+", bare) if line.strip()
    ]


class _Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, _Screen])
@pytest.mark.parametrize(
    ("variable", "value", "is_one"),
    [
        (None, "", None),
        ("FORCE_COLOR", "1", None),
        ("FORCE_COLOR", "", False),
        ("TTY_COMPATIBLE", "1", None),
        ("TTY_COMPATIBLE", "0", False),
    ],
)
def test_a_live_line_is_for_terminals_alone_and_for_those_that_can(
    stream: type[io.StringIO],
    variable: str | None,
    value: str,
    is_one: bool | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "stderr", stream())
    wanted = stream is _Screen if is_one is None else is_one
    assert (displays.terminal() is not None) == wanted


def test_on_a_terminal_a_sweep_is_one_line_that_goes_and_a_sum_that_stays(
    terminal: io.StringIO,
) -> None:
    with SweepProgress() as progress:
        progress(_state(10.0))
        progress(_state(12.0, done=10, work=1.0))
    lines = _lines(terminal)
    assert "10/10 runs 100% 8.3× real time" in lines
    assert lines[-1] == "10 runs in 12 s, 100 virtual seconds, 8.3× real time"
    assert "\x1b[2K" in terminal.getvalue()


def test_on_a_terminal_what_stays_is_told_above_what_goes_on(terminal: io.StringIO) -> None:
    with Display("trying [a] kernel") as display:
        display.note("boot: ok")
    lines = _lines(terminal)
    assert lines.index("boot: ok") < len(lines) - 1
    assert lines[-1] == "trying [a] kernel"


def test_outside_a_terminal_work_without_a_known_end_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Display("analyzing capture.pcap"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_failure_is_not_summed_up_as_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with SweepProgress() as progress:
            progress(_state(1.0))
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert capsys.readouterr().err == ""


def test_time_left_is_not_guessed_from_nothing() -> None:
    assert _state(10.0, work=0.0).left_s is None
    assert _state(0.1).left_s is None
    assert _state(10.0).left_s == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.01, "less than 0.1 s"),
        (1.24, "1.2 s"),
        (59.6, "60 s"),
        (125.0, "2 min 5 s"),
        (7300.0, "2 h 1 min"),
    ],
)
def test_spans_of_time_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_speed_is_virtual_over_real_time() -> None:
    assert speed(_state(1.0)) == "100× real time"
    assert speed(_state(100.0)) == "1.0× real time"
