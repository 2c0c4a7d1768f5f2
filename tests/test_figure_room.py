"""Figures that a report draws by itself: whatever is swept, they have room, and never end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cclab
from cclab.report import figures
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from cclab import Results
    from cclab.drawing.style import Drawing

_VARIANTS = [
    "reno", "cubic", "bbr", "vegas", "highspeed", "westwood", "illinois", "scalable", "htcp",
    "hybla", "veno", "yeah",
]  # fmt: skip


def _swept(folder: Path, sweep: str) -> Results:
    head, _ = STUDY.split("[sweep]")
    file = folder / "sweep.toml"
    file.write_text(head + "[sweep]\n" + sweep)
    short = ["duration=500ms", "warmup=100ms"]
    return cclab.run(file, out=folder / "out", repeat=1, set=short)


def test_a_flat_matrix_has_room_for_all_that_it_says(tmp_path: Path) -> None:
    sweep = f'"flow.short.cc" = {_VARIANTS[:2]}\n"flow.long.cc" = {_VARIANTS}\n'
    figure = _swept(tmp_path, sweep).figure("matrix")
    for axes in figure.axes:
        for label in (axes.yaxis.label, axes.xaxis.label):
            seen, whole = label.get_window_extent(), figure.bbox
            assert whole.y0 <= seen.y0, label.get_text()
            assert seen.y1 <= whole.y1, label.get_text()
    cells = figure.axes[0].get_position()
    assert cells.height * figure.get_figheight() > 0.5


def test_long_names_of_panels_leave_room_for_the_panels(tmp_path: Path) -> None:
    beta = [f"{{ beta = 0.{50 + n}, c = 0.{30 + n}, fast_convergence = false }}" for n in range(11)]
    cubic = ", ".join(['"cubic"'] * 11)
    sweep = (
        f'"flow.short.cc" = ["reno", "cubic"]\n"flow.long.cc" = ["reno", {cubic}]\n'
        f'"flow.long.cc_params" = [{{}}, {", ".join(beta)}]\n'
        'zip = [["flow.long.cc", "flow.long.cc_params"]]\n'
    )
    figure = _swept(tmp_path, sweep).figure("matrix")
    assert all(axes.get_position().height > 0 for axes in figure.axes)


def test_a_figure_without_room_ends_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = _swept(tmp_path, '"flow.short.cc" = ["reno", "cubic"]\n')

    def crowded(figure: Drawing) -> Drawing:
        figure.suptitle("\n" * 2000)
        figure.draw_without_rendering()
        return figure

    monkeypatch.setattr(figures, "settled", crowded)
    page = cclab.report.write(results, tmp_path / "report").read_text()
    assert "has no room for its axes" in page
    assert "<h2>Results</h2>" in page
