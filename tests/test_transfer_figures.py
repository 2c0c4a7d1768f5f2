"""Figures of transfers: how long they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from drawing import late, six_transfers, told_in

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results


@pytest.fixture(scope="module")
def transfers(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return six_transfers(tmp_path_factory.mktemp("transfers"))


def test_completion_times_are_a_distribution_over_flows_and_runs(transfers: Results) -> None:
    figure = transfers.figure("completion")
    [axes] = figure.axes
    assert told_in(figure) == ["cubic, 6 flows", "bbr, 6 flows"]
    for line, point in zip(axes.lines, transfers.points, strict=True):
        times = sorted(f["fct_s"] for run in point.runs for f in run.metrics["flows"])
        x, y = (np.asarray(part, dtype=float) for part in line.get_data())
        scale = 1e3 if axes.get_xlabel() == "completion time (ms)" else 1
        assert x[1:] == pytest.approx(np.array(times) * scale)
        assert y[0] == 0
        assert y[1:] == pytest.approx(np.arange(1, 13) / 12)


def test_transfers_that_did_not_end_keep_their_line_below_all(tmp_path: Path) -> None:
    flow = '[[flow]]\nname = "web"\ncc = "cubic"\ncount = 6\nrtt = "20ms"\ntransfer = "700kB"\n'
    results = late(tmp_path, flow, "duration=3s")
    ended = [f["fct_s"] is not None for f in results.runs[0].metrics["flows"]]
    assert 0 < sum(ended) < 6
    [line] = results.figure("completion").axes[0].lines
    assert np.asarray(line.get_ydata(), dtype=float).max() == pytest.approx(sum(ended) / 6)


def test_transfers_beside_a_bulk_flow_have_their_line(tmp_path: Path) -> None:
    flows = (
        '[[flow]]\nname = "web"\ncc = "cubic"\ncount = 6\nrtt = "20ms"\ntransfer = "100kB"\n'
        '[[flow]]\nname = "bulk"\ncc = "cubic"\nrtt = "20ms"\n'
    )
    figure = late(tmp_path, flows, "duration=3s").figure("completion")
    assert told_in(figure) == ["web (cubic, 6 flows)"]
    [line] = figure.axes[0].lines
    assert len(np.asarray(line.get_xdata())) == 6 + 1


def test_transfers_are_compared_by_how_long_they_take(transfers: Results) -> None:
    [axes] = transfers.figure("tradeoff").axes
    assert "fct" in axes.get_ylabel()
    assert axes.yaxis_inverted()
    marks = [line for line in axes.lines if line.get_label() in ("cubic, 6 flows", "bbr, 6 flows")]
    assert len(marks) == 2
    for mark, point in zip(marks, transfers.points, strict=True):
        times = [f["fct_s"] for run in point.runs for f in run.metrics["flows"]]
        [y] = np.asarray(mark.get_ydata(), dtype=float)
        scale = 1e3 if "ms" in axes.get_ylabel() else 1
        assert y == pytest.approx(scale * np.mean(times))
