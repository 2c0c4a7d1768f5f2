"""Sweeps that are interrupted between any two steps."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from cclab import Study, execute
from cclab.execute.backends import backend
from cclab.execute.crew import Done
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab.plan import Run

STUDY = """\
duration = "1s"
[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "100p" }
[[flow]]
name = "one"
"""


class Told:
    """A progress that says whether it was cancelled."""

    fraction = now_s = 0.0

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()


class Patient:
    """A crew of one, whose batches go on until they are cancelled."""

    slots = threads = 1
    here = False
    lost = ()

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.cancelled: list[bool] = []

    def task(
        self, batch: Sequence[Run], progresses: Sequence[Told], writer: object
    ) -> Callable[[], Done]:
        del batch, writer

        def done() -> Done:
            self.begun.set()
            self.cancelled.append(progresses[0].cancelled.wait(PATIENCE_S))
            return Done(0.0, 0.0)

        return done

    def stop(self) -> None:
        pass


def test_an_interrupt_while_a_batch_is_handed_out_ends_that_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went on to its end, and the process with it."""
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    submit = ThreadPoolExecutor.submit

    crew: Any = Patient()

    def interrupted(pool: ThreadPoolExecutor, *call: Any) -> Future[Any]:
        submit(pool, *call)
        assert crew.begun.wait(PATIENCE_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(execute, "Progress", Told)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        execute.execute(Study.load(study).plan().runs, backend("sim"), crew, Mock())
    assert crew.cancelled == [True]
