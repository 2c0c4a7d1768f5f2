"""Ready studies, by the names that Flent has for them, and Flent's data files of runs."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cclab
from cclab.plan import ready
from cclab.report import flent

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli

NAMES = ("cubic_bbr", "rrul", "rrul_be", "rtt_fair", "tcp_2up_square", "tcp_ndown", "tcp_nup")
SHORT = ("duration=8s", "network.bottleneck.rate=4Mbit", "network.bottleneck.reverse.rate=8Mbit")
"""Three seconds of load over slow links."""


def drawn(data: Path, plot: str, image: Path) -> str:
    """Has flent draw `plot` of a data file; what it says."""
    done = subprocess.run(
        ["flent", "--input", str(data), "--plot", plot, "--output", str(image)],
        env={**os.environ, "MPLBACKEND": "Agg", "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Each ready study, cut short."""
    folder = tmp_path_factory.mktemp("ready")
    return {
        name: cclab.run(cclab.Study.load(name), out=folder / name, set=list(SHORT))
        for name in NAMES
    }


def test_the_names_are_flents() -> None:
    assert tuple(ready.names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", ["sim", "linux", "netns"])
def test_each_runs_on_every_backend(name: str, backend: str) -> None:
    assert not cclab.Study.load(name).plan(backend=backend).unsupported


def test_rates_are_keys(cli: Cli, tmp_path: Path) -> None:
    told = cli("plan", "rrul", "--json", "--set", "network.bottleneck.reverse.rate=3Mbit")
    assert told.returncode == 0, told.stderr
    link = json.loads(told.stdout)
    study = cclab.Study.load("rrul").plan(set=["network.bottleneck.reverse.rate=3Mbit"])
    bottleneck = study.points[0].scenario["network"]["bottleneck"]
    assert (bottleneck["rate"], bottleneck["reverse"]["rate"]) == (20_000_000, 3_000_000)
    # A limit in time is one at either rate.
    assert bottleneck["reverse"]["queue"]["limit"]["bytes"] == 3_000_000 // 80
    assert link


def test_they_are_listed_and_a_wrong_name_gets_the_nearest(cli: Cli, tmp_path: Path) -> None:
    listed = json.loads(cli("list", "studies", "--json", cwd=tmp_path).stdout)["studies"]
    assert [row["file"] for row in listed] == list(NAMES)
    told = cli("run", "rrull", cwd=tmp_path)
    assert told.returncode == 2
    assert "did you mean the ready study rrul?" in told.stderr
    told = cli("run", "nosuch", cwd=tmp_path)
    assert told.returncode == 2
    assert "no such file and no ready study; `cclab list studies` lists those" in told.stderr


def test_a_file_goes_before_a_ready_study(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rrul").write_text("duration = 3\n")
    assert "rrul:1:12" in cli("plan", "rrul", cwd=tmp_path).stderr


def test_the_load_goes_both_ways_and_probes_see_it(short: dict[str, Results]) -> None:
    metrics = short["rrul"].runs[0].metrics
    ways = {"upload": 4e6, "download": 8e6}
    for way, rate in ways.items():
        rates = [f["throughput_bps"] for f in metrics["flows"] if f["name"].startswith(way)]
        assert len(rates) == 4
        assert 0.7 * rate < sum(rates) < rate
    assert [probe["kind"] for probe in metrics["probes"]] == ["udp"] * 3 + ["ping"]
    for probe in metrics["probes"]:
        assert probe["rtt_min_s"] == pytest.approx(0.0203, abs=2e-4)
        assert probe["rtt_max_s"] > 0.1
    several = cclab.Study.load("tcp_nup").plan(set=["flow.upload.count=7"])
    assert len(several.points[0].scenario["flows"]) == 7


@pytest.mark.usefixtures("kernel")
def test_rrul_on_the_kernel_is_as_on_the_simulator(
    short: dict[str, Results], tmp_path: Path
) -> None:
    kernel = cclab.run(
        cclab.Study.load("rrul"), out=tmp_path / "store", backend="linux", set=list(SHORT)
    )
    real, model = (r.runs[0].metrics["probes"] for r in (kernel, short["rrul"]))
    for one, other in zip(real, model, strict=True):
        assert one["rtt_min_s"] == pytest.approx(other["rtt_min_s"], abs=1e-6)
        assert one["rtt_p50_s"] == pytest.approx(other["rtt_p50_s"], rel=0.3)


def document(path: Path) -> dict[str, Any]:
    """What a data file says."""
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


PLOTS = {
    "cubic_bbr": ("all_scaled", "ping_cdf"),
    "rrul": ("all_scaled", "ping_cdf", "totals", "box_totals"),
    "rrul_be": ("all_scaled", "totals"),
    "rtt_fair": ("all_scaled", "ping_cdf"),
    "tcp_2up_square": ("totals",),
    "tcp_ndown": ("totals", "download"),
    "tcp_nup": ("totals", "upload", "ping_cdf"),
}


@pytest.mark.parametrize("name", NAMES)
def test_flent_draws_what_it_calls_so(short: dict[str, Results], name: str, tmp_path: Path) -> None:
    (data,) = flent.write(short[name], tmp_path)
    for plot in PLOTS[name]:
        said = drawn(data, plot, tmp_path / f"{plot}.png")
        assert "ERROR" not in said, said
        assert "No data" not in said, said
        assert (tmp_path / f"{plot}.png").stat().st_size > 10_000


def test_series_bear_flents_names_and_the_runs_numbers(
    short: dict[str, Results], tmp_path: Path
) -> None:
    run = short["rrul"].runs[0]
    (data,) = flent.write(short["rrul"], tmp_path)
    found = document(data)
    assert (found["version"], found["metadata"]["NAME"]) == (4, "rrul")
    names = {"TCP upload BE", "TCP download EF", "TCP totals", "Ping (ms) ICMP", "Ping (ms) UDP EF"}
    assert names <= set(found["results"])
    assert all(len(values) == len(found["x_values"]) for values in found["results"].values())
    flow = next(f for f in run.metrics["flows"] if f["name"] == "upload-BE")
    moved = sum(v for v in found["results"]["TCP upload BE"] if v is not None) * 0.2e6 / 8
    assert moved == pytest.approx(flow["bytes_received"], rel=0.02)
    pings = [row["val"] for row in found["raw_values"]["Ping (ms) ICMP"]]
    ping = next(p for p in run.metrics["probes"] if p["name"] == "icmp")
    assert max(pings) == pytest.approx(1e3 * ping["rtt_max_s"])
    assert len(pings) == ping["sent"] - ping["lost"]


def test_any_study_is_told_as_the_test_that_it_is_like(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'duration = "6s"\n[network.bottleneck]\nrate = "8Mbit"\ndelay = "10ms"\n'
        'queue = { limit = "50p" }\n[[flow]]\nname = "a"\n[[flow]]\nname = "b"\n'
        'direction = "reverse"\n[[probe]]\nname = "x"\n[[probe]]\nname = "y"\nkind = "udp"\n'
    )
    assert cli("run", "mine.toml", "--out", "out", "--seed", "4", cwd=tmp_path).returncode == 0
    told = cli("report", "out", "--format", "flent", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    (data,) = (tmp_path / "out" / "report" / "flent").glob("*.flent.gz")
    assert str(data.relative_to(tmp_path)) in told.stderr
    found = document(data)
    assert found["metadata"]["NAME"] == "rrul_be_nflows"
    assert {"TCP upload BE::1", "TCP download BE::1", "Ping (ms) UDP BE"} <= set(found["results"])
    drawn(data, "all_scaled", tmp_path / "all.png")
    before = data.read_bytes()
    assert cli("report", "out", "--format", "flent", cwd=tmp_path).returncode == 0
    assert data.read_bytes() == before
    told = cli("report", "out", "--format", "flent", "--figure", "cwnd", cwd=tmp_path)
    assert told.returncode == 2
    assert "data files of runs, not a figure" in told.stderr


def test_files_of_a_sweep_bear_its_points_and_the_length_that_was_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    flow = '[[flow]]\nname = "a"\nstart = "1s"\nduration = "60s"\n'
    sweep = '[sweep]\n"network.bottleneck.queue.limit" = ["20p", "50p"]\n'
    file.write_text(MINE + flow + sweep)
    found = flent.write(cclab.run(file, out=tmp_path / "out", repeat=1), tmp_path / "flent")
    assert [path.name.split(".")[1] for path in found] == ["20p", "50p"]
    told = [document(path)["metadata"] for path in found]
    assert [one["TITLE"] for one in told] == ["mine: 20p", "mine: 50p"]
    assert [one["DATA_FILENAME"] for one in told] == [path.name for path in found]
    assert [one["LENGTH"] for one in told] == [3, 3]


MINE = """
duration = "4s"
[network.bottleneck]
rate = "4Mbit"
delay = "10ms"
queue = { limit = "50p" }
"""
PROBES = '[[probe]]\nname = "a"\n[[probe]]\nname = "b"\nkind = "udp"\n'


def test_a_study_that_only_has_the_name_of_a_ready_one_is_told_as_what_it_is(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rrul.toml"
    file.write_text(MINE + '[[flow]]\nname = "upload-BE"\n' + PROBES)
    (data,) = flent.write(cclab.run(file, out=tmp_path / "out", repeat=1), tmp_path / "flent")
    found = document(data)
    assert (found["metadata"]["NAME"], found["metadata"]["TITLE"]) == ("tcp_nup", "rrul")
    assert "TCP upload::1" in found["results"]
    # More copies of its flows do not make another study of a ready one.
    more = cclab.run(
        cclab.Study.load("tcp_nup"),
        out=tmp_path / "nup",
        repeat=1,
        set=[*SHORT, "flow.upload.count=2"],
    )
    (data,) = flent.write(more, tmp_path / "flent")
    assert {"TCP upload::1", "TCP upload::2"} <= set(document(data)["results"])


def test_probes_alone_are_flents_ping(tmp_path: Path) -> None:
    file = tmp_path / "idle.toml"
    file.write_text(MINE + PROBES)
    (data,) = flent.write(cclab.run(file, out=tmp_path / "out", repeat=1), tmp_path / "flent")
    found = document(data)
    assert found["metadata"]["NAME"] == "ping"
    assert set(found["results"]) == {"Ping (ms) ICMP", "Ping (ms) UDP", "Ping (ms) avg"}
    assert "No data" not in drawn(data, "ping_cdf", tmp_path / "ping.png")


def test_without_samples_there_is_no_series(cli: Cli, tmp_path: Path) -> None:
    words = (
        "run",
        "tcp_nup",
        "--set",
        "trace.interval=0s",
        *(w for s in SHORT for w in ("--set", s)),
    )
    assert cli(*words, "--out", "out", cwd=tmp_path).returncode == 0
    told = cli("report", "out", "--format", "flent", cwd=tmp_path)
    assert told.returncode == 2
    assert "give [trace] an interval" in told.stderr
