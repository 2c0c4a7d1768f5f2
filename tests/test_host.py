"""What this machine can do for the kernel backends, and what `doctor` says when it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cclab.cli.checks import Check, netns
from cclab.cli.exits import DONE, WRONG_INPUT
from cclab.cli.main import invoke
from cclab.execute.backends import host
from cclab.execute.backends.host import PARTS, QDISCS, VARIANTS, Host, Lack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def settings(**given: str) -> Callable[[str], str]:
    """A host with these kernel settings and no others."""
    named = {name.replace("__", "/"): value for name, value in given.items()}
    return lambda name: named.get(name, "")


def test_whatever_is_not_there_has_a_reason_and_a_remedy() -> None:
    found = Host.probe()
    for name in QDISCS:
        assert (name in found.qdiscs) != (found.qdisc(name) is not None)
    privileged = found.privilege is not None
    assert set(PARTS) == {"ifb", "clsact", "u32", "matchall", "mirred"}
    for name in PARTS:
        assert found.part(name) is not None or privileged
    for name in VARIANTS:
        assert (name in found.variants) != (found.variant(name) is not None)
    assert all(lack.what and lack.remedy for lack in found.lacks.values())
    assert (found.privilege is None) == (found.unprivileged is not None)
    if found.privilege is None:
        assert not found.qdiscs
    assert "reno" in found.variants
    assert Host.probe() is found


def test_a_qdisc_that_tc_refuses_is_missing_and_those_after_it_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tc = tmp_path / "tc"
    tc.write_text(
        "#!/bin/sh\n"
        'case "$*" in *" add "*\\ netem\\ *)\n'
        '  echo "Error: Specified qdisc kind is unknown."; exit 2;;\nesac\n'
    )
    tc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setitem(host._ENTER, "root", ["env"])
    trials = host._qdisc_trials("root")
    assert trials.pop("netem") == "Specified qdisc kind is unknown"
    assert trials == dict.fromkeys(trials)
    assert set(trials) | {"netem"} == set(QDISCS)


def test_a_part_that_is_refused_is_missing_with_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program, word, said in (
        ("tc", "matchall", "TC classifier not found."),
        ("ip", "ifb", "Unknown device type."),
    ):
        file = tmp_path / program
        file.write_text(
            f'#!/bin/sh\ncase "$*" in *" {word}"*) echo "Error: {said}"\n'
            'echo "We have an error talking to the kernel"; exit 2;;\nesac\n'
        )
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setitem(host._ENTER, "root", ["env"])
    trials = host._part_trials("root")
    assert trials == {
        **dict.fromkeys(PARTS),
        "ifb": "Unknown device type",
        "matchall": "TC classifier not found",
    }
    monkeypatch.setattr(host, "_is_module", lambda _: False)
    lack = host._lacking("TC classifier not found", "part matchall", "root")
    assert lack.remedy == "a kernel with CONFIG_NET_CLS_MATCHALL, or --backend linux"
    lacks = {"part matchall": lack}
    found = Host("root", None, frozenset(QDISCS), frozenset(VARIANTS), lacks, None)
    monkeypatch.setattr(host, "_probed", lambda: found)
    shown = [(check.ok, check.found) for check in netns() if check.name == "netns: redirection"]
    assert shown == [
        (True, "ifb clsact u32 mirred"),
        (False, "matchall: TC classifier not found"),
    ]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (
            {"kernel__apparmor_restrict_unprivileged_userns": "1"},
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ({"kernel__unprivileged_userns_clone": "0"}, "sysctl kernel.unprivileged_userns_clone=1"),
        ({"user__max_user_namespaces": "0"}, "sysctl user.max_user_namespaces="),
        ({"user__max_user_namespaces": "9000"}, "run as root"),
    ],
)
def test_the_switch_that_forbids_namespaces_is_named(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], remedy: str
) -> None:
    monkeypatch.setattr(host, "_setting", settings(**given))
    monkeypatch.setattr(host, "_try", lambda _: "unshare: Operation not permitted")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    way, lack = host._privilege()
    assert way is None
    assert lack is not None
    assert lack.what == "refused: unshare: Operation not permitted"
    assert remedy in lack.remedy


@pytest.mark.parametrize(
    ("scope", "remedy"),
    [("2", "sysctl kernel.yama.ptrace_scope=1"), ("3", "restart"), ("1", "--cap-add SYS_PTRACE")],
)
def test_refused_tracing_has_the_remedy_of_its_cause(
    monkeypatch: pytest.MonkeyPatch, scope: str, remedy: str
) -> None:
    monkeypatch.setattr(host, "_setting", settings(kernel__yama__ptrace_scope=scope))
    monkeypatch.setattr(host, "_try", lambda _: "Operation not permitted")
    lack = host.ptrace()
    assert lack is not None
    assert remedy in lack.remedy


FILTERED = """
import ctypes, os, struct, sys

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
PERSONALITY, ALLOW, REFUSE = 135, 0x7FFF0000, 0x00050001
rules = [
    (LOAD, 0, 0, 0), (EQUAL, 0, 6, PERSONALITY), (LOAD, 0, 0, 16),
    (EQUAL, 4, 0, 0), (EQUAL, 3, 0, 8), (EQUAL, 2, 0, 0x20000), (EQUAL, 1, 0, 0xFFFFFFFF),
    (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))

class Filter(ctypes.Structure):
    _fields_ = [("rules", ctypes.c_ushort), ("code", ctypes.c_void_p)]

libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(rules), ctypes.addressof(code)))) == 0
os.execv(sys.executable, [sys.executable, "-m", "cclab", *sys.argv[1:]])
"""
"""cclab where personality(2) is refused but for what Docker allows by default."""


def test_where_addresses_cannot_be_kept_a_run_and_doctor_say_so(
    tmp_path: Path, kernel: object
) -> None:
    """A seccomp filter as Docker's default one: each run failed, and doctor found nothing wrong."""
    del kernel
    study = tmp_path / "study.toml"
    study.write_text(
        'backend = "linux"\nduration = "1s"\n[network.bottleneck]\nrate = "1Mbit"\n'
        'delay = "5ms"\nqueue = { limit = "100p" }\n[[flow]]\nname = "a"\n'
    )

    def filtered(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", FILTERED, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    run = filtered("run", study)
    assert run.returncode == WRONG_INPUT
    assert "personality is refused (Operation not permitted): a seccomp filter" in run.stderr
    assert "--security-opt seccomp=unconfined" in run.stderr
    assert not (tmp_path / "results").exists()
    told = json.loads(filtered("doctor", "--json").stdout)
    (check,) = [one for one in told["checks"] if one["name"] == "linux: personality"]
    assert check["remedy"].startswith("in a container: --security-opt seccomp=unconfined")


def test_memory_of_guests(tmp_path: Path) -> None:
    assert host.shared_memory(tmp_path, need=1) is None
    full = host.shared_memory(tmp_path, need=1 << 62)
    assert full is not None
    assert "--shm-size" in full.remedy
    gone = host.shared_memory(tmp_path / "nowhere")
    assert gone is not None
    assert gone.what.endswith("No such file or directory")


def test_modules_that_only_have_to_be_loaded_are_loaded_by_one_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacks = {
        f"qdisc {name}": Lack("unknown", f"as root: modprobe sch_{name}", f"sch_{name}")
        for name in ("red", "pie")
    }
    lacks["qdisc cake"] = Lack("unknown", "a kernel with it")
    there = frozenset(name for name in QDISCS if f"qdisc {name}" not in lacks)
    found = Host("user namespace", None, there, frozenset(VARIANTS), lacks, None)
    monkeypatch.setattr(host, "_probed", lambda: found)
    said = [check for check in netns() if check.name == "netns: qdiscs"]
    assert [check.ok for check in said] == [True, False, False]
    assert (
        Check(
            "netns: qdiscs",
            False,
            False,
            "red pie: unknown",
            "as root: modprobe -a sch_red sch_pie",
        )
        in said
    )
    assert said[0].found.split() == [name for name in QDISCS if name in there]


def test_doctor_names_the_command_that_builds_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CCLAB_KERNEL", raising=False)
    monkeypatch.chdir(tmp_path)
    assert invoke(["doctor", "--json"]) == DONE
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["linux: kernel"]["remedy"] == "cclab kernel build"
    assert not any(check["needed"] for name, check in checks.items() if ":" in name)
    monkeypatch.setenv("CCLAB_KERNEL", str(tmp_path / "nowhere"))
    assert invoke(["doctor"]) == DONE
    assert "nowhere: no such file" in capsys.readouterr().out
