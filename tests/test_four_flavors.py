"""Four flavours on ns-2's textbook dumbbell and a larger one: ranked as ns-2 ranks them."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="module")
def ns2() -> ModuleType:
    """The study's script, which made the recording."""
    file = ROOT / "studies/four-flavors-2009/ns2.py"
    spec = importlib.util.spec_from_file_location("four_flavors_ns2", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compared(ns2: ModuleType, window: int, noise: float) -> dict[Any, str]:
    """How each group's ranking compares with ns-2's."""
    recorded = ns2.read()
    return {
        group: ns2.agreement(recorded[group], ns2.shares([run.throughput_bps for run in runs]))
        for group, runs in ns2.simulated(ns2.RUNS, window, noise, jobs=2)
    }


def test_every_pair_is_ranked_as_by_ns2(ns2: ModuleType) -> None:
    found = compared(ns2, 1000, 0.0)
    assert len(found) == 14
    pairs = {group: how for group, how in found.items() if group.flavours.count("+") == 1}
    assert set(pairs.values()) == {"same"}, pairs
    # All four at once are decided by phases: one side may tell two apart that the other does not.
    assert "contradicted" not in found.values(), found


def test_without_phase_effects_all_four_are_too(ns2: ModuleType) -> None:
    found = compared(ns2, 1000, 0.01)
    assert len(found) == 14
    assert set(found.values()) == {"same"}, found


def test_rankings_that_differ_are_not_called_the_same(ns2: ModuleType) -> None:
    def rows(*shares: float) -> list[Any]:
        return [
            ns2.Share(name, 20, 1e6, share, share - 0.01, share + 0.01)
            for name, share in zip("ab", shares, strict=True)
        ]

    assert ns2.agreement(rows(0.6, 0.4), rows(0.55, 0.45)) == "same"
    assert ns2.agreement(rows(0.6, 0.4), rows(0.5, 0.5)) == "open"
    assert ns2.agreement(rows(0.6, 0.4), rows(0.4, 0.6)) == "contradicted"
