"""The short form of `make attack`: a few tries of each kind, in a process of its own as there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from attacks.kinds import KINDS
from attacks.programme import Order, Programme

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1


def attacked(name: str, folder: Path) -> None:
    """Makes the few tries of the kind: all are made, and none fails."""
    few = KINDS[name].short
    programme = Programme([name], Order(SEED, tries=-1 if few is None else few), folder=folder)
    programme.run()
    report = programme.reports[name]
    assert report.told() == []
    assert report.tries == few or (few is None and report.tries > 0)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.kernel])
def test_cclab_holds(name: str, tmp_path: Path) -> None:
    attacked(name, tmp_path)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if kind.kernel and kind.short]
)
def test_cclab_holds_with_guests(name: str, tmp_path: Path) -> None:
    """`test_break_out.py` makes the others, on each kernel."""
    attacked(name, tmp_path)
