"""`cclab analyze` against tcptrace and tshark on captures of many kinds, field by field."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import cclab
from agreement import directions, tcptrace, tshark
from agreement.comparison import compare, made, scored
from agreement.kinds import FAMILIES, KINDS
from agreement.page import page
from agreement.runs import RUNS
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from agreement.comparison import Comparison


TIMEOUTS = {
    "losses/duplicate_sack": 1,
    "losses/timeout_with_backoff": 4,
    "losses/lost_again": 1,
    "losses/too_early": 1,
    "losses/go_back": 1,
    "losses/longer_again": 1,
    "losses/shorter_again": 1,
    "losses/one_byte_again": 1,
    "opening/syn_ack_after_data": 1,
    "closing/fin_again": 1,
    "closing/fin_with_data_again": 1,
    "windows/opened_while_retransmitting": 1,
}
"""How often a timer sends data or a FIN again, in the captures that are made so."""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Those that are written by hand, by kind."""
    return made(tmp_path_factory.mktemp("captures"))


@pytest.fixture(scope="module")
def comparison(
    kernel: None, captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Comparison:
    """All fields on all kinds."""
    return compare(captures, tmp_path_factory.mktemp("agreement"))


def test_every_difference_has_its_explanation(comparison: Comparison) -> None:
    assert comparison.unexplained() == []


def test_every_explanation_is_still_needed(comparison: Comparison) -> None:
    assert comparison.idle() == []


def test_a_wrong_number_in_any_column_is_noticed(
    comparison: Comparison, captures: dict[str, Path], tmp_path: Path
) -> None:
    some = ("transfers/ecn", "transfers/timestamps", "losses/sack", "windows/scaled")
    found = directions.testimonies({name: captures[name] for name in some}, tmp_path)
    differing = len(scored(found).differences)
    matched_by = {"connection", "source", "source_port", "destination", "destination_port"}
    for column in set(comparison.columns) - set(comparison.alone()) - matched_by:
        wrong = {
            name: replace(said, rows=[{**row, column: other(row[column])} for row in said.rows])
            for name, said in found.items()
        }
        assert len(scored(wrong).differences) > differing, column


def other(value: object) -> object:
    """Another value of the same kind, close to `value`."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * 1.01 + 2e-4
        case str():
            return f"{value}?"
    return 1


def test_the_page_is_what_comes_out(comparison: Comparison) -> None:
    written = (ROOT / "docs/analyze-agreement.md").read_text()
    assert written == page(comparison), "please run: make agreement"


def test_no_column_is_explained_away(comparison: Comparison) -> None:
    # One that agrees nowhere is not compared at all.
    for (column, judge), score in comparison.scores.items():
        assert 2 * score.equal > score.compared, f"{column} against {judge}"


def test_kinds_are_of_every_family_and_say_what_they_show() -> None:
    assert len(KINDS) == sum(len(family.KINDS) for family in FAMILIES) >= 50
    for name, kind in KINDS.items():
        assert kind.__doc__, name
    for fields in (tcptrace.FIELDS, tshark.FIELDS):
        assert len({field.column for field in fields}) == len(fields)


@pytest.mark.parametrize("run", RUNS)
def test_the_runs_have_what_is_to_be_compared(comparison: Comparison, run: str) -> None:
    there, back = comparison.rows[f"{run}/sender"]
    assert there["unique_bytes"] > 1_000_000
    assert there["retransmitted_packets"] > 5
    assert there["rtt_ambiguous"] > 0
    assert there["rtt_samples"] > 300
    assert there["timer_retransmits"] > 0, "the outage is longer than any RTT"
    assert there["window_scaling"] is not run.endswith("unscaled")
    assert (back["window_max_bytes"] > 65_535) is there["window_scaling"]
    there, _ = comparison.rows[f"{run}/receiver"]
    assert there["out_of_order_packets"] > 5
    assert there["unique_bytes"] > 1_000_000
    assert len(comparison.rows[f"{run}/bottleneck"]) == 4


def test_delay_added_before_the_capture_point_is_not_in_the_rtt(comparison: Comparison) -> None:
    # With `delay_at = "sender"` packets are captured after they were delayed.
    there, _ = comparison.rows["kernel/sender"]
    assert there["rtt_min_s"] < 0.015
    there, _ = comparison.rows["simulator/sender"]
    assert there["rtt_min_s"] > 0.02


def test_timeouts_are_those_that_the_captures_were_made_with(captures: dict[str, Path]) -> None:
    counted = {
        name: sum(cclab.analyze(capture).connections["rto_events"])
        for name, capture in captures.items()
    }
    assert {name: count for name, count in counted.items() if count} == TIMEOUTS


def test_the_same_captures_come_out_each_time(captures: dict[str, Path], tmp_path: Path) -> None:
    for name, capture in made(tmp_path).items():
        assert capture.read_bytes() == captures[name].read_bytes(), name
