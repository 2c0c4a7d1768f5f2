"""The netns backend on this host, for real.

What the host allows decides which side of each test runs, by `Host.probe()`: a run, or the
refusal of it with its reason. Neither is skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from cclab import _core, api
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.execute.backends import host, linux
from cclab.execute.backends.host import Host, Lack
from cclab.plan.study import Study
from conftest import ROOT, only_trace
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Cli

BOTTLENECK = """\
title = "On this host"
backend = "netns"
duration = "{duration}"
[network.bottleneck]
rate = "20Mbit"
delay = "0s"
queue = {{ kind = "droptail", limit = "50p" }}
{more}
"""
TWO = '[[flow]]\nname = "a"\ncc = "reno"\n[[flow]]\nname = "b"\ncc = "cubic"\n'
NOBODY = 65534


def written(folder: Path, more: str = TWO, duration: str = "3s") -> Path:
    """A study file; without delay it needs no netem."""
    file = folder / "study.toml"
    file.write_text(BOTTLENECK.format(duration=duration, more=more))
    return file


def allowed(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether this host allows runs. If it does not, `done` is the refusal that says why."""
    lack = Host.probe().unprivileged
    if lack is None:
        assert done.returncode == DONE, done.stderr
        return True
    assert done.returncode == WRONG_INPUT
    assert f"{lack.what} ({lack.remedy})" in done.stderr
    return False


def iperf3_is_there(cli: Cli, file: Path) -> bool:
    """Whether this host has iperf3. If it has not, the study `file`, which runs it, is refused, and
    the refusal says why."""
    if host.which("iperf3") is not None:
        return True
    done = cli("run", file, "--out", "out")
    assert done.returncode == WRONG_INPUT
    assert "program iperf3: not found (install iperf3)" in done.stderr
    return False


def processes(word: str) -> list[int]:
    """The processes of the agent whose arguments contain `word`, the oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                arguments = (entry / "cmdline").read_text().split("\0")
                if "cclab-agent" in arguments[0] and any(word in each for each in arguments[1:]):
                    found.append(int(entry.name))
        except OSError:
            continue
    return sorted(found)


def rings() -> set[str]:
    """The kernel's rings of events, as root; empty where there is no tracefs."""
    script = (
        "test -d /sys/kernel/tracing/instances || "
        "mount -t tracefs tracefs /sys/kernel/tracing || exit 0; ls /sys/kernel/tracing/instances"
    )
    told = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    return set(told.stdout.split())


def test_two_flows_share_a_droptail_link(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", written(tmp_path), "--out", "out", "--json")
    if not allowed(done):
        assert not (tmp_path / "out").exists()
        return
    document = json.loads(done.stdout)
    schema = json.loads((ROOT / "docs/results.schema.json").read_text())
    jsonschema.validate(document, schema)
    (run,) = document["runs"]
    assert [flow["cc_in_force"] for flow in run["flows"]] == ["reno", "cubic"]
    assert all(flow["bytes_received"] > 0 for flow in run["flows"])
    assert all(flow["srtt_mean_s"] > 0 for flow in run["flows"])
    link = run["bottleneck"]
    # Packets of 1514 bytes, with the one that fits when 50 wait.
    assert 0 < link["queue_max_bytes"] <= 51 * 1514
    assert 0 < link["queue_delay_mean_s"] <= link["queue_max_bytes"] * 8 / 20e6
    verdict = run["fidelity"]
    assert verdict["verdict"] == ("too slow" if verdict["reasons"] else "kept up")
    warned = "host-too-slow" in [warning["code"] for warning in run["warnings"]]
    assert warned == (verdict["verdict"] == "too slow")
    page = (tmp_path / "out/report/index.html").read_text()
    assert f"kept up with {int(not warned)} of 1 runs in real time" in page
    assert processes(str(tmp_path)) == []
    assert [file.name for file in (tmp_path / "out/tmp").iterdir()] == ["lock"]


def test_datagrams_are_counted(cli: Cli, tmp_path: Path) -> None:
    """Of a program and of a flow: what arrives is what it says, whatever the host's timers do."""
    sender = (
        "import socket, sys, time\n"
        "out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(500):\n"
        "    out.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2])))\n"
        "    time.sleep(0.002)\n"
    )
    script = tmp_path / "sender.py"
    script.write_text(sender)
    command = json.dumps([sys.executable, str(script), "{dst}", "{port}"])
    more = (
        f'[[flow]]\nname = "program"\ncommand = {command}\n'
        '[[flow]]\nname = "voice"\ntransport = "udp"\ntransfer = "100kB"\n'
        'application = { kind = "constant-rate", rate = "1Mbit", payload = "1000B" }\n'
    )
    done = cli("run", written(tmp_path, more, duration="60s"), "--out", "out", "--json")
    if not allowed(done):
        return
    (run,) = json.loads(done.stdout)["runs"]
    for flow, count in zip(run["flows"], (500, 100), strict=True):
        assert flow["transport"] == "udp"
        datagrams = flow["datagrams"]
        assert (datagrams["sent"], datagrams["received"]) == (count, count)
        assert datagrams["bytes_received"] == count * 1000
        assert 0 < datagrams["delay_p50_s"] < datagrams["delay_p99_s"] * 1.01


def test_a_video_is_the_one_of_the_simulator(cli: Cli, tmp_path: Path) -> None:
    """Frames are as many and as large; how late each is shown is the host's affair."""
    more = '[[flow]]\nname = "video"\ntransport = "udp"\napplication = { kind = "video" }\n'
    file = written(tmp_path, more)
    # Room for several frames at once, where the sender's timer is late.
    room = ("--set", "network.bottleneck.queue.limit=1000p", "--json")
    done = cli("run", file, "--out", "out", *room)
    if not allowed(done):
        return
    simulated = cli("run", file, "--backend", "sim", "--out", "sim", *room)
    (here,), (there,) = (json.loads(run.stdout)["runs"][0]["flows"] for run in (done, simulated))
    # The last may be under way at the end.
    assert abs(here["frames"]["sent"] - there["frames"]["sent"]) <= 1
    sent = [flow["datagrams"]["bytes_sent"] / flow["frames"]["sent"] for flow in (here, there)]
    assert sent[0] == pytest.approx(sent[1], rel=0.02)
    assert here["datagrams"]["lost"] == there["datagrams"]["lost"] == 0
    assert here["datagrams"]["delay_mean_s"] > 0


def test_iperf3_over_udp_and_the_trace_agree(cli: Cli, tmp_path: Path) -> None:
    rate = '"-b", "8M", "-n", "4M", "--json"'
    more = f'[[flow]]\nname = "program"\ncommand = ["iperf3", "-u", "-c", "{{dst}}", {rate}]\n'
    file = written(tmp_path, more, duration="60s")
    if not iperf3_is_there(cli, file):
        return
    done = cli("run", file, "--out", "out", "--json")
    if not allowed(done):
        return
    (flow,) = json.loads(done.stdout)["runs"][0]["flows"]
    said = json.loads(only_trace(tmp_path / "out").text("program.stdout"))["end"]["sum_received"]
    datagrams = flow["datagrams"]
    # In real time its server stops counting when the client says that it has sent all, which may
    # come before the last datagrams do, and a busy host lets its clock run on beyond them. In
    # virtual time counts and rates are equal (test_udp_programs).
    assert datagrams["received"] == pytest.approx(said["packets"] - said["lost_packets"], rel=0.01)
    assert datagrams["bytes_received"] == pytest.approx(said["bytes"], rel=0.01)


def test_programs_reverse_flows_and_captures(cli: Cli, tmp_path: Path) -> None:
    # Both end on their own, however slow the host is.
    more = (
        '[[flow]]\nname = "program"\ncommand = ["iperf3", "-c", "{dst}", "-n", "500K"]\n'
        '[[flow]]\nname = "back"\ndirection = "reverse"\ntransfer = "500kB"\n'
        '[trace]\ncapture = ["bottleneck"]\n'
    )
    file = written(tmp_path, more, duration="60s")
    if not iperf3_is_there(cli, file):
        return
    done = cli("run", file, "--out", "out", "--json")
    if not allowed(done):
        return
    (run,) = json.loads(done.stdout)["runs"]
    assert all(flow["bytes_received"] > 0 for flow in run["flows"])
    trace = only_trace(tmp_path / "out")
    assert "iperf Done." in trace.text("program.stdout")
    (capture,) = trace.captures.glob("*.pcapng")
    # 350 segments of the program, 84 bytes each of headers and of the capture's own.
    assert capture.stat().st_size > 350 * 84


def test_a_setting_that_this_kernel_lacks_is_named(cli: Cli, tmp_path: Path) -> None:
    more = '[[flow]]\nsysctl = { "net.ipv4.tcp_of_another_time" = 1 }\n'
    done = cli("run", written(tmp_path, more), "--out", "out")
    if Host.probe().unprivileged is not None:
        assert not allowed(done)
        return
    assert done.returncode == RUN_FAILED
    assert "kernel settings of flow1.left: net.ipv4.tcp_of_another_time = 1:" in done.stderr
    assert "this kernel has no such setting" in done.stderr
    assert processes(str(tmp_path)) == []


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of an hour that has begun, or a refusal that has been said."""
    command = [sys.executable, "-m", "cclab", "run", written(tmp_path, duration="3600s")]
    with subprocess.Popen(
        [*map(str, command), "--out", "out"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as run:
        if Host.probe().unprivileged is None:
            await_that(
                lambda: list(tmp_path.glob("out/tmp/writer-*/*/*/raw/samples.jsonl")), "the run"
            )
            assert processes(str(tmp_path))
        yield run
        run.kill()


@pytest.mark.parametrize("which", ["interrupt", "kill cclab", "kill the agent"])
def test_nothing_is_left_of_a_run_that_is_cut_short(
    under_way: subprocess.Popen[str], tmp_path: Path, which: str
) -> None:
    if Host.probe().unprivileged is not None:
        assert under_way.wait(PATIENCE_S) == WRONG_INPUT
        return
    agent = processes(str(tmp_path))[0]
    ring = {f"cclab-{agent}"}
    if Host.probe().tracefs is None:
        assert ring <= rings()
    if which == "kill the agent":
        os.kill(agent, signal.SIGKILL)
        assert under_way.wait(PATIENCE_S) == RUN_FAILED
        assert under_way.stderr is not None
        assert "the agent ended with signal: 9" in under_way.stderr.read()
    else:
        how = signal.SIGINT if which == "interrupt" else signal.SIGKILL
        under_way.send_signal(how)
        assert under_way.wait(PATIENCE_S) != DONE
    await_that(lambda: not processes(str(tmp_path)), "the end of the agent")
    assert not ring & rings()
    if which != "kill cclab":
        assert [file.name for file in (tmp_path / "out/tmp").iterdir()] == ["lock"]


def test_an_interrupt_ends_programs_of_a_run_in_the_background_too() -> None:
    """What it ignores from its start, those that the agent becomes do not."""
    told = subprocess.run(
        [
            "sh",
            "-c",
            'trap "" INT; exec "$0" --tied $PPID grep SigIgn /proc/self/status',
            linux.agent(),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = int(told.stdout.split()[1], 16)
    assert not ignored & 1 << (signal.SIGINT - 1)


def test_what_is_missing_is_refused_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = Host.probe()
    lack = Lack("Specified qdisc kind is unknown", "a kernel with it")
    lacks = {**there.lacks, "qdisc netem": lack, "part u32": lack, "variant vegas": lack}
    found = Host("root", None, there.qdiscs, there.variants, lacks, None)
    monkeypatch.setattr(host, "_probed", lambda: found)
    which = host.which
    monkeypatch.setattr(host, "which", lambda name: None if name == "iptables" else which(name))
    monkeypatch.chdir(tmp_path)
    more = (
        'outage = { start = "500ms", duration = "100ms", at = "receiver" }\n'
        '[[flow]]\ncc = "vegas"\nrtt = "20ms"\n'
        '[[flow]]\ntransport = "udp"\napplication = { kind = "video" }\n'
    )
    file = str(written(tmp_path, more))
    for command in (["run", file, "--out", "out"], ["plan", file]):
        assert invoke(command) == WRONG_INPUT
        said = capsys.readouterr()
        assert "queueing discipline netem: Specified qdisc kind is unknown (a ker" in said.err
        assert "classifier u32: Specified qdisc kind is unknown (a ker" in said.err
        assert "variant vegas: " in said.err
        assert "program iptables: not found (install iptables)" in said.err
    assert "backend netns: can do all of it, but not here: backend 'netns': this" in said.out
    assert "backend linux: can do all of it" in said.out
    assert not (tmp_path / "out").exists()


def test_a_host_without_netem_runs_what_has_no_delay(tmp_path: Path) -> None:
    runs = Study.load(written(tmp_path)).plan().runs
    needs = json.loads(_core.needs_of(runs[0].to_json()))
    assert needs["qdiscs"] == ["pfifo", "tbf"]
    far = Study.load(written(tmp_path)).plan(set=["network.bottleneck.delay=5ms"])
    assert "netem" in json.loads(_core.needs_of(far.runs[0].to_json()))["qdiscs"]


def test_a_results_folder_that_the_agent_would_cover_is_refused(tmp_path: Path) -> None:
    out = Path(tempfile.mkdtemp(prefix="cclab-test-", dir="/run"))
    try:
        with pytest.raises(_core.RunError, match="choose another with --out") as raised:
            unprivileged_or_not(written(tmp_path), out)
        assert "/run" in str(raised.value)
    finally:
        shutil.rmtree(out)


def unprivileged_or_not(file: Path, out: Path) -> None:
    run = Study.load(file).plan().runs[0]
    limits = (60.0, 30.0)
    agent = str(linux.agent())
    _core.execute_on_kernel(run.to_json(), str(out), _core.Progress(), agent, None, limits)


def test_a_user_runs_in_a_user_namespace_or_is_told_why_not(tmp_path: Path) -> None:
    file = written(tmp_path)
    if os.geteuid() != 0:
        # Every run of this file is that of a user.
        assert api.run(file, out=tmp_path / "out").runs or Host.probe().unprivileged
        return
    enter = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    may = subprocess.run(
        [*enter, "unshare", "-r", "-n", "ip", "link", "set", "lo", "up"],
        capture_output=True,
        check=False,
    )
    # A place that another user reaches, unlike those of the tests.
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        agent = shutil.copy(linux.agent(), place)
        out = Path(place) / "out"
        out.mkdir()
        os.chown(out, NOBODY, NOBODY)
        run = Study.load(file).plan().runs[0].to_json()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.chdir(place)
                progress = _core.Progress()
                _core.execute_on_kernel(run, str(out), progress, str(agent), None, (60.0, 30.0))
                status = 0
            except _core.RunError as error:
                (out / "error").write_text(str(error))
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        said = (out / "error").read_text() if (out / "error").exists() else ""
        if may.returncode == 0:
            assert status == 0, said
            flows = json.loads(_core.measure(str(out)))["flows"]
            assert [flow["cc_in_force"] for flow in flows] == ["reno", "cubic"]
            # Without the kernel's events they come from samples.
            assert all(flow["srtt_mean_s"] > 0 for flow in flows)
        else:
            assert status != 0
            assert "run as root" in said or "Permission denied" in said
