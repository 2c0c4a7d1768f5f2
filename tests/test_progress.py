"""What a person sees of a sweep that goes on."""

from __future__ import annotations

import pytest

from cclab.cli.progress import SweepProgress, duration, speed
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
