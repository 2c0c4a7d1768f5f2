"""The kernel in virtual time: equal input, equal bytes, however it is run or observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import kept
from guests import results_of

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

pytestmark = pytest.mark.usefixtures("kernel")

STUDY = """
duration = "3s"
seed     = 7
repeat   = 2

[network.bottleneck]
rate   = "20Mbit"
delay  = "2ms"
queue  = { kind = "fq_codel", limit = "200p" }
loss   = "0.2%"
jitter = "1ms"

[[flow]]
name = "a"
cc   = "cubic"
rtt  = "20ms"
[[flow]]
name = "b"
cc   = "bbr"
rtt  = "50ms"
[[flow]]
name    = "c"
command = ["iperf3", "-c", "{dst}", "-n", "500K"]
"""

EVERYTHING = """
[trace]
events   = ["ack", "queue", "drop"]
capture  = ["a.sender", "a.receiver", "b.sender", "c.sender", "bottleneck"]
interval = "10ms"
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The study with all that can be recorded, two runs at a time."""
    return results_of(tmp_path_factory.mktemp("once"), STUDY + EVERYTHING, jobs=2)


def test_the_same_study_leaves_the_same_bytes(once: Results, tmp_path: Path) -> None:
    """Also in another folder, with other neighbours, at another time."""
    again = results_of(tmp_path / "a folder with another name", STUDY + EVERYTHING, jobs=1)
    first, second = (
        {name: text for name, text in kept(of.store.path).items() if name[:3] in ("run", "cap")}
        for of in (once, again)
    )
    assert len([name for name in first if name.endswith(".pcapng")]) == 2 * 5
    assert len([name for name in first if name.endswith(".zip")]) == 2
    tables = [name for name in once.runs[0].trace.names() if name.endswith(".parquet")]
    assert len(tables) == 8
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_another_seed_is_another_run(once: Results) -> None:
    captures = [(run.trace.capture("b.sender")).read_bytes() for run in once.runs]
    assert captures[0] != captures[1]
    bytes_ = [once.samples(run, "flows")["received_bytes"].to_list() for run in (0, 1)]
    assert bytes_[0] != bytes_[1]


def test_what_is_observed_does_not_change_the_run(once: Results, tmp_path: Path) -> None:
    bare = results_of(tmp_path, STUDY + '[trace]\ninterval = "10ms"\n')
    for seen, unseen in zip(once.runs, bare.runs, strict=True):
        assert seen.run.seed == unseen.run.seed
        assert not unseen.trace.captures.exists()
        for table in ("flows", "flow_samples", "links"):
            name = f"{table}.parquet"
            assert seen.trace.bytes(name) == unseen.trace.bytes(name), name


def test_how_often_it_is_sampled_does_not_change_the_run(once: Results, tmp_path: Path) -> None:
    rare = results_of(tmp_path, STUDY + '[trace]\ninterval = "0s"\ncapture = ["b.sender"]\n')
    for often, seldom in zip(once.runs, rare.runs, strict=True):
        both = [run.trace.capture("b.sender").read_bytes() for run in (often, seldom)]
        assert both[0] == both[1]
        exact = [run.trace.rows("flows") for run in (often, seldom)]
        columns = ["name", "received_bytes", "segments_sent", "retransmits", "started_ns"]
        assert exact[0].select(columns).equals(exact[1].select(columns))


def test_a_guest_has_the_same_memory_each_time(tmp_path: Path) -> None:
    """By it the kernel sizes tables, and draws for each of their places."""
    study = """
    duration = "100ms"
    [network.bottleneck]
    rate  = "20Mbit"
    delay = "2ms"
    queue = { limit = "50p" }
    [[flow]]
    name    = "told"
    command = ["grep", "MemTotal", "/proc/meminfo"]
    """
    told = {
        results_of(tmp_path / str(boot), study).runs[0].trace.text("told.stdout")
        for boot in range(4)
    }
    assert len(told) == 1
    assert "kB" in told.pop()
