"""The figure of the bottleneck's queue: its scale, its limit, its drops and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab
from conftest import ROOT
from drawing import LATE, late, of_graph, told_in

if TYPE_CHECKING:
    from pathlib import Path


def test_the_queue_of_a_bottleneck_of_any_name_is_drawn(tmp_path: Path) -> None:
    figure = of_graph(tmp_path).figure("queue")
    delay = np.asarray(figure.axes[0].lines[0].get_ydata())
    packet = 1514 * 8 / 5e6 * 1e3
    assert 15 * packet < delay.max() <= 20 * packet
    assert figure.axes[0].get_ylabel() == "queue delay (ms)"
    assert [text.get_text() for text in figure.axes[0].texts] == ["limit: 20 packets"]
    assert told_in(figure) == ["queue delay", "drops"]


def test_marks_of_the_queue_are_shown_beside_drops(tmp_path: Path) -> None:
    marking = "network.link.1.queue={kind='codel', limit='30kB', ecn=true}"
    figure = of_graph(tmp_path, marking, "flow.flow1.ecn=true").figure("queue")
    assert "ECN marks" in told_in(figure)
    [told] = [text.get_text() for text in figure.axes[0].texts]
    assert told == "limit: 30 kB = 48 ms"


def test_the_key_of_the_queue_names_drops_only_where_there_are_some(tmp_path: Path) -> None:
    figure = of_graph(tmp_path, "network.link.1.queue.limit=10000p").figure("queue")
    assert told_in(figure) == ["queue delay"]


def test_a_queue_that_is_never_seen_full_is_said_to_be_empty(tmp_path: Path) -> None:
    figure = of_graph(tmp_path, "network.link.0.rate=1Mbit").figure("queue")
    told = [text.get_text() for text in figure.axes[0].texts]
    assert told == ["empty in every sample", "limit: 20 packets"]


def test_the_queue_is_drawn_in_time_and_as_high_as_it_was(tmp_path: Path) -> None:
    short = "network.link.1.queue={kind='codel', limit='1000p'}"
    results = of_graph(tmp_path, short)
    [axes] = results.figure("queue").axes
    samples = results.samples(0, "queue_samples").filter(link="narrow")
    delays = samples["backlog_bytes"].to_numpy() * 8 / 5e6 * 1e3
    assert axes.get_ylabel() == "queue delay (ms)"
    assert np.asarray(axes.lines[0].get_ydata()) == pytest.approx(delays)
    # The limit, 2.4 s at this rate, is told and does not set the scale.
    assert axes.get_ylim()[1] < 2 * delays.max() < 1000
    assert "limit: 1,000 packets" in [text.get_text() for text in axes.texts]


def test_the_queue_of_a_rate_that_changes_is_in_time_too(tmp_path: Path) -> None:
    head = LATE.replace(
        'delay = "5ms"', 'delay = "5ms"\nschedule = [{ at = "2s", rate = "2Mbit" }]'
    )
    file = tmp_path / "study.toml"
    file.write_text(head.replace("1bdp", "20p") + '[[flow]]\ncc = "cubic"\nrtt = "40ms"\n')
    results = cclab.run(file, out=tmp_path / "out", repeat=1, set=["trace.interval=5ms"])
    [axes] = results.figure("queue").axes
    seconds, delay = (np.asarray(part, dtype=float) for part in axes.lines[0].get_data())
    # Twenty packets of 1514 bytes: 24 ms at 10 Mbit/s, 121 ms at 2.
    assert np.nanmax(delay[seconds < 1.9]) == pytest.approx(24, abs=2)
    assert np.nanmax(delay[seconds > 2.5]) == pytest.approx(121, abs=8)


def test_every_queue_that_data_cross_has_a_panel_with_its_name(tmp_path: Path) -> None:
    both = "".join(
        f'[[flow]]\nname = "{way}"\ncc = "cubic"\nrtt = "20ms"\ndirection = "{way}"\n'
        for way in ("forward", "reverse")
    )
    slow = "network.bottleneck.reverse={rate='1Mbit', queue={limit='10p'}}"
    figure = late(tmp_path, both, slow, "duration=1s").figure("queue")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["bottleneck", "bottleneck.reverse"]
    assert [text.get_text() for text in figure.axes[1].texts][-1] == "limit: 10 packets"
    # Ten packets at its own rate, not at that of the way there.
    delay = np.asarray(figure.axes[1].lines[0].get_ydata())
    assert delay.max() == pytest.approx(10 * 1514 * 8 / 1e6 * 1e3, rel=0.1)


def test_each_bottleneck_of_a_parking_lot_has_a_panel(tmp_path: Path) -> None:
    results = cclab.run(
        ROOT / "examples/parking-lot.toml", out=tmp_path, repeat=1, set=["duration=2s", "warmup=0s"]
    )
    titles = [axes.get_title(loc="left") for axes in results.figure("queue").axes]
    assert titles == [
        f"cc\u00a0=\u00a0{cc}\n{link}"
        for cc in ("reno", "cubic", "vegas")
        for link in ("bottleneck", "bottleneck2", "bottleneck3")
    ]


def test_a_series_of_several_queues_is_said_to_be_of_all(tmp_path: Path) -> None:
    flow = '[[flow]]\ncc = "cubic"\nrtt = "20ms"\n'
    dual = "network.bottleneck.queue={kind='dualpi2', limit='100p'}"
    figure = late(tmp_path, flow, dual, "duration=1s").figure("queue")
    assert "L and C together" in [text.get_text() for text in figure.axes[0].texts]
