"""Expressions over the numbers of a run: those of cross traffic, and of samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.errors import InputError
from cclab.quantities.names import evaluated

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.measure.points import Point

STUDY = """
title    = "A flow and three sources"
duration = "5s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "1bdp" }

[[flow]]
name = "x"
rtt  = "20ms"

[[traffic]]
name = "web1"
kind = "poisson"
rtt  = "20ms"
load = 0.2
transfer = "20kB"

[[traffic]]
name = "web2"
kind = "poisson"
rtt  = "200ms"
load = 0.2
transfer = "20kB"

[[traffic]]
name = "steady"
kind = "constant-rate"
rtt  = "20ms"
rate = "100kbit"
"""


@pytest.fixture(scope="module")
def point(tmp_path_factory: pytest.TempPathFactory) -> Point:
    folder: Path = tmp_path_factory.mktemp("quantities")
    (folder / "study.toml").write_text(STUDY)
    return cclab.run(folder / "study.toml", out=folder / "out").points[0]


def test_sources_gives_a_number_of_each_source_that_the_pattern_means(point: Point) -> None:
    near, far = (
        evaluated(f"traffic_{name}_fct_mean_s", point, 0, "x") for name in ("web1", "web2")
    )
    assert far > near + 0.1
    assert evaluated("max(sources('web*', 'fct_mean_s'))", point, 0, "x") == far
    assert evaluated("mean(sources('web*', 'fct_mean_s'))", point, 0, "") == pytest.approx(
        (near + far) / 2
    )
    assert evaluated("len(sources('*', 'received_bps'))", point, 0, "") == 3
    # What a kind of traffic does not have is not a number.
    assert math.isnan(evaluated("sum(sources('*', 'fct_mean_s'))", point, 0, ""))


def test_a_number_that_no_source_has_is_refused_by_name(point: Point) -> None:
    with pytest.raises(
        InputError, match=r"no number 'fct_mean' of traffic; there are .*fct_mean_s"
    ):
        evaluated("sum(sources('web*', 'fct_mean'))", point, 0, "")


def test_samples_have_a_least_and_a_largest_value(point: Point) -> None:
    samples = point.runs[0].trace.samples_of("x")
    meant = (samples["time_s"] >= 1) & (samples["time_s"] <= 4)
    windows = samples.filter(meant)["cwnd_bytes"]
    least, most = (evaluated(f"sample_{of}('cwnd', 1, 4)", point, 0, "x") for of in ("min", "max"))
    assert (least, most) == (windows.min(), windows.max())
    assert least < evaluated("sample_mean('cwnd', 1, 4)", point, 0, "x") < most
    assert math.isnan(evaluated("sample_max('cwnd', 98, 99)", point, 0, "x"))
