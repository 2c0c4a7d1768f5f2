"""What is loaded while runs go on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cclab.cli import ahead
from cclab.execute import State

LOADS = """\
import sys
from cclab.cli import ahead
from cclab.execute import State

def told(done):
    heard(State(total=2, done=done, failed=0, work=0.5, virtual_s=1.0, elapsed_s=1.0))
    print(*(library in sys.modules for library in ("polars", "matplotlib", "jinja2")))

heard = ahead.loading(lambda state: None)
told(2)
told(1)
"""


def state(done: int) -> State:
    return State(total=2, done=done, failed=0, work=0.5, virtual_s=1.0, elapsed_s=1.0)


def test_a_report_is_loaded_while_runs_go_on_and_not_when_all_are_over() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False False False", "True True True"]


def test_what_cannot_be_loaded_does_not_end_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[State] = []

    def hears(state: State) -> None:
        heard.append(state)

    monkeypatch.setattr(ahead, "_AFTER_RUNS", ("cclab.nowhere",))
    listener = ahead.loading(hears)
    listener(state(0))
    listener(state(1))
    assert heard == [state(0), state(1)]


def test_an_interrupt_that_comes_while_something_loads_is_not_swallowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ahead, "import_module", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ahead.loading(lambda state: None)(state(0))
