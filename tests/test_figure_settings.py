"""How figures look as somebody sets it: size, ends of axes, words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cclab import report
from cclab.cli.exits import WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError
from drawing import told_in

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("figure.widht=3", "no key figure.widht (did you mean figure.width?)"),
        ("figure.width=wide", "figure.width=wide: a length is meant: inches (7)"),
        ("figure.width=900", "from 1 to 40 inches are meant"),
        ("figure.queue.ylim=5,3", "the first number must be below the second"),
        ("figure.cwnd.xlim=5", "two numbers are meant, in the unit of the axis"),
        ("figure.ylim=0,3", "name the kind (figure.queue.ylim), or one figure (--figure)"),
        ("figure.goodput.xlim=0,1", "that axis of the figure goodput has names, no numbers"),
        ("figure.label.nobody=me", "no legend names 'nobody'; they name"),
        ("figure.cwnd", "figure.KEY=VALUE is meant, such as figure.width=7"),
    ],
)
def test_what_cannot_be_set_is_refused(
    results: Results, setting: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["report", str(results.store.path), "--set", setting]) == WRONG_INPUT
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("error:") == 1


def test_size_limits_and_words_of_figures_are_set(results: Results) -> None:
    wanted = {
        "width": "16cm", "height": 3, "xlim": (0.5, 1.5), "ylim": "0,", "title": "Two flows",
        "ylabel": "window", "label.short (reno)": "first",
    }  # fmt: skip
    figure = results.figure("cwnd", set=wanted)
    assert figure.get_size_inches() == pytest.approx((16 / 2.54, 3))
    assert all(axes.get_xlim() == (0.5, 1.5) for axes in figure.axes)
    assert figure.axes[0].get_ylabel() == "window"
    assert figure.axes[1].get_ylabel().startswith("srtt")
    assert "first" in told_in(figure)
    assert [legend.get_title().get_text() for legend in figure.legends] == ["Two flows"]
    # One that runs to the left still does.
    [axes, *_] = results.figure("tradeoff", set="figure.tradeoff.xlim=0,100").axes
    assert axes.get_xlim() == (100, 0)
    with pytest.raises(InputError, match="no room for its axes in"):
        results.figure("cwnd", set={"height": 1})


def test_a_report_has_its_figures_as_they_are_set(results: Results, tmp_path: Path) -> None:
    wanted = ["figure.width=9", "figure.queue.ylim=0,500", "figure.xlim=0,1"]
    page = report.write(results, tmp_path, set=wanted)
    for kind in ("cwnd", "queue"):
        text = (page.parent / f"{kind}.svg").read_text()
        assert 'width="648pt"' in text
    plain = tmp_path / "plain"
    report.write(results, plain)
    assert (plain / "tradeoff.svg").read_text() != (tmp_path / "tradeoff.svg").read_text()
