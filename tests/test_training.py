"""The training run by which a wheel is compiled."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from captured import two_flows
from cclab import _core, api
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cclab.plan import Plan


@pytest.fixture(scope="module", autouse=True)
def wheels() -> Iterator[None]:
    """Has the programs of wheels/ be modules, as they are to each other."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "wheels")
        yield


def _module(name: str) -> Any:
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return [api.planned(study) for study in _module("guided").TRAINING.glob("*.toml")]


def test_the_training_run_takes_the_ways_that_studies_take(plans: list[Plan]) -> None:
    scenarios = [run.scenario for plan in plans for run in plan.runs]
    assert {run.backend for plan in plans for run in plan.runs} == {"sim"}
    variants = {flow["cc"] for scenario in scenarios for flow in scenario["flows"]}
    assert variants >= {"cubic", "reno", "bbr", "bbr3"}
    kinds = {s["network"]["bottleneck"]["queue"]["kind"] for s in scenarios}
    assert kinds >= {"droptail", "codel", "fq_codel"}
    assert max(len(scenario["flows"]) for scenario in scenarios) >= 500
    assert any(scenario["trace"]["capture"] for scenario in scenarios)


def test_a_capture_is_trained_on_in_both_formats(tmp_path: Path) -> None:
    capture = two_flows(tmp_path)["bottleneck"]
    older = _module("older").write(capture)
    documents = [cclab.analyze(path).document for path in (capture, older)]
    assert [document.pop("format") for document in documents] == ["pcapng", "pcap"]
    assert documents[0] == documents[1]
    assert documents[0]["packets"] > 1000


def test_a_run_that_counts_nothing_is_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guided = _module("guided")
    monkeypatch.setattr(guided, "TRAINING", tmp_path)
    monkeypatch.setattr(guided, "llvm_profdata", lambda: tmp_path / "llvm-profdata")
    monkeypatch.setattr(guided, "_instrumented", lambda *_: _core.__file__)
    with pytest.raises(SystemExit, match="counted nothing"):
        guided.flags({}, tmp_path)


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("_RNvMNtNtNtCsjrHSEGnQ3l9_3std4sync4mpmc5wakerNtB2_5Waker6notify", True),
        ("_ZN3std4sync4mpmc5array16Channel$LT$T$GT$4recv17hcfc3a707c694a6bbE", True),
        ("_ZN9hashbrown11rustc_entry62_$LT$impl$u20$hashbrown..map..HashMap$LT$K$GT$17hE", True),
        ("_ZN14cclab_backends8progress8Progress5now_s17h3e3a1999306e1883E", True),
        ("_ZN10cclab_spec5study4plan17h09b763e158759a6bE", True),
        ("_ZN9cclab_sim8run_with17h488a504777e838d4E", False),
        ("_ZN13cclab_analyze7reading4read17h3ca57cfb8a712f7eE", False),
        ("_ZN9cclab_tcp11acknowledge6on_ack17h488a504777e838d4E", False),
        ("_ZN13cclab_analyze9direction7Sending4take17h488a504777e838d4E", False),
    ],
)
def test_what_is_counted_by_chance_is_left_out_and_no_more(name: str, left_out: bool) -> None:
    assert bool(re.search(_module("guided").BY_CHANCE, name)) == left_out


def test_who_lacks_the_program_that_merges_counts_is_told_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = _module("programs")
    monkeypatch.setattr(programs.shutil, "which", lambda _: None)
    with pytest.raises(SystemExit, match=r"llvm-\d+, or run .rustup component add llvm-tools"):
        programs.llvm_profdata()
