"""What a refusal names as having what is refused, and what lists say of it: the planner's word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cclab
from cclab import _core, sweep
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.comparison import sides
from cclab.errors import InputError
from cclab.execute.backends import BACKENDS, host
from cclab.plan.changes import changes

KERNELS = """
duration = "2s"
backend = "linux"
[network]
by = "kernel"
[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "100p" }
[[flow]]
name = "a"
kernel = "6.1"
[[flow]]
name = "b"
kernel = "6.12"
"""

GRAPH = """
duration = "2s"
[network]
topology = "graph"
[[network.link]]
from = "a"
to = "b"
rate = "10Mbit"
bottleneck = true
corrupt = "1%"
queue = { kind = "tbf", limit = "100p", rate = "5Mbit", burst = "3kB" }
[[flow]]
from = "a"
to = "b"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "study.toml"
    file.write_text(text)
    return file


def refusal(file: Path, backend: str | None = None) -> str:
    with pytest.raises(InputError) as told:
        sweep.check(cclab.Study.load(file).plan(backend=backend))
    return str(told.value)


def test_a_refused_kernel_is_not_sent_to_the_simulator_which_has_none(tmp_path: Path) -> None:
    file = written(tmp_path, KERNELS)
    told = refusal(file)
    assert "flow.a.kernel" in told
    assert told.count('; network.by = "simulator" has it') == 2
    assert "sim " not in told
    on_host = refusal(file, backend="netns")
    assert on_host.count('; --backend linux with network.by = "simulator" has it') == 2
    file = written(tmp_path, KERNELS.replace('"kernel"', '"simulator"'))
    on_host = refusal(file, backend="netns")
    assert on_host.count("; --backend linux has it") == 2
    # That network is the simulator's own.
    assert on_host.count("; --backend sim or linux has it") == 1


def test_plan_tells_which_keys_the_simulator_takes_no_notice_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, KERNELS)
    assert invoke(["plan", str(file), "--backend", "sim"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("backend sim"))
    assert line.startswith("backend sim: can do all of it, estimated time ")
    assert line.endswith(", but takes no notice of network.by, flow.a.kernel, flow.b.kernel")
    assert invoke(["plan", str(file), "--backend", "sim", "--json"]) == DONE
    told = json.loads(capsys.readouterr().out)["backends"]
    assert told["sim"]["disregarded"] == ["network.by", "flow.a.kernel", "flow.b.kernel"]
    assert told["linux"]["disregarded"] == []


def test_the_list_of_queues_has_what_the_planner_does_not_refuse(tmp_path: Path) -> None:
    listed = {row["name"]: row["backends"] for row in json.loads(_core.qdiscs())}
    for name in ("dualpi2", "tbf", "policer", "random-drop", "red-1990s", "adaptive-red"):
        assert listed[name] == ["sim", "linux"]
    assert listed["droptail"] == ["sim", "linux", "netns"]
    assert listed["cake"] == ['linux with network.by = "kernel"', "netns"]
    own = "".join(line for line in KERNELS.splitlines(True) if not line.startswith("kernel"))
    own = own.replace('by = "kernel"\n', "")
    for name, backends in listed.items():
        rate = {"tbf": ', rate = "5Mbit", burst = "3kB"', "policer": ', rate = "5Mbit"'}
        queue = f'queue = {{ kind = "{name}", limit = "100p"{rate.get(name, "")} }}'
        study = written(tmp_path, own.replace('queue = { limit = "100p" }', queue))
        for backend in BACKENDS:
            plan = cclab.Study.load(study).plan(backend=backend)
            assert (backend in backends) == (not plan.unsupported), (name, backend)


def test_a_host_without_cake_is_sent_to_the_network_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {row["kind"]: row["linux"] for row in json.loads(_core.probes())}
    assert told["cake"] == 'linux with network.by = "kernel"'
    assert {way for kind, way in told.items() if kind != "cake"} == {"linux"}
    monkeypatch.setattr(host, "_is_module", lambda _: False)
    lack = host._lacking("Specified qdisc kind is unknown", "qdisc cake", "root")
    assert lack.remedy.endswith('or --backend linux with network.by = "kernel"')


def test_what_a_link_of_a_graph_asks_for_is_told_at_that_link(tmp_path: Path) -> None:
    file = written(tmp_path, GRAPH)
    told = refusal(file, backend="netns")
    lines = dict(enumerate(GRAPH.splitlines(), start=1))
    at = {key: next(n for n, line in lines.items() if key in line) for key in ("corrupt", "tbf")}
    assert f"study.toml:{at['corrupt']}:11: network.link.a-b.corrupt: " in told
    assert f"study.toml:{at['tbf']}:18: network.link.a-b.queue.kind: queue tbf" in told
    assert "network.bottleneck" not in told


@pytest.fixture
def _no_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CCLAB_KERNEL", raising=False)


@pytest.mark.usefixtures("_no_kernels")
def test_explain_says_that_a_kernel_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = KERNELS.replace('by = "kernel"\n', "").replace("6.12", "5.10")
    file = written(tmp_path, text)
    assert invoke(["explain", str(file)]) == DONE
    told = capsys.readouterr().out
    line = text.splitlines().index('kernel = "5.10"') + 1
    assert f"note: {file}:{line}:10: the kernel 5.10 is not built; please run: cclab kernel" in told
    assert invoke(["explain", str(file), "--json"]) == DONE
    assert len(json.loads(capsys.readouterr().out)["absent"]) == 2
    assert invoke(["explain", str(file), "--set", "backend=sim"]) == DONE
    assert "is not built" not in capsys.readouterr().out


@pytest.mark.usefixtures("_no_kernels")
def test_a_kernel_that_compare_names_is_told_as_it_was_typed(tmp_path: Path) -> None:
    file = written(tmp_path, KERNELS.replace('by = "kernel"\n', ""))
    with pytest.raises(InputError, match=r"^argument 5\.10: the kernel 5\.10 is not built; "):
        sides.plan_pair("5.10", "5.15", file)


def test_two_kernels_are_compared_with_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["compare", "6.1", "6.12"]) == WRONG_INPUT
    assert "(--study STUDY.toml)" in capsys.readouterr().err


def test_a_flow_that_inherits_its_kernel_changes_from_that(tmp_path: Path) -> None:
    text = KERNELS.replace('backend = "linux"', 'kernel = "6.12"')
    study = cclab.Study.load(written(tmp_path, text))
    one, other = (
        study.plan(set=[f'flow.a.kernel="{name}"']).points[0].scenario for name in ("6.1", "6.12")
    )
    assert [str(change) for change in changes(one, other)] == ["flow.a.kernel (6.1 | 6.12)"]
    assert [str(change) for change in changes(other, one)] == ["flow.a.kernel (6.12 | 6.1)"]
