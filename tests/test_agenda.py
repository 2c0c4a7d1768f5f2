"""In which order the runs of a sweep are handed out, and how many at a time."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cclab import Study
from cclab.execute import crew, execute
from cclab.execute.agenda import Agenda
from cclab.execute.backends import backend as backend_called
from cclab.execute.crew import Done
from cclab.plan import Run
from cclab.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MOST_S, MOST_RUNS, ROUNDS = 0.25, 256, 4
"""A batch is work for a quarter of a second and 256 folders at most, and a quarter of what is then
a worker's part of the rest."""


def _told(run: Run) -> float:
    """What a run costs, which its scenario says itself."""
    scenario: Any = run.scenario
    return float(scenario["seconds"])


def _runs(*scenarios: tuple[float, int]) -> list[Run]:
    """So many runs of scenarios of so many seconds each."""
    found = []
    for number, (seconds, repeats) in enumerate(scenarios):
        scenario: Any = {"seconds": seconds}
        found += [Run(f"{number}-{k}", k, "sim", "1", scenario) for k in range(repeats)]
    return found


def _seconds(batch: Sequence[Run]) -> list[float]:
    return [_told(run) for run in batch]


def _batches(runs: Sequence[Run], workers: int) -> list[list[Run]]:
    """All batches in their order; nothing is learnt."""
    agenda = Agenda(runs, _told)
    found = []
    while agenda:
        found.append(agenda.take(workers))
    assert agenda.take(workers) == []
    return found


# Parts of a second that sums of are exact, so that no order rounds otherwise.
_sweeps = st.lists(
    st.tuples(st.integers(1, 2048).map(lambda k: k / 1024), st.integers(1, 30)),
    min_size=1,
    max_size=12,
)
_workers = st.sampled_from([1, 2, 4, 16])


@given(_sweeps, _workers, st.randoms(use_true_random=False))
def test_the_longest_come_first_and_each_once_in_whatever_order_they_are_given(
    scenarios: list[tuple[float, int]], workers: int, chance: random.Random
) -> None:
    runs = _runs(*scenarios)
    batches = _batches(runs, workers)
    handed_out = [run for batch in batches for run in batch]
    assert sorted(run.id for run in handed_out) == sorted(run.id for run in runs)
    assert _seconds(handed_out) == sorted(_seconds(runs), reverse=True)
    chance.shuffle(runs)
    assert [*map(_seconds, _batches(runs, workers))] == [*map(_seconds, batches)]


@given(_sweeps, _workers)
def test_a_batch_is_as_much_as_its_bound_has_room_for_and_a_single_run_at_least(
    scenarios: list[tuple[float, int]], workers: int
) -> None:
    agenda = Agenda(_runs(*scenarios), _told)
    rest = sorted(_seconds(_runs(*scenarios)), reverse=True)
    while agenda:
        assert agenda.left_s == sum(rest)
        bound = min(MOST_S, sum(rest) / (workers * ROUNDS))
        batch = _seconds(agenda.take(workers))
        assert batch == rest[: len(batch)]
        rest = rest[len(batch) :]
        assert len(agenda) == len(rest)
        if len(batch) > 1:
            assert sum(batch) <= bound
        if rest:
            assert sum(batch) + rest[0] > bound


def test_small_runs_come_in_batches_that_shrink_towards_the_end() -> None:
    # 16 seconds of work for two workers: 2,048 runs of 1/128 s.
    sizes = [len(batch) for batch in _batches(_runs((1 / 128, 2048)), 2)]
    assert sum(sizes) == 2048
    assert sizes == sorted(sizes, reverse=True)
    # A quarter of a second while two seconds are left, 256 runs; then an eighth of the rest.
    assert sizes[:57] == [32] * 57
    assert sizes[57:61] == [28, 24, 21, 18]
    assert sizes[-8:] == [1] * 8


def test_runs_that_cost_next_to_nothing_are_256_at_a_time_at_most() -> None:
    assert [*map(len, _batches(_runs((0.0, 60_000)), 1))][:200] == [MOST_RUNS] * 200
    agenda = Agenda(_runs((0.0, 60_000)), _told)
    assert len(agenda.take(1, most=9)) == 9
    assert len(agenda.take(1, most=9_999)) == MOST_RUNS


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_workers_end_at_about_the_same_time(workers: int) -> None:
    chance = random.Random(workers)
    scenarios = [(chance.lognormvariate(-5, 1.5), 40) for _ in range(100)]
    agenda = Agenda(_runs(*scenarios), _told)
    whole = agenda.left_s
    free_at = [0.0] * workers
    while agenda:
        worker = min(range(workers), key=free_at.__getitem__)
        free_at[worker] += sum(_seconds(agenda.take(workers)))
    assert sum(free_at) == pytest.approx(whole)
    assert max(free_at) - min(free_at) < whole / workers / 1000


# What is learnt while the sweep goes on.


def test_what_turns_out_to_be_short_or_long_counts_so_and_keeps_its_place() -> None:
    agenda = Agenda(_runs((3.0, 3), (2.0, 2), (1.0, 2)), _told)
    first = agenda.take(1)
    assert _seconds(first) == [3.0]
    agenda.learn(first, 0.5)
    assert agenda.cost(first[0]) == 0.5
    assert agenda.left_s == pytest.approx(2 * 0.5 + 2 * 2.0 + 2 * 1.0)
    order = [_seconds(agenda.take(1)) for _ in range(len(agenda))]
    assert order == [[3.0], [3.0], [2.0], [2.0], [1.0], [1.0]]
    assert not agenda


def test_of_what_turns_out_to_be_long_fewer_are_handed_out_together() -> None:
    agenda = Agenda(_runs((0.375, 1), (0.3125, 3), (0.0625, 100)), _told)
    assert [_seconds(agenda.take(1)) for _ in range(4)] == [[0.375], *[[0.3125]] * 3]
    small = agenda.take(1)
    assert _seconds(small) == [0.0625] * 4
    agenda.learn(small, 8.0)
    # 2 s each: no more in batches of four.
    assert [len(agenda.take(1)) for _ in range(3)] == [1, 1, 1]


def test_of_what_turns_out_to_be_short_more_are_handed_out_together() -> None:
    agenda = Agenda(
        _runs(
            (0.125, 100),
        ),
        _told,
    )
    assert _seconds(agenda.take(1)) == [0.125] * 2
    agenda.learn(agenda.take(1), 0.0625)
    # 1/32 s each: a quarter of a second is eight of them.
    assert len(agenda.take(1)) == 8


def test_what_was_thought_to_cost_nothing_is_learnt_as_well() -> None:
    agenda = Agenda(_runs((0.0, 6), (0.0, 6)), _told)
    batch = agenda.take(1, most=2)
    agenda.learn(batch, 4.0)
    assert agenda.cost(batch[0]) == pytest.approx(2.0)
    assert agenda.left_s == pytest.approx(4 * 2.0, abs=1e-3)


@given(st.data())
def test_whatever_is_learnt_what_was_thought_the_longest_is_next_and_each_is_handed_out_once(
    data: st.DataObject,
) -> None:
    runs = _runs(*data.draw(_sweeps))
    agenda = Agenda(runs, _told)
    rest = {run.id: run for run in runs}
    under_way: list[list[Run]] = []
    while agenda:
        batch = agenda.take(2)
        assert _told(batch[0]) == max(map(_told, rest.values()))
        for run in batch:
            del rest[run.id]
        assert len(agenda) == len(rest)
        assert agenda.left_s == pytest.approx(sum(map(agenda.cost, rest.values())), abs=1e-9)
        under_way.append(batch)
        if data.draw(st.booleans()):
            over = under_way.pop(data.draw(st.integers(0, len(under_way) - 1)))
            thought = sum(map(agenda.cost, over))
            agenda.learn(over, thought * data.draw(st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0])))
    assert not rest


# A sweep.


@dataclass
class Recording:
    """One worker that does nothing, and writes down what it was asked to do."""

    slots: int = 1
    lost: tuple[str, ...] = ()
    threads: int = 1
    asked: list[list[Run]] = field(default_factory=list)

    def task(
        self, batch: Sequence[Run], progresses: Sequence[Any], writer: Any
    ) -> Callable[[], Done]:
        self.asked.append(list(batch))
        return lambda: Done(0.0, 0.0)

    def stop(self) -> None:
        pass


def test_a_sweep_asks_for_its_longest_runs_first_and_for_short_ones_together(
    study: Path, tmp_path: Path
) -> None:
    swept = ["1s", "600s", "2s", "60s", "20s"]
    words = ", ".join(f'"{duration}"' for duration in swept)
    plan = Study.load(study).plan(
        set=["flow.short.cc=reno", f"sweep.duration=[{words}]"], repeat=100
    )
    recording = Recording()
    with Store(tmp_path / "out").writer() as writer:
        assert execute(plan.runs, backend_called("sim"), recording, writer) == []
    asked = [run.scenario["duration"] or 0 for batch in recording.asked for run in batch]
    longest_first = sorted((run.scenario["duration"] or 0 for run in plan.runs), reverse=True)
    assert asked == longest_first
    assert len(asked) == 500
    assert len(recording.asked[0]) == 1
    assert max(map(len, recording.asked)) > 9
    assert len(recording.asked) < len(asked) / 2


def test_a_batch_never_gets_its_processor_before_one_that_was_handed_out_earlier(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads raced for it: a sweep on one processor began with any of its first two."""
    runs = Study.load(study).plan().runs
    begun: list[Run] = []

    def work(_: object, batch: Sequence[Run], *rest: object) -> tuple[list[Any], Done]:
        begun.extend(batch)
        return [], Done(0.0, 0.0)

    monkeypatch.setattr(crew, "work", work)
    local = crew.Local(backend_called("sim"), 1)
    with Store(tmp_path / "out").writer() as writer:
        tasks = [local.task([run], [], writer) for run in runs]
        threads = [threading.Thread(target=task) for task in reversed(tasks[1:])]
        for thread in threads:
            thread.start()
        tasks[0]()
        for thread in threads:
            thread.join()
    assert begun == runs
