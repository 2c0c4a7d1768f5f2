"""The suite of BBR's cases: that lines which the draft's algorithm keeps are broken by one that
departs from it there."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from cclab import evaluation

if TYPE_CHECKING:
    from pathlib import Path

BATCHES = """schedule = [{ when = { flow = "x", column = "phase", is = "probe_bw_cruise" }, \
slots = { every = "20ms" } }]
"""


BETA = 'rtt  = "40ms"\ncc_params = {{ beta = {} }}'
GAIN = 'rtt  = "40ms"\ncc_params = { cwnd_gain = 1.2 }'
RTT = 'rtt  = "40ms"'


@pytest.mark.parametrize(
    ("study", "line", "before", "after", "repeat", "verdict"),
    [
        # Six seeds that give the same value are enough to be sure.
        ("probe-loss", "A.21-beta-state", RTT, RTT, 6, "meets"),
        ("probe-loss", "A.21-beta-state", RTT, BETA.format(0.8), 6, "fails"),
        ("probe-loss", "A.21-beta-state", RTT, BETA.format(0.6), 6, "fails"),
        ("cruise-batches", "A.13-window-state", RTT, RTT, 3, "meets"),
        ("cruise-batches", "A.13-window-state", RTT, GAIN, 3, "fails"),
        # The window of the draft's algorithm is as large as it is there by the batches alone.
        ("cruise-batches", "A.13-window-state", BATCHES, "", 6, "fails"),
    ],
)
def test_a_line_is_kept_by_the_draft_and_broken_by_who_departs(
    tmp_path: Path, study: str, line: str, before: str, after: str, repeat: int, verdict: str
) -> None:
    suite = tmp_path / "bbr"
    shutil.copytree(evaluation.file.SHIPPED / "bbr", suite)
    file = suite / f"{study}.toml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    card = evaluation.evaluate("bbr3", suite=suite, only=line, repeat=repeat, out=tmp_path / "out")
    [judged] = card.lines
    assert judged.verdict == verdict, card
