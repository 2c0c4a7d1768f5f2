"""What limits a flow is the same on the simulator and on the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cclab
from guests import results_of

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

pytestmark = pytest.mark.usefixtures("kernel")

HEAD = """
duration = "15s"

[network.bottleneck]
rate  = "20Mbit"
queue = { limit = "1bdp" }
"""

STUDY = f"""{HEAD}
[[flow]]
name = "one"
rtt  = "40ms"

[sweep]
"flow.one.cc" = ["bbr", "cubic"]
"""

PAUSES = f"""{HEAD}
[[flow]]
name = "one"
rtt  = "40ms"
write_size = "30kB"
writes_per_second = 20

[sweep]
"flow.one.cc" = ["bbr", "cubic"]
"""

BOUND = 0.1
"""By which a share of the kernel's may differ from the simulator's (docs/metrics.md)."""


def limits(results: Results) -> dict[str, dict[str, float]]:
    """The shares of the only flow, by variant."""
    flows = (run.metrics["flows"][0] for run in results.runs)
    return {flow["cc"]: flow["limited"] for flow in flows}


def on_both(folder: Path, study: str) -> tuple[dict[str, dict[str, float]], ...]:
    """Those of the simulator and of the kernel."""
    file = folder / "study.toml"
    file.write_text(study)
    simulated = cclab.run(file, out=folder / "simulated")
    return limits(simulated), limits(results_of(folder / "kernel", study))


@pytest.mark.parametrize("study", [STUDY, PAUSES], ids=["bulk", "pauses"])
def test_both_kinds_of_backend_name_the_same_limits(tmp_path: Path, study: str) -> None:
    simulated, kernel = on_both(tmp_path, study)
    assert simulated.keys() == kernel.keys() == {"bbr", "cubic"}
    for cc, shares in simulated.items():
        assert kernel[cc] == pytest.approx(shares, abs=BOUND), cc
    for told in (simulated, kernel):
        dominant = {cc: max(of, key=of.__getitem__) for cc, of in told.items()}
        if study == STUDY:
            assert dominant == {"bbr": "pacing", "cubic": "cwnd"}
            assert told["bbr"]["pacing"] > 0.9
            assert told["cubic"]["cwnd"] > 0.9
            assert told["cubic"]["pacing"] == 0
        else:
            assert dominant == {"bbr": "application", "cubic": "application"}
            assert 0.02 < told["bbr"]["pacing"] < 0.3
