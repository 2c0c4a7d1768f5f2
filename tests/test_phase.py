"""Phase effects: which studies are run again with shifted starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.plan.companions import phase

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


def test_the_shares_compared_are_those_that_results_tell() -> None:
    """After a warm-up, at the bottleneck of the flow: of all flows together a change is smaller."""

    def run(long: float, cross: float) -> dict[str, object]:
        rates = {"long": long, "x1": cross, "x2": cross, "x3": cross}
        flows = [
            {
                "name": name,
                "bottleneck": "hop1" if name == "long" else f"hop{name[1]}",
                "transport": "tcp",
                # Of the whole run both are what they were: the warm-up hides the change.
                "goodput_bps": 50e6,
                "bottleneck_goodput_bps": 100e6,
                "window_goodput_bps": rate,
                "window_bottleneck_goodput_bps": long + cross,
            }
            for name, rate in rates.items()
        ]
        return {"flows": flows}

    raised = phase.warning(run(40.5e6, 55.2e6), [run(35e6, 60e6), run(22e6, 73e6)])
    assert raised is not None
    assert "from 42% to 23%" in raised["message"] or "from 58% to 77%" in raised["message"]
    assert phase.warning(run(40.5e6, 55.2e6), [run(35e6, 60e6)]) is None
