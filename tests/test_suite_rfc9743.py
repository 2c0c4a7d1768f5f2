"""The suite of RFC 9743: that lines a standard keeps can be broken, and by whom."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab import evaluation
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

VARIANTS = ROOT / "tests/variants"


@pytest.mark.parametrize(
    ("variant", "line", "repeat", "verdict"),
    [
        ("cubic", "5.1.1-gaps", 3, "meets"),
        # Of three seeds that give the same value nothing would be sure.
        ("unresponsive", "5.1.1-gaps", 6, "fails"),
        ("counts_acks.py:CountsAcks", "7.6-acks", 3, "worse than standard"),
        ("trusts_marks.py:TrustsMarks", "7.6-marks", 3, "worse than standard"),
        ("unresponsive", "6.4-wifi-delay", 3, "worse than standard"),
        ("bbr", "7.5-fast", 6, "no worse than standard"),
        # 100 MB take 20 s at its 40 Mbit/s, whatever the path.
        ("unresponsive", "7.5-fast", 6, "worse than standard"),
        ("cubic", "7.7-again", 3, "no worse than standard"),
        # It begins anew at the first segment that is late, and sends again what has arrived.
        ("tahoe", "7.7-again", 3, "worse than standard"),
    ],
)
def test_a_line_is_kept_or_broken(
    tmp_path: Path, variant: str, line: str, repeat: int, verdict: str
) -> None:
    subject = f"{VARIANTS}/{variant}" if ".py:" in variant else variant
    card = cclab.evaluate(
        subject, against="reno", quick=True, only=[line], repeat=repeat, out=tmp_path
    )
    [judged] = [each for each in card.lines if each.criterion.id == line]
    assert judged.verdict == verdict


BREAKERS = ("alone-slow", "wireless", "jitter", "wifi", "slots", "cellular")
"""Scenarios in which a circuit breaker is asked for, but for the one that
`test_judgement.py` plays in full."""


def test_a_circuit_breaker_opens_in_every_scenario_that_asks_for_one(tmp_path: Path) -> None:
    """Five reports in a row open it: runs of 15 s are enough for that."""
    suite = tmp_path / "rfc9743"
    shutil.copytree(evaluation.file.SHIPPED / "rfc9743", suite)
    for file in suite.glob("*.toml"):
        text = file.read_text().replace('standards = ["cubic", "reno"]', 'standards = ["reno"]')
        text = re.sub(r'(duration *= *"?)(60|120)s', r"\g<1>15s", text)
        file.write_text(re.sub(r'(warmup *= *"?)\d+s', r"\g<1>2s", text))
    lines = [
        criterion.id
        for criterion in evaluation.load(suite).says.criterion
        if criterion.scenario in BREAKERS and criterion.id.startswith("7.2-")
    ]
    assert len(lines) == len(BREAKERS)
    for variant, verdict in (("unresponsive", "fails"), ("reno", "meets")):
        # The second finds its runs there, as they are those of the standard beside the first.
        card = cclab.evaluate(
            variant, suite=suite, quick=True, only=lines, repeat=6, out=tmp_path / "out"
        )
        assert {line.criterion.id: line.verdict for line in card.lines} == dict.fromkeys(
            lines, verdict
        )
