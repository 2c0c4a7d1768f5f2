"""Variants in C files: in the guest's kernel, beside those that it has."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab import kernel
from cclab.cli.exits import RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.errors import InputError
from cclab.kernel import modules, tree
from cclab.sweep import RunsFailedError
from guests import LINK, results_of

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results

pytestmark = pytest.mark.usefixtures("kernel")

MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>

static int when = 20;
module_param(when, int, 0644);

struct plain { u32 acks; };

static void plain_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct plain *plain = inet_csk_ca(sk);

	if (++plain->acks > when)
		EACH
	tcp_reno_cong_avoid(sk, ack, acked);
}

static struct tcp_congestion_ops plain = {
	.name = "plain",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = plain_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init plain_register(void)
{
	return tcp_register_congestion_control(&plain);
}
module_init(plain_register);
MODULE_LICENSE("GPL");
"""
"""Reno, which does something more at EACH acknowledgement after some."""


@pytest.fixture(scope="session")
def distributed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules of the distribution's kernel: those files of net/ipv4 that register a variant."""
    folder = tmp_path_factory.mktemp("modules")
    tar = ["tar", "-xf", str(kernel.debian("6.12")), "-C", str(folder)]
    tar += ["--strip-components=3", "--wildcards"]
    subprocess.run([*tar, "*/net/ipv4/tcp_*.c", "*/net/ipv4/tcp_*.h"], check=True)
    for file in folder.glob("*.c"):
        registers = "tcp_register_congestion_control(&" in file.read_text()
        if not registers or file.name == "tcp_cong.c":
            file.unlink()
    return folder


def swept(*variants: str, more: str = "") -> str:
    """A study of a flow that has each of `variants` in turn."""
    return f"""
duration = "3s"
{LINK}
[[flow]]
name = "a"
start = "0s"
{more}
[trace]
events = ["ack"]
[sweep]
"flow.a.cc" = {json.dumps(variants)}
"""


def traces(results: Results) -> list[dict[str, bytes]]:
    """What was recorded in each run, but for what has the variant's name in it."""
    return [
        {
            name: run.trace.bytes(name)
            for name in run.trace.names()
            if name.endswith(".parquet") and ("_" in name or name == "acks.parquet")
        }
        for run in results.runs
    ]


def test_a_copy_of_a_module_does_what_the_kernels_own_does(
    tmp_path: Path, distributed: Path
) -> None:
    vegas = (distributed / "tcp_vegas.c").read_text()
    shutil.copy(distributed / "tcp_vegas.h", tmp_path)
    (tmp_path / "tcp_renamed.c").write_text(vegas.replace('"vegas"', '"renamed"'))
    shutil.copy(distributed / "tcp_vegas.c", tmp_path)
    other = vegas.replace("static int alpha = 2;", "static int alpha = 12;")
    other = other.replace("static int beta  = 4;", "static int beta  = 14;")
    assert other.count("= 12;") == other.count("= 14;") == 1
    (tmp_path / "tcp_other.c").write_text(other.replace('"vegas"', '"other"'))
    names = ("vegas", "./tcp_renamed.c", "./tcp_vegas.c", "./tcp_other.c")
    results = results_of(tmp_path, swept(*names))
    in_force = [row["cc_in_force"] for row in results.flows.to_dicts()]
    assert in_force == ["vegas", "renamed", "./tcp_vegas.c", "other"]
    own, renamed, copied, changed = traces(results)
    assert renamed == own
    assert copied == own
    assert changed["acks.parquet"] != own["acks.parquet"]
    # A parameter is a constant that need not be written into the file.
    more = "cc_params = { alpha = 12, beta = 14 }"
    (given,) = traces(results_of(tmp_path / "given", swept("../tcp_renamed.c", more=more)))
    assert given == changed


def test_every_module_of_the_distribution_runs_and_one_kernel_has_them_all(
    tmp_path: Path, distributed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[set[str]] = []
    link = modules._link

    def linked(wanted: list[kernel.Module], *rest: object) -> Path:
        made.append({module.file for module in wanted})
        return link(wanted, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(modules, "_link", linked)
    files = sorted(file.name for file in distributed.glob("*.c"))
    assert len(files) == 16
    shutil.copytree(distributed, tmp_path / "in")
    # Of another content: no kernel that was made before has them.
    mark = secrets.token_hex(8)
    for file in (tmp_path / "in").glob("*.c"):
        file.write_text(file.read_text() + f"/* {mark} */\n")
    study = swept(*(f"in/{name}" for name in files)).replace('"3s"', '"1s"')
    results = results_of(tmp_path, study)
    assert made == [set(files)]
    rows = results.flows.to_dicts()
    # The kernel has variants of these names: the files are known by their paths.
    assert [row["cc_in_force"] for row in rows] == [f"in/{name}" for name in files]
    assert [row["cc"] for row in rows] == [f"in/{name}" for name in files]
    assert min(row["bytes_received"] for row in rows) > 500_000


def test_a_changed_module_runs_beside_the_kernels_own_and_on_guests_with_other_parameters(
    tmp_path: Path, distributed: Path
) -> None:
    shutil.copy(distributed / "tcp_cubic.c", tmp_path)
    file = 'cc = "./tcp_cubic.c"\ncc_params'
    study = f"""
duration = "3s"
{LINK}
[[flow]]
name = "own"
cc = "cubic"
[[flow]]
name = "a"
{file} = {{ beta = 1000 }}
[[flow]]
name = "b"
KERNEL{file} = {{ beta = 300 }}
"""
    with pytest.raises(InputError, match=r"study.toml:\d+:1: flow.b.cc_params: parameters of"):
        results_of(tmp_path, study.replace("KERNEL", ""))
    # A kernel that goes by two names is two guests where its modules differ.
    results = results_of(tmp_path, study.replace("KERNEL", 'kernel = "6.12"\n'))
    rows = results.flows.to_dicts()
    assert [row["cc_in_force"] for row in rows] == ["cubic", "./tcp_cubic.c", "./tcp_cubic.c"]
    assert rows[1]["bytes_received"] > 1.3 * rows[2]["bytes_received"]


def test_what_the_compiler_says_comes_back_with_the_files_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.c").write_text(MODULE.replace("EACH", "nothing();"))
    (tmp_path / "lacks.c").write_text(
        MODULE.replace("EACH", "lacks_it(sk);").replace(
            "struct plain {", "void lacks_it(struct sock *sk);\nstruct plain {"
        )
    )
    study = tmp_path / "study.toml"
    cases = {"plain.c": "plain.c:14:17: error: implicit declaration of function 'nothing'"}
    cases["lacks.c"] = "lacks.c cannot be linked: the kernel has no lacks_it"
    for name, told in cases.items():
        study.write_text('backend = "linux"\n' + swept(f"./{name}"))
        assert invoke(["run", str(study), "--out", str(tmp_path / "out")]) == WRONG_INPUT
        assert told in capsys.readouterr().err


def test_a_module_that_fails_in_the_guest_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.c").write_text(MODULE.replace("EACH", "*(volatile int *)8 = 1;"))
    study = tmp_path / "study.toml"
    study.write_text('backend = "linux"\n' + swept("./plain.c"))
    assert invoke(["run", str(study), "--out", str(tmp_path / "out")]) == RUN_FAILED
    told = capsys.readouterr().err
    assert "kernel 6.12 with the module plain of plain.c ended" in told
    assert "before the run's end: the module plain of plain.c failed in plain_avoid;" in told
    more = "cc_params = { when = 1000000 }"
    results = results_of(tmp_path, swept("./plain.c", more=more))
    assert results.flows.to_dicts()[0]["cc_in_force"] == "plain"


def test_a_value_that_the_module_refuses_ends_the_run(tmp_path: Path, distributed: Path) -> None:
    shutil.copytree(distributed, tmp_path / "in")
    more = "cc_params = { dctcp_shift_g = 99 }"
    with pytest.raises(RunsFailedError, match=r"`99' invalid for parameter `tcp_dctcp_.*shift_g'"):
        results_of(tmp_path, swept("in/tcp_dctcp.c", more=more))


def test_a_kernel_without_what_modules_are_linked_with_says_how_it_gets_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.c").write_text(MODULE.replace("EACH", f"ack += {len(tmp_path.name)};"))
    monkeypatch.setattr(tree, "TREE", "absent.tar.gz")
    with pytest.raises(InputError, match=r"was built without .* please run: cclab kernel build$"):
        results_of(tmp_path, swept("./plain.c"))
    monkeypatch.setenv("CCLAB_KERNEL", str(kernel.listed()[-1].path))
    with pytest.raises(InputError, match="CCLAB_KERNEL gives a kernel without what its modules"):
        results_of(tmp_path, swept("./plain.c"))


def test_two_variants_are_compared_by_their_files(tmp_path: Path, distributed: Path) -> None:
    shutil.copy(distributed / "tcp_cubic.c", tmp_path)
    (tmp_path / "study.toml").write_text('backend = "linux"\n' + swept("reno"))
    compared = cclab.compare(
        "reno",
        "./tcp_cubic.c",
        study=tmp_path / "study.toml",
        set=["duration=1s", 'sweep.duration=["1s", "2s"]'],
        out=tmp_path / "compared",
    )
    assert sorted(path.name for path in (tmp_path / "compared").iterdir()) == [
        "reno",
        "tcp_cubic.c",
    ]
    assert compared.kind == "variants"


def test_a_file_says_what_it_registers(
    distributed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["list", "variants", str(distributed / "tcp_dctcp.c"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["variants"]
    assert (row["name"], row["backends"]) == ("dctcp", ["sim", "linux"])
    assert row["takes_in"] == ["tcp_dctcp.h"]
    assert [param["name"] for param in row["params"]] == ["dctcp_shift_g", "dctcp_alpha_on_init"]
    assert invoke(["list", "qdiscs", "x.c"]) == WRONG_INPUT
