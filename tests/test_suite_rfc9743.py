"""The suite of RFC 9743: that lines a standard keeps can be broken, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

VARIANTS = ROOT / "tests/variants"


@pytest.mark.parametrize(
    ("variant", "line", "verdict"),
    [
        ("cubic", "5.1.1-gaps", "meets"),
        ("unresponsive", "5.1.1-gaps", "fails"),
        ("counts_acks.py:CountsAcks", "7.6-acks", "worse than standard"),
        ("trusts_marks.py:TrustsMarks", "7.6-marks", "worse than standard"),
        ("unresponsive", "6.4-wifi-delay", "worse than standard"),
    ],
)
def test_a_line_is_kept_or_broken(tmp_path: Path, variant: str, line: str, verdict: str) -> None:
    subject = f"{VARIANTS}/{variant}" if ".py:" in variant else variant
    # Of three seeds that give the same value nothing would be sure.
    repeat = 3 if verdict != "fails" else 6
    card = cclab.evaluate(
        subject, against="reno", quick=True, only=[line], repeat=repeat, out=tmp_path
    )
    [judged] = [each for each in card.lines if each.criterion.id == line]
    assert judged.verdict == verdict
