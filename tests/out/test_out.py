"""The study holds, and out does what it is for: `pytest` runs this."""

from pathlib import Path
from statistics import fmean

import cclab

STUDY = Path(__file__).with_name("study.toml")
ALONE = 'sweep.flow.mine.cc=["./out.c"]'
"""Without the variants that it is compared with."""


def goodput(results: cclab.Results, flow: str) -> float:
    """The mean over the runs, in bit/s."""
    return fmean(results.flows.filter(name=flow)["goodput_bps"].to_list())


def test_what_the_study_expects_holds(tmp_path: Path) -> None:
    results = cclab.run(STUDY, out=tmp_path, repeat=2)
    assert not results.failures


def test_a_gentler_decrease_gets_more_beside_reno(tmp_path: Path) -> None:
    results = cclab.run(STUDY, out=tmp_path, repeat=2, set=ALONE)
    assert goodput(results, "mine") > 1.1 * goodput(results, "beside")


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    first, second = (
        cclab.run(STUDY, out=tmp_path / name, repeat=1, set=ALONE) for name in ("a", "b")
    )
    assert first.flows.equals(second.flows)
