"""`cclab analyze` against tcptrace and tshark on captures of many kinds, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agreement.comparison import FIELDS, compare, made
from agreement.kinds import FAMILIES, KINDS
from agreement.page import page
from conftest import ROOT, files_of

if TYPE_CHECKING:
    from pathlib import Path

    from agreement.comparison import Comparison


@pytest.fixture(scope="module")
def comparison(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """All fields on all kinds."""
    return compare(tmp_path_factory.mktemp("agreement"))


def test_every_difference_has_its_explanation(comparison: Comparison) -> None:
    assert comparison.unexplained() == []


def test_every_explanation_is_still_needed(comparison: Comparison) -> None:
    assert comparison.idle() == []


def test_the_page_is_what_comes_out(comparison: Comparison) -> None:
    written = (ROOT / "docs/analyze-agreement.md").read_text()
    assert written == page(comparison), "please run: make agreement"


def test_no_column_is_explained_away(comparison: Comparison) -> None:
    # One that agrees nowhere is not compared at all.
    for (column, judge), score in comparison.scores.items():
        assert 2 * score.equal > score.compared, f"{column} against {judge}"


def test_kinds_are_of_every_family_and_say_what_they_show() -> None:
    assert len(KINDS) == sum(len(family.KINDS) for family in FAMILIES) >= 50
    for name, kind in KINDS.items():
        assert kind.__doc__, name
    fields = {(field.column, field.judge) for field in FIELDS}
    assert len(fields) == len(FIELDS), "one column, one field of a judge"


def test_the_same_captures_come_out_each_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        made(tmp_path / name)
    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")
