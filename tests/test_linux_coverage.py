"""Everything that the kernel has, once, for real: variants, disciplines, the example study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import cclab
from cclab import _core
from cclab.cli.main import invoke
from cclab.errors import InputError
from guests import results_of

if TYPE_CHECKING:
    from cclab import Results

pytestmark = pytest.mark.usefixtures("kernel")

ROOT = Path(__file__).parent.parent


def on_kernel(source: str) -> list[str]:
    """Names in a list of the core that a kernel has."""
    return [row["name"] for row in json.loads(source) if "netns" in row["backends"]]


def flows(results: Results) -> list[dict[str, Any]]:
    """One row per flow and run."""
    return results.flows.to_dicts()


def test_every_variant_is_in_force_and_fills_a_link(tmp_path: Path) -> None:
    variants = on_kernel(_core.variants())
    assert len(variants) == 17
    results = results_of(
        tmp_path,
        f"""
duration = "8s"
warmup   = "3s"

[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = {{ limit = "1bdp" }}

[[flow]]
name = "one"
rtt  = "20ms"

[sweep]
"flow.one.cc" = {json.dumps(variants)}
""",
    )
    rows = flows(results)
    assert [row["cc_in_force"] for row in rows] == variants
    goodputs = {row["cc"]: row["steady_goodput_bps"] for row in rows}
    # 9.56 Mbit/s is all that the link carries. cdg alone backs off from its own queue.
    assert all(goodput > 8e6 for cc, goodput in goodputs.items() if cc != "cdg"), goodputs
    assert goodputs["cdg"] > 5e6


def test_every_discipline_carries_a_flow(tmp_path: Path) -> None:
    kinds = on_kernel(_core.qdiscs())
    assert len(kinds) == 10
    results = results_of(
        tmp_path,
        f"""
duration = "5s"
warmup   = "2s"

[network]
by = "kernel"
[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = {{ limit = "100p" }}

[[flow]]
name = "one"
rtt  = "20ms"

[sweep]
"network.bottleneck.queue.kind" = {json.dumps(kinds)}
""",
    )
    goodputs = [row["steady_goodput_bps"] for row in flows(results)]
    assert all(goodput > 7e6 for goodput in goodputs), list(zip(kinds, goodputs, strict=True))


def test_the_example_with_an_outage_runs_unchanged(tmp_path: Path) -> None:
    results = cclab.run(ROOT / "examples" / "forced-drop.toml", out=tmp_path)
    assert results.plan.backend == "linux"
    assert [row["bytes_received"] for row in flows(results)] == [104_857_600] * 2
    assert results.bottlenecks["drops"].to_list()[0] > 0
    # Without window scaling the first flow has 64 KiB in 400 ms, of which Linux 6.1 advertises
    # whole segments.
    first = results.runs[0].metrics["flows"][0]
    samples = results.samples(0, "flow_samples").filter(flow="s1")
    (window,) = samples.filter(pl.col("time_s").is_between(10, 100))["rwnd_bytes"].unique()
    assert window in (65_535, 44 * 1448)
    assert first["goodput_bps"] == pytest.approx(window * 8 / 0.4, rel=0.02)
    assert first["limited"]["rwnd"] > 0.95


def test_a_sound_kernel_passes_its_own_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["kernel", "test"]) == 0
    told = capsys.readouterr().out
    assert "all 17" in told
    assert "50.0, 50.0, 50.0 ms" in told


def test_a_wrong_kernel_does_not_touch_other_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCLAB_KERNEL", str(tmp_path / "gone"))
    study = ROOT / "examples" / "quickstart.toml"
    short = ["duration=1s", "warmup=0s"]
    assert cclab.run(study, out=tmp_path / "sim", set=short, repeat=1).runs
    with pytest.raises(InputError, match="gone"):
        cclab.run(study, out=tmp_path / "linux", set=short, repeat=1, backend="linux")
    assert not (tmp_path / "linux").exists()


def test_a_server_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(cclab.RunError, match=r"server of flow one: it ended with .*3.*\n.*no room"):
        results_of(
            tmp_path,
            """
duration = "2s"

[network.bottleneck]
rate  = "10Mbit"
queue = { limit = "100p" }

[[flow]]
name    = "one"
rtt     = "20ms"
command = ["sleep", "0.5"]
server  = ["sh", "-c", "echo no room >&2; exit 3"]
""",
        )


def test_a_program_that_will_not_end_is_ended(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        """
[network.bottleneck]
rate  = "10Mbit"
queue = { limit = "100p" }

[[flow]]
name     = "deaf"
rtt      = "20ms"
command  = ["sh", "-c", "trap '' INT; sleep 1000"]
duration = "1s"

[[flow]]
name     = "bulk"
rtt      = "20ms"
transfer = "100kB"
""",
    )
    assert results.runs


def test_programs_have_goodput_of_their_own_time(tmp_path: Path) -> None:
    """iperf3 with its own server, and a transfer that ends long before the run."""
    results = results_of(
        tmp_path,
        """
duration = "6s"

[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = { kind = "fq_codel", limit = "1000p" }

[[flow]]
name     = "iperf"
rtt      = "40ms"
command  = ["iperf3", "-c", "{dst}", "-t", "{duration}", "--json"]
duration = "5s"

[[flow]]
name    = "early"
rtt     = "40ms"
start   = "0s"
command = ["bash", "-c", "head -c 1000000 /dev/zero > /dev/tcp/{dst}/{port}"]
""",
    )
    iperf, early = results.runs[0].metrics["flows"]
    told = json.loads(results.runs[0].trace.text("iperf.stdout"))
    said = told["end"]["sum_received"]["bits_per_second"]
    assert iperf["goodput_bps"] == pytest.approx(said, rel=0.05)
    # Half of 10 Mbit/s at most, without the five seconds in which it no longer sent.
    assert 4e6 < early["goodput_bps"] < 5.5e6
    assert results.runs[0].metrics["jain"] > 0.7
