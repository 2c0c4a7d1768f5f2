"""Phase effects: which studies are run again with shifted starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.companions import phase

if TYPE_CHECKING:
    from pathlib import Path

IN_STEP = """
duration = "1s"
[network.bottleneck]
rate = "10Mbit"
delay = "10ms"
queue = {{ limit = "20p" }}
{more}
[[flow]]
count = 2
start = "0s"
"""


@pytest.mark.parametrize(
    ("more", "shifted"),
    [
        ("", 3),
        ('reverse = { rate = "1Mbit" }', 3),
        ('reverse = { loss = "1%" }', 0),
        ('reverse = { queue = { kind = "codel", limit = "20p" } }', 0),
    ],
)
def test_chance_on_the_way_back_breaks_the_phase_too(
    tmp_path: Path, more: str, shifted: int
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(IN_STEP.format(more=more))
    assert len(phase.runs_of(cclab.Study.load(file).plan()).get(0, [])) == shifted
