"""What a plan tells before anything runs: points, warnings, and what a backend refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cclab.cli.exits import DONE, WRONG_INPUT

if TYPE_CHECKING:
    from conftest import Cli


def test_plan_shows_points_and_what_cannot_be_done(cli: Cli, study: Path) -> None:
    done = cli("plan", study)
    assert done.returncode == DONE, done.stderr
    assert "short (reno), long (reno)" in done.stdout
    assert "4 runs, about " in done.stdout
    assert "backend sim: can do all of it" in done.stdout
    nv = cli("plan", study, "--set", "flow.long.cc=nv")
    assert nv.returncode == WRONG_INPUT
    assert "backend sim cannot do flow.long.cc: variant nv" in nv.stdout
    assert nv.stderr.startswith("error: backend 'sim' of this version does not do:")
    lifted = "; --backend linux or netns has it\n"
    assert f"\n  --set:1:14: flow.long.cc: variant nv{lifted}" in nv.stderr
    assert "backend linux: can do all of it" in nv.stdout
    linux = cli("plan", study, "--backend", "linux", "--json")
    assert linux.returncode == DONE
    assert json.loads(linux.stdout)["study"]["backend"] == "linux"


def test_plan_shows_the_warnings_that_every_run_will_have(cli: Cli, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        """
        duration = "2s"
        network.bottleneck = { rate = "10Mbit", queue = { limit = "100p" } }
        flow = [
            { name = "a", count = 2, rtt = "40ms" },
            { name = "call", transport = "udp", rtt = "40ms", application = { kind = "video" } },
        ]
        traffic = [{ name = "web", kind = "poisson", load = 0.2, transfer = "30kB" }]
        [sweep]
        "flow.a.rtt" = ["20ms", "40ms"]
        """
    )
    told = cli("plan", study)
    assert told.returncode == DONE, told.stderr
    assert "a.1 (cubic), a.2 (cubic), call (udp)" in told.stdout
    assert "cross-traffic-without-rtt: " in told.stderr
    assert "and the like in 1 more run, at 2 sweep points in all" in told.stderr
    assert "the key flow.a.rtt, put traffic.web.rtt beside it" in told.stderr
    planned = [
        point["warnings"] for point in json.loads(cli("plan", study, "--json").stdout)["points"]
    ]
    ran = json.loads(cli("run", study, "--out", tmp_path / "out", "--json").stdout)["runs"]
    for (foreseen,), run in zip(planned, ran, strict=True):
        assert foreseen in run["warnings"]
    reached = cli("plan", study, "--set", "traffic.web.rtt=40ms")
    assert "cross-traffic-without-rtt" not in reached.stderr


def test_what_a_backend_refuses_has_its_place_in_the_file(cli: Cli, study: Path) -> None:
    lines = study.read_text().replace('kind = "droptail"', 'kind = "cake"').splitlines()
    study.write_text("\n".join(lines))
    number, line = next((n, one) for n, one in enumerate(lines, 1) if '"cake"' in one)
    done = cli("plan", study)
    assert done.returncode == WRONG_INPUT
    column = line.index('"cake"') + 1
    assert (
        f"{study.name}:{number}:{column}: network.bottleneck.queue.kind: queue cake" in done.stderr
    )


def test_a_refusal_names_the_backends_that_would_not(cli: Cli, study: Path) -> None:
    text = study.read_text().replace('kind = "droptail"', 'kind = "cake"')
    study.write_text(text)
    on_sim = cli("run", study, "--set", 'flow.long.command=["true"]')
    assert on_sim.returncode == WRONG_INPUT
    by_key = 'netns or linux with network.by = "kernel"'
    assert f"queue cake; --backend {by_key} has it\n" in on_sim.stderr
    assert "flow.long.command: programs of the host; --backend linux or netns has it\n" in (
        on_sim.stderr
    )
    copa = cli("run", study, "--backend", "linux", "--set", "flow.long.cc=copa")
    assert "yeah, dctcp, bbr, nv, cdg); --backend sim has it\n" in copa.stderr
    events = ["--backend", "netns", "--set", 'trace.events=["queue"]', "--set", 'stack="rfc"']
    done = cli("run", study, *events)
    assert 'trace.events: events "queue"; --backend sim or linux has it\n' in done.stderr
    assert 'stack: stack "rfc" (a kernel is "linux-6.12"); --backend sim has it\n' in done.stderr


def test_a_refusal_names_the_network_that_lifts_it(cli: Cli, study: Path) -> None:
    text = study.read_text()
    traffic = '\n[[traffic]]\nname = "web"\nkind = "poisson"\nload = 0.1\ntransfer = "9kB"\n'
    study.write_text(text.replace('kind = "droptail"', 'kind = "dualpi2"') + traffic)
    assert cli("plan", study, "--backend", "linux").returncode == DONE
    by = ("--set", 'network.by="kernel"')
    refused = cli("plan", study, "--backend", "linux", *by, "--set", 'flow.long.cc="copa"').stderr
    key = 'network.by = "simulator"'
    queue = next(line for line in refused.splitlines() if "dualpi2" in line)
    assert queue.endswith(f"; --backend sim or {key} has it")
    assert f"traffic.web: cross traffic poisson; --backend sim or {key} has it\n" in refused
    # Its hosts are a kernel's all the same.
    assert "yeah, dctcp, bbr, nv, cdg); --backend sim has it\n" in refused
    refused = cli("plan", study, "--backend", "netns", "--set", 'trace.events=["queue"]').stderr
    assert "traffic.web: cross traffic poisson; --backend sim or linux has it\n" in refused
    assert 'events "queue"; --backend sim or linux has it\n' in refused
    netns = cli("plan", study, "--backend", "netns", "--set", key.replace(" ", ""))
    assert netns.returncode == WRONG_INPUT
    assert "network.by: the simulator's network (" in netns.stderr
    assert "of this machine is not); --backend sim or linux has it\n" in netns.stderr
    study.write_text(text.replace('kind = "droptail"', 'kind = "cake"'))
    refused = cli("plan", study, "--backend", "linux").stderr
    assert 'queue cake; --backend netns or network.by = "kernel" has it\n' in refused
    assert cli("plan", study, "--backend", "linux", *by).returncode == DONE


def test_a_variant_of_elsewhere_names_the_nearest_by_meaning(cli: Cli, study: Path) -> None:
    for name, near in (
        ("l4s", "`prague`, with a queue `dualpi2`"),
        ("bbr2", "`bbr3`"),
        ("bbrv3", "`bbr3`"),
        ("Compound", "`illinois`"),
    ):
        done = cli("run", study, "--set", f"flow.long.cc={name}")
        assert done.returncode == WRONG_INPUT
        assert f"unknown variant `{name}`; the nearest by meaning is {near}" in done.stderr
    done = cli("run", study, "--set", "flow.long.cc=tcp_cubic")
    assert "did you mean `cubic`?" in done.stderr
    # And what that tells is a study that runs.
    told = ["--set", "flow.long.cc=prague"]
    queue = "network.bottleneck.queue={ kind = 'dualpi2', limit = '1000p' }"
    assert cli("plan", study, *told, "--set", queue).returncode == DONE


def test_what_copies_of_a_flow_need_is_said_once(cli: Cli, study: Path) -> None:
    done = cli("plan", study, "--set", "flow.long.cc=nv", "--set", "flow.long.count=4")
    reason = "flow.long.*.cc (4 flows): variant nv"
    assert done.stdout.count(reason) == 1
    assert done.stderr.count(reason) == 1
