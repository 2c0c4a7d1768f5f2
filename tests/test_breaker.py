"""The circuit breaker of RFC 8083 by hand, and whom it would end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cclab.quantities.breaker import fired


def reports(*each: tuple[float, float, float], srtt: float = 0.1) -> dict[str, np.ndarray]:
    """Samples half a second apart; of each second what was sent, sent again, and arrived."""
    halves = np.repeat(np.array(each, dtype=float) / 2, 2, axis=0)
    sums = np.vstack([np.zeros(3), halves.cumsum(axis=0)])
    return {
        "time": np.arange(len(sums)) / 2,
        "segments_sent": sums[:, 0],
        "retransmits": sums[:, 1],
        "received": sums[:, 2] * 1000,
        "srtt": np.full(len(sums), srtt),
    }


# At p = 6% and 100 ms the equation allows 1 / (0.1 sqrt(0.04)) = 50 segments a second.
BEYOND = (600.0, 36.0, 500.0)
BELOW = (400.0, 24.0, 300.0)
CLEAN = (5000.0, 0.0, 5000.0)
UNHEARD = (10.0, 0.0, 0.0)
SILENT = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("each", "times"),
    [
        ([BEYOND] * 4, 0),
        ([BEYOND] * 5, 1),
        ([BEYOND] * 10, 2),
        ([BEYOND] * 4 + [BELOW] + [BEYOND] * 4, 0),
        ([BELOW] * 20, 0),
        ([CLEAN] * 20, 0),
        ([CLEAN] + [UNHEARD] * 5, 1),
        ([SILENT] * 20, 0),
        ([UNHEARD] * 3 + [BEYOND] * 3, 0),
    ],
)
def test_five_reports_in_a_row_open_it(each: list[tuple[float, float, float]], times: int) -> None:
    assert fired(reports(*each), 1.0, 5) == times


def test_a_longer_round_trip_allows_less() -> None:
    assert fired(reports(*[BELOW] * 5, srtt=0.2), 1.0, 5) == 1


def test_less_than_a_report_tells_nothing() -> None:
    samples = reports(BEYOND)
    assert math.isnan(fired({k: v[:2] for k, v in samples.items()}, 1.0, 5))
