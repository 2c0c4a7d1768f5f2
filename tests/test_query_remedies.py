"""Questions that are well formed and ask for what cannot be: what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cclab.errors import InputError
from cclab.queries import query

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli


@pytest.mark.parametrize("wrong", ["share > 50", "50 < share", "limited_cwnd < 0.5 or share == 50"])
def test_percent_of_a_share_are_written_so(results: Results, wrong: str) -> None:
    with pytest.raises(InputError) as raised:
        query(results.store.path, wrong)
    told, shown, mark = str(raised.value).split("\n")
    assert "`share` is a part of 1; for 50 percent of it write 50% or 0.5" in told
    assert shown[mark.index("^") :].startswith("50")


def test_a_share_beside_percent_and_a_part_of_1_are_the_same(results: Results) -> None:
    store = results.store.path
    half = query(store, "share > 50%", columns="run,name")
    assert 0 < half.height < query(store).height
    for spelt in ("share > 0.5", "share * 100 > 50", "0.5 < share <= 1"):
        assert query(store, spelt, columns="run,name").equals(half)
    assert not query(store, "share > 1.05").height


def test_what_may_exceed_its_whole_is_beside_any_number(results: Results) -> None:
    # A trace or a schedule lets a link carry more than its rate, a probe more than the link does.
    assert not query(results.store.path, "bottleneck.utilization > 50").height


def test_where_nothing_holds_the_values_that_there_are_stand_beside(
    cli: Cli, results: Results
) -> None:
    store = results.store.path
    told = cli("query", store, "cc == 'cubik' and rtt > 50s and jain > 2").stderr.splitlines()
    rtts = [float(rtt) for rtt in query(store)["rtt"]]
    assert told[0] == f"no flow in {store} for which it holds"
    assert told[1] == f"  cc: {', '.join(sorted(set(query(store)['cc'])))}"
    assert told[2] == f"  rtt: {min(rtts):g} to {max(rtts):g}, seconds"
    assert told[3].startswith("  jain: 0.")
    # As tables spell it, too.
    short = cli("query", store, "queue.limit > 1GB").stderr.splitlines()
    assert short[1].startswith("  queue.limit: ")
    for quiet in (["--limit", "0"], ["--json"], ["--csv"]):
        assert "seconds" not in cli("query", store, "rtt > 50s", *quiet).stderr
