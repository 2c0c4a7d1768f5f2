"""The suites judge rightly: variants whose verdicts are known beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
import nulls
from cclab import evaluation
from conftest import JUDGED

if TYPE_CHECKING:
    from cclab.evaluation.card import Card
    from cclab.evaluation.evidence import Setting

C4 = Path(cclab.__file__).parent / "evaluation" / "suites" / "c4"


def judged(
    variant: str, *lines: str, out: Path, repeat: int = 5, suite: str = evaluation.DEFAULT_SUITE
) -> Card:
    return evaluation.evaluate(
        variant, suite=suite, quick=True, only=lines, repeat=repeat, out=out / suite
    )


@pytest.fixture(scope="session")
def runs(shared_place: Path) -> Path:
    """Where the runs of all cards are, so that those of standards are carried out once."""
    return shared_place / JUDGED


def verdicts(card: Card) -> dict[str, str]:
    return {line.criterion.id: line.verdict for line in card.lines}


@pytest.mark.parametrize("standard", ["cubic", "reno"])
def test_a_standard_is_nowhere_worse_than_standard(runs: Path, standard: str) -> None:
    """In the cheaper lines of each kind; docs/evaluate.md has what whole cards say."""
    lines = ("5.1.3", "5.1.4", "5.2.3", "7.8-outage", "7.9-often", "7.9-route-often")
    card = judged(standard, *lines, out=runs)
    assert card.faults == []
    assert card.counts["undecided"] == 0, card


@pytest.mark.parametrize("standard", ["cubic", "reno"])
def test_a_standard_meets_bounds(runs: Path, standard: str) -> None:
    """Nothing is worse than itself; a bound it may break as others do."""
    bounds = ("5.1.1-backoff", "5.1.1-gaps", "5.2-feedback", "7.2-wired")
    told = verdicts(judged(standard, *bounds, out=runs, repeat=10))
    assert {told[bound] for bound in bounds} == {"meets"}


def test_bbr_loses_too_much_where_the_buffer_is_below_one_and_a_half_bdp(runs: Path) -> None:
    """RFC 9743, 5.1.3, of its first version."""
    line = judged("bbr", "5.1.3-several", out=runs).lines[0]
    assert line.verdict == "worse than standard"
    standings = {s.params["network.bottleneck.queue.limit"]: s.standing for s in line.settings}
    assert standings == {"0.5bdp": "worse", "1bdp": "worse", "4bdp": "no worse"}


def test_a_sender_at_a_constant_rate_fails(runs: Path) -> None:
    card = judged(
        "unresponsive",
        "5.1.1-backoff", "5.1.3-several", "5.2-goodput", "5.2-feedback",
        out=runs,
        repeat=6,
    )  # fmt: skip
    assert verdicts(card) == {
        "5.1.1-backoff": "fails",
        "5.1.3-several": "worse than standard",
        "5.2-goodput": "worse than standard",
        "5.2-feedback": "fails",
        "5.2-feedback-second": "not evaluated",
    }


def test_a_second_without_feedback_is_seen(runs: Path) -> None:
    """In the full form alone; 5.2-slow, there alone too, is 5.2-goodput at another rate."""
    for variant, verdict in (("unresponsive", "fails"), ("cubic", "meets")):
        card = evaluation.evaluate(
            variant, only=["5.2-feedback-second"], against=["reno"], repeat=6, out=runs / "full"
        )
        assert verdicts(card) == {"5.2-feedback-second": verdict}


def test_a_circuit_breaker_ends_who_does_not_yield_and_no_standard(runs: Path) -> None:
    """RFC 8083 means a sender an order of magnitude beyond TCP."""
    for variant, verdict in (("unresponsive", "fails"), ("cubic", "meets"), ("reno", "meets")):
        card = judged(variant, "7.2-wired", out=runs, repeat=10)
        assert verdicts(card) == {"7.2-wired": verdict}


def test_what_receivers_gain_by_misbehaving_is_held_against_what_standards_give(
    runs: Path,
) -> None:
    """Linux counts what is acknowledged: division and copies give nothing. What is never reported
    lost gives a loss-based sender all that the window allows."""
    card = judged("cubic", "7.6", out=runs, repeat=2)
    assert set(verdicts(card).values()) == {"no worse than standard"}
    gains = {
        str(setting.params["flow.x.receiver"]): [v for v in setting.subject.values if v is not None]
        for setting in card.line("7.6-acks").settings
    }
    for receiver, gain in gains.items():
        if "division" in receiver or "duplicate" in receiver:
            assert 0.7 < sum(gain) / 2 < 1.4, gains
        else:
            assert sum(gain) / 2 > 5, gains
    [marks] = card.line("7.6-marks").settings
    values = [value for value in marks.subject.values if value is not None]
    assert len(values) == 2
    assert min(values) > 3


def test_a_sender_at_a_constant_rate_is_worse_wherever_others_have_to_live(runs: Path) -> None:
    """It answers no mark, no loss and no round trip, and has all that it was given."""
    harming = ("5.2.1-dctcp", "5.2.2-long-loss", "7.6-all-marked", "7.6-inflated")
    card = judged("unresponsive", *harming, out=runs, repeat=8)
    assert verdicts(card) == dict.fromkeys(harming, "worse than standard")


def test_a_fair_share_is_no_gain_where_all_is_marked(runs: Path) -> None:
    """BBR of version 3 keeps a rate there that nothing but marks speaks against."""
    card = judged("bbr3", "7.6-all-marked", out=runs, repeat=8)
    assert verdicts(card) == {"7.6-all-marked": "no worse than standard"}


def test_who_yields_to_everything_harms_nobody_and_gets_less(runs: Path) -> None:
    card = judged("ledbat++", "5.2-goodput", "5.2-share", out=runs, repeat=4)
    assert verdicts(card) == {
        "5.2-goodput": "no worse than standard",
        "5.2-share": "worse than standard",
    }


def test_bbr_that_begins_first_takes_nearly_all_from_cubic(runs: Path) -> None:
    """C4's draft prints 81% for BBR there, and calls more than 80% really bad."""
    card = judged("bbr", "vs-cubic-lg2", out=runs, suite="c4")
    told = verdicts(card)
    assert told["vs-cubic-lg2-most"] == "fails"
    assert told["vs-cubic-lg2-least"] == "meets"
    assert told["vs-cubic-lg2-time"] == "no worse than standard"


@pytest.mark.parametrize(("variant", "verdict"), [("bbr3", "meets"), ("cubic", "fails")])
def test_bbr_alone_drains_and_looks_for_the_base_rtt(
    runs: Path, variant: str, verdict: str
) -> None:
    card = judged(variant, "A.3-drain", "A.10-in", out=runs, repeat=8, suite="bbr")
    assert verdicts(card) == {"A.3-drain": verdict, "A.10-in": verdict}


def test_who_does_not_hear_marks_has_a_long_queue_where_packets_are_marked(runs: Path) -> None:
    card = judged("bbr", "4.5", out=runs, suite="aqm")
    told = verdicts(card)
    assert told["4.5-delay"] == "worse than standard"
    assert told["4.5-goodput"] == "no worse than standard"


def test_transfers_that_hear_nothing_hold_up_those_of_a_standard(runs: Path) -> None:
    card = judged("unresponsive", "6.1-standard", out=runs, repeat=4, suite="tcpeval")
    assert verdicts(card) == {"6.1-standard": "worse than standard"}


def test_they_hold_up_the_largest_quarter_of_its_transfers(runs: Path) -> None:
    card = judged("unresponsive", "6.1-q4-standard", out=runs, repeat=8, suite="tcpeval")
    assert verdicts(card) == {"6.1-q4-standard": "worse than standard"}


def test_a_path_that_carries_the_videos_shows_them_within_the_limits_of_c4(
    tmp_path: Path, runs: Path
) -> None:
    card = judged("bbr3", "media10", out=runs, repeat=4, suite="c4")
    assert set(verdicts(card).values()) == {"no worse than standard"}
    narrow = tmp_path / "narrow.toml"
    narrow.write_text((C4 / "media.toml").read_text().replace("100Mbit", "2Mbit"))
    flows = cclab.run(narrow, out=tmp_path / "narrow").points[0].runs[0].metrics["flows"]
    video, second = (next(f for f in flows if f["name"] == n) for n in ("video", "second"))
    # 3.1 Mbit/s over 2: the limits are 47 and 160 ms, less the 20 ms of the request's way.
    assert video["window_frames"]["delay_mean_s"] > 0.027
    assert video["window_frames"]["delay_max_s"] > 0.14
    assert second["window_frames"]["lost"] > 0
    assert video["window_frames"]["lost"] == 0


def test_cubic_fills_1024_packets_and_loses_few(runs: Path) -> None:
    """They last 1.2 s at 10 Mbit/s: a round trip of 10 ms is no quarter of that."""
    card = judged("cubic", "six-rtt", "six-loss", out=runs, suite="transperf")
    assert verdicts(card) == {"six-rtt": "fails", "six-loss": "meets"}


def test_who_yields_gets_little_of_its_share(runs: Path) -> None:
    card = judged("ledbat++", "several", out=runs, suite="prudentia")
    assert verdicts(card) == {
        "several-theirs": "no worse than standard",
        "several-own": "worse than standard",
    }


def settings(card: Card, line: str) -> dict[tuple[object, ...], Setting]:
    """The settings of a line by the values of what is swept, without variants."""
    return {
        tuple(value for key, value in setting.params.items() if not key.endswith(".cc")): setting
        for setting in card.line(line).settings
    }


def mean(setting: Setting) -> float:
    """The mean of what the variant under test was measured at, which all seeds have."""
    values = [value for value in setting.subject.values if value is not None]
    assert len(values) == len(setting.subject.values)
    return sum(values) / len(values)


def test_prague_takes_more_than_twice_what_cubic_gets_behind_dualpi2(runs: Path) -> None:
    """heistp/l4s-tests, key finding 3, at 50 Mbit/s and 20 ms."""
    card = judged("prague", "S1-ratio", "S1-rival", out=runs, suite="l4s")
    assert verdicts(card) == {"S1-ratio": "fails", "S1-rival": "worse than standard"}
    ratio = mean(settings(card, "S1-ratio")["50Mbit", "20ms", "20ms"])
    assert 2.0 < ratio < 3.2
    share = settings(card, "S1-rival")["50Mbit", "20ms", "20ms"]
    assert share.standing == "worse"


def test_prague_waits_for_seconds_behind_fq_codel_where_the_rate_falls(runs: Path) -> None:
    """The same, key finding 7: it takes a classic mark for one of many."""
    card = judged("prague", "S2-fq-codel", out=runs, repeat=3, suite="l4s")
    assert verdicts(card) == {
        "S2-fq-codel-spike": "worse than standard",
        "S2-fq-codel-goodput": "no worse than standard",
    }
    assert mean(settings(card, "S2-fq-codel-spike")["25Mbit", "80ms"]) > 0.1
    assert mean(settings(card, "S2-fq-codel-spike")["5Mbit", "80ms"]) > 0.4


def test_prague_uses_about_half_of_a_rate_that_bursts_come_to(runs: Path) -> None:
    """The same, key finding 8."""
    card = judged("prague", "S2-bursty", out=runs, repeat=3, suite="l4s")
    assert verdicts(card) == {
        "S2-bursty-before": "worse than standard",
        "S2-bursty-after": "worse than standard",
        "S2-bursty-delay": "no worse than standard",
    }
    (after,) = settings(card, "S2-bursty-after").values()
    assert 0.35 < mean(after) / 25e6 < 0.6


def test_prague_leaves_little_in_one_queue_that_marks(runs: Path) -> None:
    """The same, key findings 1 and 2: more than ten to one, heard by marks or by losses."""
    card = judged("prague", "S6-fq-codel", out=runs, repeat=3, suite="l4s")
    told = verdicts(card)
    assert told["S6-fq-codel-ratio"] == "fails"
    assert told["S6-fq-codel-rival"] == "worse than standard"
    assert all(mean(s) > 10 for s in settings(card, "S6-fq-codel-ratio").values())


L4S = ("4.1", "4.3-proportion", "4.3-scalable", "4.3-rtt", "4.3-bursts")


def test_bbr_does_what_its_draft_asks_of_its_state(runs: Path) -> None:
    """Version 1, which has no long-term bound, may leave Startup there by its plateau."""
    lines = ("A.2-state", "A.6-state", "A.21-state")
    card = judged("bbr3", *lines, out=runs, repeat=6, suite="bbr")
    assert verdicts(card) == dict.fromkeys(lines, "meets")
    card = judged("bbr", "A.2-state", "A.21-state", out=runs, repeat=2, suite="bbr")
    told = verdicts(card)
    assert told["A.2-state"] in ("fails", "undecided")
    assert told["A.21-state"] == "not evaluated"


def test_a_sender_of_one_rate_does_not_answer_to_the_share_of_marks(runs: Path) -> None:
    card = judged("unresponsive", "4.3-proportion", out=runs, repeat=10, suite="l4s")
    assert "fails" in verdicts(card).values()


def test_prague_does_what_rfc_9331_asks(runs: Path) -> None:
    card = judged("prague", *L4S, out=runs, repeat=6, suite="l4s")
    assert set(verdicts(card).values()) == {"meets"}
    # Two more say what 4.3-proportion says, of other shares of marks.
    assert len(card.lines) == len(L4S) + 2


def test_cubic_is_no_l4s_sender_and_no_worse_beside_one(runs: Path) -> None:
    card = judged("cubic", *L4S, "S1-fq", "S7", out=runs, repeat=10, suite="l4s")
    told = verdicts(card)
    few, many = "4.3-proportion-few", "4.3-proportion-many"
    for line in ("4.1-ect1", "4.3-proportion", few, many, "4.3-scalable", "4.3-bursts"):
        assert told.pop(line) == "fails", line
    assert set(told.values()) == {"no worse than standard", "meets"}


def test_a_tunnel_that_clears_codepoints_makes_prague_a_standard(runs: Path) -> None:
    """RFC 9743, 6.2: where its marks are copied out it takes nearly all."""
    card = judged("prague", "6.2-copied-goodput", "6.2-bleached-goodput", out=runs, repeat=10)
    assert verdicts(card) == {
        "6.2-copied-goodput": "worse than standard",
        "6.2-bleached-goodput": "no worse than standard",
    }


def test_a_tunnel_that_loses_marks_has_a_full_queue(runs: Path) -> None:
    """Nobody slows down until the queue of 0.6 s is full."""
    card = judged("cubic", "6.2-lost-delay", "6.2-copied-delay", out=runs, repeat=2)
    assert all(mean(s) > 0.3 for s in settings(card, "6.2-lost-delay").values())
    assert all(mean(s) < 0.03 for s in settings(card, "6.2-copied-delay").values())


def test_wifi_that_fades_to_a_tenth_takes_longer_than_arithmetic_allows(runs: Path) -> None:
    """80 Mbit need 1 + 2 + (80 - 20 - 4) / 20 = 5.8 s over 20, 2 and 20 Mbit/s; and 4.2 s where
    it fades by a tenth."""
    card = judged("cubic", "wifi-fade", out=runs, repeat=3, suite="c4")
    (text,) = settings(card, "wifi-fade-time").values()
    (specification,) = settings(card, "wifi-fade-spec-time").values()
    assert mean(text) > 5.8
    assert 4.2 < mean(specification) < mean(text)


def test_a_variant_that_asks_for_marks_is_judged_where_nothing_marks(runs: Path) -> None:
    card = judged("prague", "wifi-bad-time", out=runs, repeat=3, suite="c4")
    (setting,) = card.line("wifi-bad-time").settings
    assert setting.doubts == []
    assert verdicts(card) == {"wifi-bad-time": "no worse than standard"}


def test_slots_that_carry_more_than_the_link_take_nothing(runs: Path) -> None:
    """Slots of 1 ms carry 50 kB, and the link brings 12.5 kB."""
    card = judged("reno", "slots", out=runs, repeat=2, suite="transperf")
    assert set(verdicts(card).values()) == {"no worse than standard"}
    (goodput,) = settings(card, "slots-tput").values()
    assert mean(goodput) > 90e6


def test_a_standard_by_two_names_is_worse_than_itself_by_chance_alone(runs: Path) -> None:
    """The null: runs of one variant with other seeds, taken for two, on twenty cards."""
    lines = nulls.pool("rfc9743", "cubic", runs / "rfc9743", 20, ("5.1.3-several", "5.1.4", "7.11"))
    # The seeds do differ, or the null would show nothing.
    assert len({*lines[0].settings[0].subject.values}) > 1
    for strict in (False, True):
        said = list(nulls.cards(lines, 20, strict=strict))
        judged = sum(card.lines for card in said)
        assert judged == 20 * len(lines)
        assert sum(len(card.worse) for card in said) <= judged / 20, (strict, said)
