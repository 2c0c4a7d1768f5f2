"""Several kernels in one study: `kernel` of the study and of its flows."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cclab
import cclab.kernel
from cclab import _core, kernel, sweep
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.comparison import sides
from cclab.errors import InputError
from cclab.plan import companions
from cclab.plan.outdated import outdated
from cclab.report import flow_table
from conftest import files_of
from guests import (
    assert_nothing_is_left,
    assert_windows_change_nothing,
    flows,
    processes_in,
    records_of_runs,
    results_of,
    start,
)
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    from cclab import Results
    from conftest import Cli

OLD, NEW = "6.1", "6.12"


@pytest.fixture(scope="module", autouse=True)
def _both_kernels() -> None:
    for name in (OLD, NEW):
        if cclab.kernel.installed(name) is None:
            pytest.fail(cclab.kernel.not_built(name), pytrace=False)


def machines(results: Results) -> dict[str, list[str]]:
    """The flows of each kernel of the only run."""
    return {one["kernel"]: one["flows"] for one in results.runs[0].metrics["machines"]}


EVERYTHING = f"""
duration = "3s"
warmup = "500ms"
seed = 5
kernel = "{NEW}"
[network.bottleneck]
rate = "20Mbit"
delay = "5ms"
queue = {{ kind = "fq_codel", limit = "200p" }}
loss = "0.3%"
jitter = "1ms"
[[flow]]
name = "a"
cc = "cubic"
ecn = true
rtt = "30ms"
kernel = "{OLD}"
[[flow]]
name = "b"
cc = "bbr"
rtt = "50ms"
[[flow]]
name = "u"
transport = "udp"
kernel = "{OLD}"
application = {{ kind = "constant-rate", rate = "2Mbit" }}
[[flow]]
name = "v"
transport = "udp"
application = {{ kind = "constant-rate", rate = "1Mbit" }}
[[flow]]
name = "c"
direction = "reverse"
transfer = "500kB"
start = "200ms"
[[probe]]
name = "p"
kind = "udp"
interval = "50ms"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.1
rtt = "30ms"
sizes = {{ kind = "pareto", mean = "30kB", shape = 1.5 }}
[trace]
interval = "20ms"
"""

OBSERVED = EVERYTHING + (
    'events = ["ack", "queue", "drop"]\ncapture = ["a.sender", "b.receiver"]\nsnaplen = "64KiB"\n'
)

TRANSFERS = f"""
seed = 2
[network.bottleneck]
rate = "20Mbit"
delay = "5ms"
queue = {{ limit = "100p" }}
[[flow]]
name = "a"
transfer = "1MB"
kernel = "{OLD}"
[[flow]]
name = "b"
transfer = "3MB"
kernel = "{NEW}"
[[flow]]
name = "c"
transfer = "500kB"
[trace]
interval = "100ms"
events = ["ack"]
"""


DRAINS = (
    """command = ["python3", "-c", "import socket; to = ('{dst}', {port}); """
    """socket.create_connection(to).sendall(bytes(1500000))"]\n"""
)
"""A program that ends with much of what it sent still on its way."""

PROBED = f"""
{TRANSFERS.replace("5ms", "50ms")}
[[probe]]
name = "p"
kind = "ping"
interval = "5ms"
"""
"""The last flow ends while a probe's packets are on their way."""

DRAINED = f"""
{PROBED}
[[flow]]
name = "d"
kernel = "{OLD}"
start = "500ms"
{DRAINS}
"""

FAR = """
seed = 2
[network.bottleneck]
rate = "20Mbit"
delay = "50ms"
queue = { limit = "100p" }
"""
"""A network in which guests run 50 ms ahead."""


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Flows of two kernels, a probe and cross traffic."""
    return results_of(tmp_path_factory.mktemp("everything"), OBSERVED)


@pytest.fixture(scope="module")
def transfers(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Transfers on two kernels, the default one by its name and without."""
    return results_of(tmp_path_factory.mktemp("transfers"), TRANSFERS)


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The end of a run while a probe's packets are on their way."""
    return results_of(tmp_path_factory.mktemp("probed"), PROBED)


@pytest.fixture(scope="module")
def drained(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The end of a run while bytes of a program that has ended are, too."""
    return results_of(tmp_path_factory.mktemp("drained"), DRAINED)


def test_the_flows_of_each_kernel_are_named(everything: Results) -> None:
    assert machines(everything) == {OLD: ["a", "u"], NEW: ["b", "v", "c"]}
    releases = {one["kernel"]: one["release"] for one in everything.runs[0].metrics["machines"]}
    assert releases[OLD].startswith("6.1.")
    assert releases[NEW].startswith("6.12.")
    of = flows(everything)
    assert [of[name]["cc_in_force"] for name in "abc"] == ["cubic", "bbr", "cubic"]
    assert of["c"]["received_bytes"] == 500_000
    assert all(of[name]["received_bytes"] > 300_000 for name in "abuvc")
    samples = everything.samples(0, "flow_samples")
    assert samples["time_s"].is_sorted()
    acks = everything.samples(0, "acks")
    assert acks["time_s"].is_sorted()
    assert set(acks["flow"]) == {"a", "b", "c"}
    (probe,) = everything.runs[0].metrics["probes"]
    assert probe["sent"] > 40


@pytest.mark.parametrize("window_ns", [1, 40_000, 3_000_000])
@pytest.mark.parametrize("study", ["everything", "transfers", "probed", "drained"])
def test_the_length_of_windows_changes_no_byte(
    request: pytest.FixtureRequest, tmp_path: Path, study: str, window_ns: int
) -> None:
    results: Results = request.getfixturevalue(study)
    assert_windows_change_nothing(results, tmp_path / "run", window_ns)


def test_the_same_study_leaves_the_same_bytes_at_any_number_of_jobs(tmp_path: Path) -> None:
    sweep = '[sweep]\n"flow.b.cc" = ["bbr", "reno", "cubic"]\n'
    one = results_of(tmp_path / "one", OBSERVED + sweep, jobs=1)
    two = results_of(tmp_path / "two", OBSERVED + sweep, jobs=3)
    assert files_of(one.store.runs) == files_of(two.store.runs)


def test_observing_changes_nothing(everything: Results, tmp_path: Path) -> None:
    unseen = results_of(tmp_path, EVERYTHING)
    assert unseen.runs[0].metrics == everything.runs[0].metrics


def test_a_run_without_a_duration_ends_with_the_last_flow_of_all_kernels(
    transfers: Results,
) -> None:
    of = flows(transfers)
    assert {name: of[name]["received_bytes"] for name in "abc"} == {
        "a": 1_000_000,
        "b": 3_000_000,
        "c": 500_000,
    }
    # All of them can know it after the least time from a host to another.
    end = end_ns(transfers)
    known = end - round(max(row["ended_s"] for row in of.values()) * 1e9)
    assert 5_000_000 <= known < 6_000_000
    for table in ("flow_samples", "queue_samples"):
        assert last_ns(transfers, table) == end
    assert last_ns(transfers, "acks") <= end


def end_ns(results: Results) -> int:
    """When the only run ended."""
    summary = json.loads(results.runs[0].trace.text("summary.json"))
    return int(summary["end_ns"])


def last_ns(results: Results, table: str) -> int:
    """The time of the last row of `table`."""
    last = results.samples(0, table)["time_s"].max()
    assert isinstance(last, float)
    return round(last * 1e9)


def test_nothing_that_reached_a_program_after_the_end_of_a_run_is_in_its_goodput(
    tmp_path: Path,
) -> None:
    study = (
        FAR
        + f"""
        [[flow]]
        name = "a"
        transfer = "100kB"
        kernel = "{OLD}"
        [[flow]]
        name = "b"
        {DRAINS}
        """
    )
    several = results_of(tmp_path / "several", study)
    one = results_of(tmp_path / "one", study.replace(f'kernel = "{OLD}"', ""))
    of, alone = flows(several)["b"], flows(one)["b"]
    # The run goes on until both kernels can know that the program has ended.
    more = (end_ns(several) - end_ns(one)) / 1e9
    assert more == pytest.approx(0.05, abs=1e-5)
    assert of["ended_s"] == alone["ended_s"]
    assert alone["received_bytes"] < of["received_bytes"] < 1_500_000
    got = (of["received_bytes"] - alone["received_bytes"]) * 8
    assert got <= 20e6 * more
    assert of["received_bytes"] == received_at(several, "b", end_ns(several))
    samples = several.samples(0, "queue_samples")
    assert samples["time_s"].max() == several.samples(0, "flow_samples")["time_s"].max()


def received_at(results: Results, flow: str, at_ns: int) -> int:
    """What the last sample of `flow`, which is of `at_ns`, says that it had received."""
    rows = results.samples(0, "flow_samples").iter_rows(named=True)
    last = [row for row in rows if row["flow"] == flow][-1]
    assert round(last["time_s"] * 1e9) == at_ns
    return int(last["received_bytes"])


def test_a_run_whose_flows_end_shortly_before_its_duration_has_one_end(tmp_path: Path) -> None:
    study = f"""
        {FAR}
        [[flow]]
        name = "a"
        transfer = "300kB"
        kernel = "{OLD}"
        [[flow]]
        name = "b"
        transfer = "1MB"
        """
    free = results_of(tmp_path / "free", study)
    over = max(row["ended_s"] for row in flows(free).values())
    # No more time than a word of the end takes.
    duration = round((over + 0.02) * 1e3) * 1_000_000
    cut = results_of(tmp_path / "cut", f'duration = "{duration}ns"\n{study}')
    assert end_ns(cut) == duration < end_ns(free)
    for table in ("flow_samples", "queue_samples"):
        assert last_ns(cut, table) == duration
    of, longer = (results.runs[0].metrics["bottleneck"]["utilization"] for results in (cut, free))
    assert of > longer > 0.4


@pytest.mark.parametrize("interval", ["0s", "100ms", "1s"])
def test_what_a_flow_received_after_another_kernels_had_ended_is_not_in_its_steady_goodput(
    tmp_path: Path, interval: str
) -> None:
    study = f"""
        duration = "2s"
        {FAR}
        [[flow]]
        name = "a"
        cc = "reno"
        transfer = "2MB"
        kernel = "{OLD}"
        [[flow]]
        name = "b"
        cc = "reno"
        [trace]
        interval = "{interval}"
        """
    several = results_of(tmp_path / "several", study)
    one = results_of(tmp_path / "one", study.replace(f'kernel = "{OLD}"', ""))
    of, alone = (results.runs[0].metrics["flows"][1] for results in (several, one))
    assert flows(one)["b"]["received_bytes"] == pytest.approx(
        flows(several)["b"]["received_bytes"], rel=1e-3
    )
    assert of["steady_goodput_bps"] == pytest.approx(alone["steady_goodput_bps"], rel=0.005)


def test_a_kernel_by_its_name_and_by_default_is_one_guest(transfers: Results) -> None:
    assert machines(transfers) == {OLD: ["a"], NEW: ["b", "c"]}


def test_one_kernel_named_is_that_kernel_alone(tmp_path: Path) -> None:
    """As if it were the default one: the second kernel that a study could have costs nothing."""
    study = TRANSFERS.replace(f'kernel = "{OLD}"\n', "").replace(f'kernel = "{NEW}"\n', "")
    named = results_of(tmp_path / "named", f'kernel = "{NEW}"\n' + study)
    unnamed = results_of(tmp_path / "unnamed", study)
    (one,), (other,) = named.runs, unnamed.runs
    for name in one.trace.names():
        if name.endswith(".parquet"):
            assert one.trace.bytes(name) == other.trace.bytes(name), name
    assert one.run.version.replace(f"kernel {NEW}", "kernel") == other.run.version


def test_a_version_names_the_kernels_of_its_run_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (cclab.kernel.installed(name) for name in (OLD, NEW))
    assert old is not None
    assert new is not None
    file = tmp_path / "study.toml"
    file.write_text(
        'backend = "linux"\n' + TRANSFERS + '[sweep]\n"flow.a.kernel" = ["6.1", "6.12"]\n'
    )
    plan = cclab.Study.load(file).plan()
    mixed, alone = (run.version for run in plan.runs)
    kernels = [
        [part for part in version.split(", ") if part.startswith("kernel ")]
        for version in (mixed, alone)
    ]
    default = f"kernel {new.key}"
    assert kernels == [
        [default, f"kernel {OLD} {old.key}", f"kernel {NEW} {new.key}"],
        [default, f"kernel {NEW} {new.key}"],
    ]
    assert outdated(plan.runs) == {}
    # Of another 6.1 those runs alone are outdated that are on it.
    known = kernel.keys()["linux"]
    monkeypatch.setattr(kernel, "keys", lambda: {"linux": {**known, OLD: "another"}})
    ((run, here),) = outdated(plan.runs).values()
    assert run.id == plan.runs[0].id
    assert here == mixed.replace(old.key, "another")


def test_baselines_are_of_the_kernel_of_their_flow(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text('backend = "linux"\nbaselines = ["solo"]\n' + TRANSFERS)
    plan = cclab.Study.load(file).plan()
    beside = companions.of(plan).runs
    assert len(beside) == 3
    assert outdated(beside) == {}
    assert [run.version.count("kernel ") for run in beside] == [1, 1, 1]


def test_settings_of_the_whole_machine_may_differ_between_kernels(cli: Cli, tmp_path: Path) -> None:
    setting = 'sysctl = {{ "net.core.netdev_max_backlog" = {} }}\n'
    of = [f'kernel = "{OLD}"\n', f'kernel = "{NEW}"\n']
    study = TRANSFERS
    for number, line in enumerate(of, start=1):
        study = study.replace(line, line + setting.format(5000 * number))
    results = results_of(tmp_path, study)
    assert machines(results) == {OLD: ["a"], NEW: ["b", "c"]}
    same = study.replace(of[0], of[1])
    (tmp_path / "same.toml").write_text('backend = "linux"\n' + same)
    told = cli("run", tmp_path / "same.toml")
    assert told.returncode == WRONG_INPUT
    assert "different from that of flow a: it holds for the whole machine" in told.stderr
    # The default and its name are one kernel, and here two machines.
    apart = same.replace(of[1] + setting.format(5000), setting.format(5000))
    results = results_of(tmp_path / "apart", apart)
    assert [one["flows"] for one in results.runs[0].metrics["machines"]] == [["a", "c"], ["b"]]


def test_programs_of_two_kernels_say_which_theirs_is(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        f"""
        duration = "1s"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = {{ limit = "100p" }}
        [[flow]]
        name = "old"
        kernel = "{OLD}"
        command = ["uname", "-r"]
        [[flow]]
        name = "new"
        command = ["uname", "-r"]
        """,
    )
    trace = results.runs[0].trace
    assert trace.text("old.stdout").startswith("6.1.")
    assert trace.text("new.stdout").startswith("6.12.")


def test_a_probe_alone_is_on_the_kernel_of_the_study(tmp_path: Path) -> None:
    study = f"""
        duration = "1s"
        kernel = "{OLD}"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = {{ limit = "100p" }}
        [[probe]]
        name = "p"
        kind = "ping"
        interval = "100ms"
        """
    flow = f'[[flow]]\nname = "a"\nkernel = "{NEW}"\n'
    assert machines(results_of(tmp_path / "alone", study)) == {OLD: []}
    beside = results_of(tmp_path / "beside", study + flow)
    assert machines(beside) == {OLD: [], NEW: ["a"]}
    (probe,) = beside.runs[0].metrics["probes"]
    assert probe["sent"] == 10


def written(folder: Path, study: str = TRANSFERS) -> Path:
    """The study file of `study` on backend linux."""
    file = folder / "study.toml"
    file.write_text('backend = "linux"\n' + study)
    return file


LONG = ["--set", "flow.a.transfer=20GB", "--set", "flow.b.transfer=20GB"]
"""Transfers that take longer than a test waits for them."""


@pytest.mark.parametrize("killed", [OLD, NEW])
def test_a_guest_of_several_that_is_killed_is_told_with_its_kernel(
    tmp_path: Path, killed: str
) -> None:
    out = tmp_path / "out"
    child = start("run", written(tmp_path), "--out", out, *LONG, cwd=tmp_path)
    await_that(lambda: len(records_of_runs(out)) == 2, "both guests")
    found = cclab.kernel.installed(killed)
    assert found is not None
    guests = [
        process
        for process in processes_in(out)
        if Path(f"/proc/{process}/cmdline").read_bytes().startswith(bytes(found.path))
    ]
    os.kill(guests[0], signal.SIGKILL)
    _, complaint = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == RUN_FAILED, complaint
    assert f"the guest of kernel {killed} ended with signal: 9 (SIGKILL) at " in complaint
    assert "Traceback" not in complaint
    assert_nothing_is_left(out)


def test_no_guest_of_several_outlives_its_parent(tmp_path: Path) -> None:
    out = tmp_path / "out"
    child = start("run", written(tmp_path), "--out", out, *LONG, cwd=tmp_path)
    await_that(lambda: len(records_of_runs(out)) == 2, "both guests")
    child.kill()
    child.communicate(timeout=PATIENCE_S)
    await_that(lambda: not processes_in(out), "the end of the guests")


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        pytest.param(
            'transfer = "1kB"\nsysctl = { "net.ipv4.tcp_no_such_thing" = 1 }',
            ["the guest of kernel 6.1: ", "net.ipv4.tcp_no_such_thing", "No such file"],
            id="a setting that does not exist",
        ),
        pytest.param(
            'command = ["sh", "-c", "echo heard; exit 7"]',
            ["the guest of kernel 6.1: ", "program of flow d", "exit status: 7", "heard"],
            id="a program that fails",
        ),
        pytest.param(
            'command = ["sh", "-c", "while :; do :; done"]',
            ["the guest of kernel 6.1 stopped moving", "for 3s of real time"],
            id="a program that never sleeps",
        ),
    ],
)
def test_what_one_of_several_kernels_refuses_is_told_with_its_name(
    cli: Cli, tmp_path: Path, flow: str, words: list[str]
) -> None:
    out = tmp_path / "out"
    study = TRANSFERS.replace("[trace]", f'[[flow]]\nname = "d"\nkernel = "{OLD}"\n{flow}\n[trace]')
    told = cli("run", written(tmp_path, study), "--out", out, CCLAB_STALL_S="3")
    assert told.returncode == RUN_FAILED, told.stderr
    assert "Traceback" not in told.stderr
    for word in words:
        assert word in told.stderr
    assert_nothing_is_left(out)


def test_a_kernel_that_is_not_built_is_told_with_its_place(cli: Cli, tmp_path: Path) -> None:
    named = TRANSFERS.replace(f'kernel = "{OLD}"', 'kernel = "5.10"')
    file = written(tmp_path, named)
    line = file.read_text().splitlines().index('kernel = "5.10"') + 1
    told = cli("run", file)
    assert told.returncode == WRONG_INPUT
    assert f"study.toml:{line}:10: the kernel 5.10 is not built" in told.stderr
    assert "cclab kernel build --name 5.10" in told.stderr
    swept = cli("run", written(tmp_path, TRANSFERS + '[sweep]\nkernel = ["6.12", "mine"]\n'))
    assert swept.returncode == WRONG_INPUT
    assert "the kernel mine is not built" in swept.stderr
    assert "study.toml:" in swept.stderr
    replaced = cli("run", written(tmp_path), "--set", "flow.c.kernel=mine")
    assert replaced.returncode == WRONG_INPUT
    assert "the kernel mine is not built" in replaced.stderr
    assert not (tmp_path / "results").exists()


def test_a_name_that_no_kernel_can_have_is_refused(cli: Cli, tmp_path: Path) -> None:
    file = written(tmp_path, TRANSFERS.replace(f'kernel = "{OLD}"', 'kernel = "../6.1"'))
    told = cli("run", file)
    assert told.returncode == WRONG_INPUT
    assert '"../6.1" cannot be the name of a kernel' in told.stderr
    number = cli("run", written(tmp_path, TRANSFERS.replace(f'"{OLD}"', OLD)))
    assert number.returncode == WRONG_INPUT
    assert "study.toml:" in number.stderr


def test_two_kernels_in_one_guest_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path, TRANSFERS)
    plan = cclab.Study.load(file).plan(set=['network.by="kernel"'])
    with pytest.raises(InputError, match=r"flow\.a\.kernel: the kernel 6\.1, beside another"):
        sweep.check(plan)
    # All flows on one kernel that is not the default one are fine.
    one = ['network.by="kernel"', *(f'flow.{name}.kernel="6.1"' for name in "abc")]
    assert sweep.check(cclab.Study.load(file).plan(set=one)).name == "linux"


def test_a_kernel_of_ones_own_with_a_network_of_its_own(tmp_path: Path) -> None:
    study = TRANSFERS.replace(f'kernel = "{NEW}"\n', "").replace(f'kernel = "{OLD}"\n', "")
    study = study.replace("[network.", '[network]\nby = "kernel"\n[network.', 1)
    results = results_of(tmp_path, f'kernel = "{OLD}"\n' + study)
    assert machines(results) == {OLD: ["a", "b", "c"]}


def test_a_host_has_its_own_kernel_and_no_other(tmp_path: Path) -> None:
    file = written(tmp_path, f'kernel = "{OLD}"\n' + TRANSFERS)
    plan = cclab.Study.load(file).plan(backend="netns")
    with pytest.raises(InputError) as told:
        sweep.check(plan)
    for asked in ("kernel: the kernel 6.1", "flow.b.kernel: the kernel 6.12"):
        assert f"{asked}, whose hosts have the kernel of this machine" in str(told.value)


def test_a_simulation_of_named_kernels_says_that_none_is_modelled(tmp_path: Path) -> None:
    file = written(tmp_path)
    results = cclab.run(file, backend="sim", out=tmp_path / "store")
    (warning,) = [w for w in results.warnings if w.code == "kernel-not-modelled"]
    assert f"nothing is of {OLD}" in warning.message
    assert cclab.run(file, out=tmp_path / "linux").runs[0].metrics["machines"]


def test_every_run_of_a_sweep_over_kernels_is_on_its_own(cli: Cli, tmp_path: Path) -> None:
    sweep = f'[sweep]\nkernel = ["{OLD}", "{NEW}"]\n"flow.a.kernel" = ["{OLD}", "{NEW}"]\n'
    study = TRANSFERS.replace(f'kernel = "{NEW}"\n', "").replace(f'kernel = "{OLD}"\n', "")
    told = cli("run", written(tmp_path, study + sweep), "--json", "--out", tmp_path / "out")
    assert told.returncode == DONE, told.stderr
    found = [
        (run["params"]["kernel"], run["params"]["flow.a.kernel"], machine["kernel"], flow)
        for run in json.loads(told.stdout)["runs"]
        for machine in run["machines"]
        for flow in machine["flows"]
    ]
    assert len(found) == 12
    assert all(kernel == (own if flow == "a" else study) for study, own, kernel, flow in found)


def test_the_table_of_flows_has_the_kernel_of_each(transfers: Results, tmp_path: Path) -> None:
    shown = flow_table.table(transfers)
    column = shown.headings.index("kernel")
    (rows,) = shown.groups
    assert [row[column] for row in rows] == [OLD, NEW, NEW]
    assert len(shown.numeric) == len(shown.headings) == len(rows[0])
    study = TRANSFERS.replace(f'kernel = "{OLD}"\n', "")
    assert "kernel" not in flow_table.table(results_of(tmp_path, study)).headings


def test_the_table_of_a_run_wholly_on_another_kernel_says_so(tmp_path: Path) -> None:
    study = plain(tmp_path).read_text()
    shown = flow_table.table(results_of(tmp_path, f'kernel = "{OLD}"\n{study}'))
    column = shown.headings.index("kernel")
    assert {row[column] for row in shown.groups[0]} == {OLD}


def test_the_table_of_a_sweep_over_kernels_has_one_column_of_them(tmp_path: Path) -> None:
    study = plain(tmp_path, f'[sweep]\nkernel = ["{OLD}", "{NEW}"]\n').read_text()
    shown = flow_table.table(results_of(tmp_path, study))
    assert [name for name in shown.headings if "kernel" in name] == ["kernel"]


def plain(folder: Path, extra: str = "") -> Path:
    """A study that names no kernel, with short flows, and with `extra`."""
    study = TRANSFERS.replace(f'kernel = "{NEW}"\n', "").replace(f'kernel = "{OLD}"\n', "")
    file = folder / "study.toml"
    file.write_text(study + extra)
    return file


def test_a_study_is_compared_on_two_kernels(cli: Cli, tmp_path: Path) -> None:
    told = cli("compare", OLD, NEW, "--study", plain(tmp_path), "--repeat", "2", "--json")
    assert told.returncode == DONE, told.stderr
    document = json.loads(told.stdout)
    assert document["compared"] == "kernels"
    (point,) = document["points"]
    assert point["changes"] == [{"key": "kernel", "a": OLD, "b": NEW}]
    assert not [w for w in document["warnings"] if w["code"] == "differs-elsewhere"]
    for name in (OLD, NEW):
        (folder,) = (tmp_path / "results").glob(f"*.{name}")
        results = cclab.load(folder)
        assert machines(results) == {name: ["a", "b", "c"]}


def test_no_run_is_compared_with_itself_where_a_study_sweeps_its_kernels(tmp_path: Path) -> None:
    swept = plain(tmp_path, f'[sweep]\n"flow.a.kernel" = ["{OLD}", "{NEW}"]\n')
    pair = sides.plan_pair(OLD, NEW, swept, flows=["a"], repeat=2)
    assert pair.meant == ["flow.a.kernel", "flow.a.*.kernel"]
    for side in (pair.a, pair.b):
        assert len(side.plan.points) == 1
        used = _core.kernels(json.dumps(side.plan.points[0].scenario))
        assert used == [side.label, None]
    assert not {run.id for run in pair.a.plan.runs} & {run.id for run in pair.b.plan.runs}
    # All of them: what flows have of their own, and the sweep of it, falls away.
    pair = sides.plan_pair(OLD, NEW, swept, repeat=2)
    for side in (pair.a, pair.b):
        assert len(side.plan.points) == 1
        assert _core.kernels(json.dumps(side.plan.points[0].scenario)) == [side.label]


def test_what_are_no_two_kernels_is_refused(tmp_path: Path) -> None:
    study = plain(tmp_path)
    for a, b, told in (
        (OLD, "cubic", "or two kernels"),
        (OLD, "linux", "or two kernels"),
        (OLD, "5.10", "the kernel 5.10 is not built"),
    ):
        with pytest.raises(InputError, match=told):
            sides.plan_pair(a, b, study)
    with pytest.raises(InputError, match="kernels are compared on backend linux"):
        sides.plan_pair(OLD, NEW, study, backend="sim")


def test_no_flow_is_sampled_twice_at_one_instant(tmp_path: Path) -> None:
    """What is kept for a first end that comes just after a sample is of that sample's instant."""
    study = f"""
        duration = "2s"
        {FAR}
        [[flow]]
        name = "a"
        cc = "reno"
        transfer = "2MB"
        kernel = "{OLD}"
        start = "START"
        [[flow]]
        name = "b"
        cc = "reno"
        start = "START"
        [trace]
        interval = "100ms"
        """
    first = flows(results_of(tmp_path / "at-once", study.replace("START", "0s")))["a"]["ended_s"]
    late = round((0.102 - first % 0.1) * 1e9)
    results = results_of(tmp_path / "later", study.replace("START", f"{late}ns"))
    assert 0 < flows(results)["a"]["ended_s"] % 0.1 < 5e-3
    samples = results.samples(0, "flow_samples")
    assert samples.select("time_s", "flow").is_duplicated().sum() == 0
