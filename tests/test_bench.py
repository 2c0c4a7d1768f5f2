"""The speed measurement: that it never shows a table that is not a comparison."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "benches" / "run.py"
PLAUSIBLE = 45_000  # of the 50,000 packets that 100 Mbit/s carry in 6 s


def program(folder: Path, name: str, shell: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{shell}\n")
    path.chmod(0o755)
    return str(path)


def printing(packets: int) -> str:
    # ns-2 prints in the middle of its lines.
    return f"""echo noise; printf 'cmd '; echo '{{"data_packets": {packets}}}'; echo noise"""


def bench(folder: Path, *flags: str, **shells: str) -> subprocess.CompletedProcess[str]:
    """The bench with programs that only print, all plausible but those given."""
    options = []
    for name in ("cclab", "ns3", "ns2"):
        shell = shells.get(name, printing(PLAUSIBLE))
        options += [f"--{name}", program(folder, name, shell)]
    return subprocess.run(
        [sys.executable, str(BENCH), "--duration", "6", *options, *flags],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_peer_fails_and_says_how_to_install_it(tmp_path: Path) -> None:
    done = bench(tmp_path, "--ns2", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert "ns-2" in done.stderr
    assert "apt-get install ns2" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("shell", "complaint"),
    [
        ("echo broken >&2; exit 3", "exit 3: broken"),
        ("echo nothing", "no JSON line"),
        (printing(50_001), "not the same run"),
        (printing(20_000), "not the same run"),
        (printing(0), "0 data packets"),
    ],
)
def test_a_peer_that_did_something_else_fails(tmp_path: Path, shell: str, complaint: str) -> None:
    done = bench(tmp_path, ns3=shell)
    assert done.returncode == 1
    assert "ns-3" in done.stderr
    assert complaint in done.stderr


def test_a_simulation_that_differs_when_repeated_fails(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    growing = (
        f"echo x >> {counter}\n"
        f"""echo "{{\\"data_packets\\": $((45000 + $(wc -l < {counter})))}}\""""
    )
    done = bench(tmp_path, cclab=growing)
    assert done.returncode == 1
    assert "not the same simulation twice" in done.stderr


def test_the_document_holds_what_the_table_shows(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    done = bench(tmp_path, "--json", str(out))
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text())
    assert document["schema"] == "cclab-bench/2"
    every = [(case["cc"], case["qdisc"], case["ack_every"]) for case in document["cases"]]
    assert every == [
        ("cubic", "droptail", 1),
        ("bbr", "droptail", 1),
        ("cubic", "codel", 1),
        ("cubic", "fq_codel", 1),
    ]
    for case in document["cases"]:
        peers = ["ns-2", "ns-3"] if case["peers"] else []
        assert sorted(case["simulators"]) == ["cclab", *peers]
        for sample in case["simulators"].values():
            median = sorted(sample["cpu_seconds"])[1]
            assert len(sample["cpu_seconds"]) == 3
            assert sample["packets_per_cpu_second"] == pytest.approx(PLAUSIBLE / median)
            assert f"{sample['packets_per_cpu_second']:,.0f}" in done.stdout
    assert [asked["asked"] for asked in document["asked"]] == [5_000_000, 60.0, 3.0]


def test_full_adds_what_takes_the_peers_long(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    assert bench(tmp_path, "--full", "--json", str(out)).returncode == 0
    document = json.loads(out.read_text())
    every = [(case["cc"], case["ack_every"]) for case in document["cases"] if case["peers"]]
    assert every == [("cubic", 1), ("reno", 1), ("cubic", 2)]


def test_the_last_table_has_a_line_for_each_load_and_the_ratios_of_the_documents_numbers(
    tmp_path: Path,
) -> None:
    out = tmp_path / "bench.json"
    done = bench(tmp_path, "--flows", "1000", "--json", str(out))
    cases = json.loads(out.read_text())["cases"]
    speeds = [case["simulators"]["cclab"]["packets_per_cpu_second"] for case in cases]
    peers = cases[0]["simulators"]
    ratios = [speeds[0] / peers[peer]["packets_per_cpu_second"] for peer in ("ns-3", "ns-2")]
    lines = done.stdout.splitlines()
    last = next(line for line in reversed(lines) if line.split()[:1] == ["1,000"])
    assert last.split() == [
        "1,000",
        *(f"{speed:,.0f}" for speed in speeds),
        *(word for ratio in ratios for word in (f"{ratio:.1f}", "x")),
    ]


def test_ns3_gets_ten_thousand_flows_only_if_asked_to(tmp_path: Path) -> None:
    many = ["--flows", "10000"]
    done = bench(tmp_path, *many)
    assert "ns-3 is left out at 10,000 flows" in done.stdout
    assert "ns-2 is left out at 10,000 flows" in done.stdout
    asked = bench(tmp_path, *many, "--ns3-flows", "10000")
    assert "ns-3 is left out" not in asked.stdout
    assert "ns-2 is left out" in asked.stdout
    full = bench(tmp_path, *many, "--full")
    assert "ns-3 is left out" not in full.stdout
    few = bench(tmp_path)
    assert "left out" not in few.stdout


def test_check_fails_when_a_figure_is_missed(tmp_path: Path) -> None:
    # As fast as its peers is not three times as fast.
    assert bench(tmp_path, "--check").returncode == 1
    assert bench(tmp_path).returncode == 0
