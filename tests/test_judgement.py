"""The suites judge rightly: variants whose verdicts are known beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cclab import evaluation
from cclab.evaluation import judge
from cclab.evaluation.judge import Sample, Setting
from cclab.evaluation.schema import Criterion
from cclab.plan.study import Study
from cclab.quantities.names import evaluated
from cclab.store import Store
from cclab.sweep import carry_out

if TYPE_CHECKING:
    from cclab.evaluation.card import Card
    from cclab.metrics import Better


def judged(
    variant: str, *lines: str, out: Path, repeat: int = 5, suite: str = evaluation.DEFAULT_SUITE
) -> Card:
    return evaluation.evaluate(variant, suite=suite, quick=True, only=lines, repeat=repeat, out=out)


def verdicts(card: Card) -> dict[str, str]:
    return {line.criterion.id: line.verdict for line in card.lines}


@pytest.mark.parametrize("standard", ["cubic", "reno"])
def test_a_standard_is_nowhere_worse_than_standard(tmp_path: Path, standard: str) -> None:
    card = judged(standard, "5.1.3", "5.1.4", "5.2.3", "7.8", "7.9", out=tmp_path)
    assert card.faults == []
    assert card.counts["undecided"] == 0, card


def test_bbr_loses_too_much_where_the_buffer_is_below_one_and_a_half_bdp(tmp_path: Path) -> None:
    """RFC 9743, 5.1.3, of its first version."""
    line = judged("bbr", "5.1.3-several", out=tmp_path).lines[0]
    assert line.verdict == "worse than standard"
    standings = {s.params["network.bottleneck.queue.limit"]: s.standing for s in line.settings}
    assert standings == {"0.5bdp": "worse", "1bdp": "worse", "4bdp": "no worse"}


def test_a_sender_at_a_constant_rate_fails(tmp_path: Path) -> None:
    card = judged(
        "unresponsive", "5.1.1-backoff", "5.1.3-several", "5.2-goodput", out=tmp_path, repeat=3
    )
    assert verdicts(card) == {
        "5.1.1-backoff": "fails",
        "5.1.3-several": "worse than standard",
        "5.2-goodput": "worse than standard",
    }


def test_a_circuit_breaker_ends_who_does_not_yield_and_no_standard(tmp_path: Path) -> None:
    """RFC 8083 means a sender an order of magnitude beyond TCP."""
    for variant, verdict in (("unresponsive", "fails"), ("cubic", "meets"), ("reno", "meets")):
        card = judged(variant, "7.2-wired", out=tmp_path / variant, repeat=2)
        assert verdicts(card) == {"7.2-wired": verdict}


def test_what_receivers_gain_by_misbehaving_is_held_against_what_standards_give(
    tmp_path: Path,
) -> None:
    """Linux counts what is acknowledged: division and copies give nothing. What is never reported
    lost gives a loss-based sender all that the window allows."""
    card = judged("cubic", "7.6", out=tmp_path, repeat=2)
    assert set(verdicts(card).values()) == {"no worse than standard"}
    gains = {
        str(setting.params["flow.x.receiver"]): [v for v in setting.subject.values if v is not None]
        for setting in card.line("7.6-acks").settings
    }
    for receiver, gain in gains.items():
        if "division" in receiver or "duplicate" in receiver:
            assert 0.7 < sum(gain) / 2 < 1.4, gains
        else:
            assert sum(gain) / 2 > 10, gains
    [marks] = card.line("7.6-marks").settings
    values = [value for value in marks.subject.values if value is not None]
    assert len(values) == 2
    assert min(values) > 3


def test_who_yields_to_everything_harms_nobody_and_gets_less(tmp_path: Path) -> None:
    card = judged("ledbat++", "5.2-goodput", "5.2-share", out=tmp_path, repeat=4)
    assert verdicts(card) == {
        "5.2-goodput": "no worse than standard",
        "5.2-share": "worse than standard",
    }


def test_bbr_that_begins_first_takes_nearly_all_from_cubic(tmp_path: Path) -> None:
    """C4's draft prints 81% for BBR there, and calls more than 80% really bad."""
    card = judged("bbr", "vs-cubic-lg2", out=tmp_path, suite="c4")
    told = verdicts(card)
    assert told["vs-cubic-lg2-most"] == "fails"
    assert told["vs-cubic-lg2-least"] == "meets"
    assert told["vs-cubic-lg2-time"] == "no worse than standard"


@pytest.mark.parametrize(("variant", "verdict"), [("bbr3", "meets"), ("cubic", "fails")])
def test_bbr_alone_drains_and_looks_for_the_base_rtt(
    tmp_path: Path, variant: str, verdict: str
) -> None:
    card = judged(variant, "A.3", "A.10", out=tmp_path, repeat=2, suite="bbr")
    assert verdicts(card) == {"A.3-drain": verdict, "A.10-in": verdict}


def test_who_does_not_hear_marks_has_a_long_queue_where_packets_are_marked(tmp_path: Path) -> None:
    card = judged("bbr", "4.5", out=tmp_path, suite="aqm")
    told = verdicts(card)
    assert told["4.5-delay"] == "worse than standard"
    assert told["4.5-goodput"] == "no worse than standard"


def test_transfers_that_hear_nothing_hold_up_those_of_a_standard(tmp_path: Path) -> None:
    card = judged("unresponsive", "6.1-standard", out=tmp_path, repeat=4, suite="tcpeval")
    assert verdicts(card) == {"6.1-standard": "worse than standard"}


def test_cubic_fills_1024_packets_and_loses_few(tmp_path: Path) -> None:
    """They last 1.2 s at 10 Mbit/s: a round trip of 10 ms is no quarter of that."""
    card = judged("cubic", "six-rtt", "six-loss", out=tmp_path, suite="transperf")
    assert verdicts(card) == {"six-rtt": "fails", "six-loss": "meets"}


def test_who_yields_gets_little_of_its_share(tmp_path: Path) -> None:
    card = judged("ledbat++", "several", out=tmp_path, suite="prudentia")
    assert verdicts(card) == {
        "several-theirs": "no worse than standard",
        "several-own": "worse than standard",
    }


NULL = """
title    = "Two flows of CUBIC"
duration = "12s"
warmup   = "2s"
trace    = { interval = "0s" }

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "1bdp" }

[[flow]]
name  = "x"
rtt   = "30ms"
start = { at = "0s", spread = "1s" }

[[flow]]
name  = "rival"
rtt   = "30ms"
start = { at = "0s", spread = "1s" }
"""

MEASURES: dict[str, tuple[str, str, Better]] = {
    "loss": ("bottleneck_drop_rate", "", "lower"),
    "delay": ("bottleneck_window_queue_delay_mean_s", "", "lower"),
    "goodput": ("window_goodput_bps", "x", "higher"),
    "again": ("retransmits", "x", "lower"),
}


def test_cubic_by_two_names_is_worse_than_itself_by_chance_alone(tmp_path: Path) -> None:
    """The null: runs of one variant with other seeds, taken for two, on twenty cards."""
    study = tmp_path / "null.toml"
    study.write_text(NULL)
    cards, seeds = 20, 10
    plan = Study.load(study).plan(repeat=2 * cards * seeds)
    point = carry_out(plan, Store(tmp_path / "out")).points[0]
    worse = lines = 0
    for card in range(cards):
        told = []
        for name, (value, flow, better) in MEASURES.items():
            criterion = Criterion(
                id=name,
                clause="null",
                obligation="own",
                text="is itself",
                scenario="null",
                measure=name,
                value=value,
                flow=flow,
                better=better,
                margin=0.0,
            )
            first = 2 * card * seeds
            halves = []
            for half in range(2):
                nths = range(first + half * seeds, first + (half + 1) * seeds)
                values = [float(evaluated(value, point, nth, flow)) for nth in nths]
                halves.append(Sample("cubic", [*range(seeds)], [*values], []))
            beside = judge.compared(criterion, *halves)
            told.append(judge.line(criterion, [Setting({}, name, halves[0], [beside], None, [])]))
        decided = judge.corrected(told)
        lines += len(decided)
        worse += sum(line.verdict == "worse than standard" for line in decided)
    assert lines == 80
    assert worse <= lines / 20
