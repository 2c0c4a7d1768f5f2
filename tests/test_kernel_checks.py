"""What `cclab kernel test` makes of what a kernel does; the kernel itself is not booted here."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cclab.cli.exits import DONE, RUN_FAILED
from cclab.cli.main import invoke
from cclab.errors import RunError
from cclab.execute.backends.host import VARIANTS
from cclab.kernel.cache import Kernel
from cclab.verification.kernels import checks

if TYPE_CHECKING:
    from cclab.plan.study import Study

MADE = Kernel(Path("/a/linux"), "key", "6.12.117", "sha", "6.12")
PING = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=62 time={0} ms
64 bytes from 10.0.0.2: icmp_seq=2 ttl=62 time={0} ms
64 bytes from 10.0.0.2: icmp_seq=3 ttl=62 time={1} ms
"""


def answering(monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[Study]:
    """Has runs give what a sound kernel gives, or what is given; gives the studies that ran."""
    answers = {
        "boot": "6.12.117",
        "ping": PING.format("50.0", "50.0"),
        "transfer": 47.1e6,
        "own-network": 46.9e6,
        "variants": " ".join(VARIANTS),
        **given,
    }
    studies = []

    def run(study: Study, *, out: Path, backend: str, jobs: int) -> object:
        assert os.environ["CCLAB_KERNEL"] == str(MADE.path)
        studies.append(study)
        # The study has to be one that the backend takes.
        assert study.plan(backend=backend).unsupported == []
        answer = answers[study.name]
        if isinstance(answer, Exception):
            raise answer
        out.mkdir()
        if isinstance(answer, str):
            printed, answer = answer, None
        else:
            printed = ""
        flow = {"goodput_bps": answer}
        trace = SimpleNamespace(text={f"{study.name}.stdout": f"{printed}\n"}.__getitem__)
        return SimpleNamespace(runs=[SimpleNamespace(trace=trace, metrics={"flows": [flow]})])

    monkeypatch.setattr("cclab.verification.kernels.run", run)
    return studies


def test_a_sound_kernel_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    studies = answering(monkeypatch)
    done = list(checks(MADE))
    assert [check.name for check in done] == ["boot", "ping", "transfer", "own network", "variants"]
    assert all(check.ok for check in done)
    assert [check.found for check in done] == [
        "Linux 6.12.117",
        "50.0, 50.0, 50.0 ms",
        "47.10 Mbit/s",
        "46.90 Mbit/s",
        "all 17",
    ]
    assert len(studies) == 5
    scenarios = [study.plan(backend="linux").runs[0].scenario for study in studies]
    assert [one["network"]["by"] for one in scenarios].count("simulator") == 4
    assert scenarios[3]["network"]["by"] == "kernel"


@pytest.mark.parametrize(
    ("name", "answer", "found"),
    [
        ("ping", PING.format("50.0", "50.1"), "50.0, 50.0, 50.1 ms"),
        ("ping", "ping: connect: Network is unreachable", "ping: connect: Network is unreachable"),
        ("ping", "", "no answer"),
        ("transfer", 45.0e6, "45.00 Mbit/s"),
        ("transfer", 50.5e6, "50.50 Mbit/s"),
        ("transfer", None, "nothing arrived"),
        ("transfer", RunError("the guest stopped"), "the guest stopped"),
        ("variants", " ".join(VARIANTS[:-2]), f"not there: {', '.join(VARIANTS[-2:])}"),
    ],
)
def test_what_is_off_is_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, answer: object, found: str
) -> None:
    answering(monkeypatch, **{name: answer})
    done = {check.name: check for check in checks(MADE)}
    assert [check.name for check in done.values() if not check.ok] == [name]
    assert done[name].found == found


def test_without_a_boot_nothing_else_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    studies = answering(monkeypatch, boot=RunError("ptrace is refused"))
    (only,) = checks(MADE)
    assert not only.ok
    assert only.found == "ptrace is refused"
    assert len(studies) == 1


def test_the_table_and_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cclab.kernel.installed", lambda _=None: MADE)
    answering(monkeypatch)
    assert invoke(["kernel", "test"]) == DONE
    told = capsys.readouterr()
    assert "50.0, 50.0, 50.0 ms" in told.out
    assert "FAILED" not in told.out
    answering(monkeypatch, ping="")
    assert invoke(["kernel", "test"]) == RUN_FAILED
    told = capsys.readouterr()
    assert "FAILED" in told.out
    assert told.err.endswith("error: the kernel does not do what it should: ping\n")
