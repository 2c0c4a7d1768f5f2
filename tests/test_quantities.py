"""Expressions over the numbers of a run: those of cross traffic, and of samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
import pytest

import cclab
from cclab.errors import InputError
from cclab.quantities.names import evaluated
from cclab.store.trace import Trace

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


TRANSFERS = """
[[flow]]
name     = "short"
rtt      = "20ms"
transfer = "20kB"

[[flow]]
name     = "long"
rtt      = "20ms"
transfer = "20MB"

[[traffic]]
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


TWINS = """
duration = "20s"
warmup   = "2s"

[network.bottleneck]
rate  = "5Mbit"
queue = { limit = "60ms" }

[[traffic]]
name  = "a"
kind  = "poisson"
rtt   = "20ms"
load  = 0.2
sizes = { kind = "lognormal", mean = "30kB", sigma = 1.5 }

[[traffic]]
name    = "b"
kind    = "poisson"
rtt     = "200ms"
cc      = "reno"
load    = 0.2
sizes   = { kind = "lognormal", mean = "30kB", sigma = 1.5 }
twin_of = "a"
"""


def test_completion_times_are_told_by_quantile_of_size(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TWINS)
    point = cclab.run(tmp_path / "study.toml", out=tmp_path / "out").points[0]
    transfers = point.runs[0].trace.table("transfers")
    drawn = {
        name: transfers.filter(source=name).sort("start_s")[["start_s", "size_bytes"]]
        for name in ("a", "b")
    }
    assert drawn["a"].height > 30
    assert drawn["a"].equals(drawn["b"])

    def told(expression: str) -> float:
        return float(evaluated(expression, point, 0, ""))

    begun = transfers.filter((transfers["source"] == "b") & (transfers["start_s"] >= 2))
    until = (begun["end_s"].fill_null(20.0) - begun["start_s"]).alias("took_s")
    by_size = begun.with_columns(until).sort("size_bytes", "start_s")["took_s"]
    largest = by_size[round(0.75 * begun.height) :]
    assert told("fct_by_size_s('b', 0.75, 1)") == pytest.approx(largest.mean())
    assert told("fct_by_size_s('b', 0, 0.25)") < told("fct_by_size_s('b', 0.75, 1)")
    assert told("fct_by_size_s('a', 0, 0.25)") < told("fct_by_size_s('b', 0, 0.25)")
    assert math.isnan(told("fct_by_size_s('nobody', 0, 1)"))
    # Those that did not end count, too.
    assert begun["end_s"].null_count() > 0
    assert told("fct_by_size_s('b', 0, 1)") == pytest.approx(until.mean())
    assert told("fct_by_size_s('b', 0, 1)") != pytest.approx(told("traffic_b_fct_mean_s"))
    for share in (0.5, 0.95, 1.0):
        rank = math.ceil(share * begun.height) - 1
        by_end = begun.with_columns(until).sort(pl.col("end_s").is_null(), "took_s")["took_s"]
        assert told(f"fct_quantile_s('b', {share})") == pytest.approx(by_end[rank])
    assert math.isnan(told("fct_quantile_s('nobody', 0.5)"))
    # As some did not end, how long the slowest took is unknown, and the median is not.
    assert unended_of("fct_quantile_s('b', 1)", point) == ["fct_quantile_s"]
    assert unended_of("fct_quantile_s('b', 0.5)", point) == []


def unended_of(expression: str, point: Point, flow: str = "") -> list[str]:
    """The times that an expression asks for whose end the run did not see."""
    unended: list[str] = []
    evaluated(expression, point, 0, flow, unended)
    return unended


def test_times_whose_end_a_run_did_not_see_are_told(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("[[traffic]]", TRANSFERS, 1))
    point = cclab.run(tmp_path / "study.toml", out=tmp_path / "out").points[0]
    assert unended_of("transfer_s", point, "short") == []
    assert unended_of("transfer_s", point, "long") == ["transfer_s"]
    # Wherever in an expression it stands.
    assert unended_of("max(each('*', 'transfer_s')) / 2", point) == ["transfer_s"] * 2
    assert unended_of("until_rate_s(1, 1e5)", point, "long") == []
    assert unended_of("until_rate_s(1, 1e9)", point, "long") == ["until_rate_s"]
    assert unended_of("of('long', 'until_rate_s(1, 1e9)')", point) == ["until_rate_s"]
    assert unended_of("or_at_least(goodput_bps, 7)", point, "long") == []
    assert unended_of("or_at_least(harm_goodput, 7)", point, "long") == ["or_at_least"]
    assert float(evaluated("or_at_least(harm_goodput, 7)", point, 0, "long")) == 7


def test_the_transfers_of_a_run_are_read_once_for_all_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(TWINS)
    point = cclab.run(tmp_path / "study.toml", out=tmp_path / "out").points[0]
    read: list[str] = []
    table = Trace.table

    def counted(trace: Trace, name: str) -> pl.DataFrame:
        read.append(name)
        return table(trace, name)

    monkeypatch.setattr(Trace, "table", counted)
    for value in ("fct_by_size_s('a', 0, 0.5)", "fct_by_size_s('b', 0.5, 1)"):
        assert float(evaluated(value, point, 0, "")) > 0
    assert float(evaluated("fct_quantile_s('*', 0.95)", point, 0, "")) > 0
    assert read == ["transfers"]


def test_of_no_transfers_there_is_no_completion_time_by_size(point: Point) -> None:
    assert math.isnan(float(evaluated("fct_by_size_s('steady', 0, 1)", point, 0, "")))
