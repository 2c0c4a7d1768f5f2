"""The suites judge rightly: variants whose verdicts are known beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
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

DEAF = Path(__file__).parent / "variants" / "deaf.c"
C4 = Path(cclab.__file__).parent / "evaluation" / "suites" / "c4"


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
        str(DEAF), "5.1.1-backoff", "5.1.3-several", "5.2-goodput", out=tmp_path, repeat=3
    )
    assert verdicts(card) == {
        "5.1.1-backoff": "fails",
        "5.1.3-several": "worse than standard",
        "5.2-goodput": "worse than standard",
    }


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
    card = judged(str(DEAF), "6.1-standard", out=tmp_path, repeat=4, suite="tcpeval")
    assert verdicts(card) == {"6.1-standard": "worse than standard"}


def test_they_hold_up_the_largest_quarter_of_its_transfers(tmp_path: Path) -> None:
    card = judged(str(DEAF), "6.1-q4-standard", out=tmp_path, repeat=4, suite="tcpeval")
    assert verdicts(card) == {"6.1-q4-standard": "worse than standard"}


def test_a_path_that_carries_the_videos_shows_them_within_the_limits_of_c4(
    tmp_path: Path,
) -> None:
    card = judged("bbr3", "media10", out=tmp_path, repeat=4, suite="c4")
    assert set(verdicts(card).values()) == {"no worse than standard"}
    narrow = tmp_path / "narrow.toml"
    narrow.write_text((C4 / "media.toml").read_text().replace("100Mbit", "2Mbit"))
    flows = cclab.run(narrow, out=tmp_path / "narrow").points[0].runs[0].metrics["flows"]
    video, second = (next(f for f in flows if f["name"] == n) for n in ("video", "second"))
    # 3.1 Mbit/s over 2: the draft's limits are 47 and 160 ms.
    assert video["window_frames"]["delay_mean_s"] > 0.047
    assert video["window_frames"]["delay_max_s"] > 0.16
    assert second["window_frames"]["lost"] > 0
    assert video["window_frames"]["lost"] == 0


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
