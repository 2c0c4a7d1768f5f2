"""How far a sweep is, told while it goes on: never less than before, and the rest in time."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cclab import Study
from cclab.execute import State, _Batch, _Sweep, estimate
from cclab.execute.agenda import Agenda
from cclab.execute.backends import backend as backend_called
from cclab.execute.crew import Done
from cclab.execute.state import Rounds
from cclab.plan import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab._core import Progress


def _guessed(run: Run) -> float:
    """What a study's first run is guessed to take, which its scenario says itself."""
    scenario: Any = run.scenario
    return float(scenario["guess"])


@dataclass
class Clock:
    """Real time, which the test turns."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Guest:
    """A run under way whose virtual time is known."""

    run: Run
    virtual_s: float = 10.0
    spent_s: float = 0.0

    @property
    def takes_s(self) -> float:
        scenario: Any = self.run.scenario
        return float(scenario["takes"])

    @property
    def fraction(self) -> float:
        return min(self.spent_s / self.takes_s, 1.0)

    @property
    def now_s(self) -> float:
        return self.virtual_s * self.fraction


@dataclass
class Machine:
    """Does the runs of a sweep, two at a time, and tells its state ten times a second."""

    runs: Sequence[Run]
    workers: int = 2
    states: list[State] = field(default_factory=list)

    def go(self) -> list[State]:
        clock = Clock()
        agenda = Agenda(self.runs, _guessed)
        sweep = _Sweep(self.runs, agenda, clock)
        while agenda or sweep.under_way:
            while agenda and len(sweep.under_way) < 2 * self.workers:
                runs = agenda.take(self.workers)
                guests: list[Any] = [Guest(run) for run in runs]
                cost, guess = sum(map(agenda.cost, runs)), any(map(agenda.is_guess, runs))
                sweep.under_way[Future()] = _Batch(runs, guests, cost, guess)
            clock.now_s += 0.1
            for future, batch in [*sweep.under_way.items()][: self.workers]:
                guests = cast("list[Guest]", batch.progresses)
                going = next((guest for guest in guests if guest.fraction < 1), None)
                if going is not None:
                    going.spent_s += 0.1
                if all(guest.fraction == 1 for guest in guests):
                    del sweep.under_way[future]
                    took = sum(guest.spent_s for guest in guests)
                    sweep.over(batch, Done(took, sum(guest.now_s for guest in guests)))
            self.states.append(sweep.state(()))
        return self.states


def _runs(scenarios: Sequence[tuple[float, float]], seeds: int) -> list[Run]:
    """Runs of scenarios that are guessed to take so long, and take so long."""
    found = []
    for number, (guess, takes) in enumerate(scenarios):
        # Beside that, what the size of a run is read from.
        scenario: Any = {"guess": guess, "takes": takes}
        scenario |= {"flows": [], "duration": 10**10, "network": {"bottleneck": {"rate": None}}}
        found += [Run(f"{number}.{n}", n, "made-up", "1", scenario) for n in range(seeds)]
    return found


def _check_never_falls(states: Sequence[State]) -> None:
    for before, after in itertools.pairwise(states):
        assert after.work >= before.work
    assert states[-1].work == 1.0


seconds = st.floats(min_value=0.05, max_value=20)


@given(st.lists(st.tuples(seconds, seconds), min_size=1, max_size=5), st.integers(1, 3))
def test_what_is_done_never_becomes_less(scenarios: list[tuple[float, float]], seeds: int) -> None:
    _check_never_falls(Machine(_runs(scenarios, seeds)).go())


def test_runs_that_take_far_longer_than_was_guessed_are_seen_by_their_virtual_time() -> None:
    """Fifteen points of a study, each guessed at half a second, each of which takes ten: when five
    runs were over, five sixths seemed to be done."""
    chance = random.Random(1)
    states = Machine(_runs([(0.5, chance.uniform(8, 12)) for _ in range(15)], 2)).go()
    _check_never_falls(states)
    whole = states[-1].elapsed_s
    for state in states:
        # From a fifth of a guest's time on, its own clock says how long the others take.
        if 3 < state.elapsed_s < 0.9 * whole:
            assert state.work == pytest.approx(state.elapsed_s / whole, abs=0.1)
            assert state.left_s == pytest.approx(whole - state.elapsed_s, rel=0.35)


def test_a_run_without_an_end_in_sight_counts_by_the_guess() -> None:
    scenario: Any = {"guess": 4.0, "takes": 1e9}
    run = Run("a", 1, "made-up", "1", scenario)
    guest = Guest(run, virtual_s=1e9)
    guest.spent_s = 1.0
    batch = _Batch([run], [cast("Progress", guest)], 4.0, guessed=True)
    assert batch.spent_s(5.0) == 0.0
    assert batch.whole_s(6.0, pace=1.0) == pytest.approx(5.0, abs=0.01)


def test_several_sweeps_are_one_to_a_listener() -> None:
    told: list[State] = []

    def listener(state: State) -> None:
        told.append(state)

    rounds = Rounds(listener)
    rounds(State(2, 1, 0, 0.6, 1.0, 1.0, known=0.5))
    rounds(State(2, 2, 0, 1.0, 2.0, 2.0, known=1.0))
    rounds(State(2, 0, 0, 0.0, 0.0, 0.1, known=0.0))
    assert [state.work for state in told] == [0.6, 1.0, 0.5]
    assert [state.known for state in told] == [0.5, 1.0, 0.5]


def test_runs_take_the_processors_that_there_are_and_as_many_as_there_are_runs(
    study: Path,
) -> None:
    sim, runs = backend_called("sim"), Study.load(study).plan(repeat=3).runs
    each = [estimate.seconds(run, sim) for run in runs]
    # A run costs something even where hardly a packet is sent.
    assert min(each) > 0.001
    assert estimate.seconds_of_all(runs, sim, 1) == pytest.approx(sum(each))
    assert estimate.seconds_of_all(runs, sim, 2) == pytest.approx(sum(each) / 2)
    assert estimate.seconds_of_all(runs[:1], sim, 8) == pytest.approx(each[0])
    assert estimate.seconds_of_all([], sim, 8) == 0.0


def test_a_rate_that_is_scheduled_counts_for_as_long_as_it_lasts(tmp_path: Path) -> None:
    """It rises tenfold for half of the time, as in suites whose estimate was an eighth."""
    (tmp_path / "study.toml").write_text(
        """duration = "20s"
        flow = [{ cc = "reno", rtt = "40ms" }]
        [network.bottleneck]
        rate = "10Mbit"
        queue = { limit = "1bdp" }
        schedule = [{ at = "5s", rate = "100Mbit" }, { at = "10s", delay = "10ms" },
                    { at = "15s", rate = "10Mbit" }]"""
    )
    study = Study.load(tmp_path / "study.toml")
    changed = estimate.packets(study.plan().points[0].scenario)
    steady = estimate.packets(study.plan(set=["network.bottleneck.schedule=[]"]).points[0].scenario)
    assert changed / steady == pytest.approx((10 + 100) / 2 / 10)


def test_a_span_has_others_that_use_the_processors() -> None:
    alone, beside = estimate.Span.of(60, 2, 0), estimate.Span.of(60, 2, 6)
    assert alone.least == beside.least == 60
    assert beside.most == 4 * alone.most > 240


def test_the_rest_of_several_sweeps_is_told_by_what_those_before_took() -> None:
    clock = Clock(100.0)
    # Of the second nothing is to be done.
    forecast = estimate.Forecast([10.0, 0.0, 30.0, 10.0], clock)
    assert forecast.left_s(0) is None
    clock.now_s += 50
    assert forecast.left_s(1) == forecast.left_s(2) == pytest.approx(200)
    clock.now_s += 250
    assert forecast.left_s(3) == pytest.approx(10 * 300 / 40)
