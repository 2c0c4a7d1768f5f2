"""C and Rust files in the simulator: they run, and what they do wrong ends their run alone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.errors import InputError
from cclab.execute.backends import alone
from cclab.sweep import RunsFailedError
from test_python_variants import RENO, RUST, STEPS, ran, traces, written

if TYPE_CHECKING:
    from pathlib import Path

C = """\
#include <linux/module.h>
#include <net/tcp.h>

static int divisor __read_mostly = 2;
module_param(divisor, int, 0644);

static u32 own_ssthresh(struct sock *sk)
{
	BODY
	return max(tcp_snd_cwnd(tcp_sk(sk)) / divisor, 2U);
}

static struct tcp_congestion_ops own __read_mostly = {
	.ssthresh = own_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = tcp_reno_cong_avoid,
	.owner = THIS_MODULE,
	.name = "own",
};

static int __init own_register(void)
{
	return tcp_register_congestion_control(&own);
}

static void __exit own_unregister(void)
{
	tcp_unregister_congestion_control(&own);
}

module_init(own_register);
module_exit(own_unregister);
MODULE_LICENSE("GPL");
"""


def beside(folder: Path, name: str, text: str) -> str:
    """The path of a file in the folder of a study."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return f"./{name}"


def test_reno_in_each_language_is_the_same_run(tmp_path: Path) -> None:
    classes = ran(tmp_path / "classes", "./reno.py:Reno", reno=RENO, steps=STEPS)
    for name, text in (("own.c", C.replace("BODY", "")), ("own.rs", RUST)):
        folder = tmp_path / name
        assert traces(ran(folder, beside(folder, name, text))) == traces(classes), name


def test_a_parameter_of_a_module_is_set_for_the_flows_that_ask(tmp_path: Path) -> None:
    cc = beside(tmp_path, "own.c", C.replace("BODY", ""))
    file = written(tmp_path, cc, duration="20s", more="cc_params = { divisor = 5 }")
    second = f'[[flow]]\nname = "b"\ncc = "{cc}"\n[trace]'
    file.write_text(file.read_text().replace("[trace]", second))
    rows = cclab.run(file, out=tmp_path / "out").flows.to_dicts()
    assert rows[1]["goodput_bps"] > 1.3 * rows[0]["goodput_bps"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("*(volatile int *)0 = 1;", r"own\.c:9: ssthresh: it reads or writes memory"),
        ("divisor = 0;", r"own\.c:\d+: ssthresh: .*divi"),
        ("for (;;) barrier();", r"own\.c:9: ssthresh: it does not come back$"),
        (
            "extern unsigned sleep(unsigned s); sleep(600);",
            r"own\.c: ssthresh: it does not come back within 2 s$",
        ),
        ("extern void exit(int code); exit(0);", r"own\.c: ssthresh: it ends its process$"),
        ("extern void _exit(int code); _exit(0);", r"own\.c: its process ended with exit code 0$"),
    ],
)
def test_a_module_that_does_what_it_must_not_ends_its_run(
    tmp_path: Path, body: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "HOOK_S", 1.0)
    if "sleep" in body:
        monkeypatch.setattr(alone, "PATIENCE", 2)
    cc = beside(tmp_path, "own.c", C.replace("BODY", body))
    file = written(tmp_path, cc)
    file.write_text(file.read_text() + f'[sweep]\n"flow.a.cc" = {json.dumps([cc, "cubic"])}\n')
    with pytest.raises(RunsFailedError) as raised:
        cclab.run(file, out=tmp_path / "out")
    ((_, why),) = raised.value.failed
    assert cclab.load(tmp_path / "out").flows["cc"].to_list() == ["cubic"]
    assert re.match(told, why), why


def test_the_send_buffer_holds_as_many_windows_as_the_file_says(tmp_path: Path) -> None:
    """Two, where it does not say."""
    says = "static u32 own_expand(struct sock *sk) { return WINDOWS; }\n\nstatic struct tcp_cong"
    ops = C.replace("static struct tcp_cong", says).replace(
        '\t.name = "own",', '\t.name = "own",\n\t.sndbuf_expand = own_expand,'
    )

    def recorded(name: str, text: str) -> dict[str, bytes]:
        cc = beside(tmp_path / name, "own.c", text.replace("BODY", ""))
        return traces(ran(tmp_path / name, cc))

    without = recorded("without", C)
    assert recorded("two", ops.replace("WINDOWS", "2")) == without
    assert recorded("four", ops.replace("WINDOWS", "4")) != without


@pytest.mark.parametrize("hook", ["sndbuf_expand", "min_tso_segs"])
def test_a_file_that_asks_for_nothing_still_sends(tmp_path: Path, hook: str) -> None:
    says = "static u32 nothing(struct sock *sk) { return 0; }\n\nstatic struct tcp_cong"
    ops = C.replace("static struct tcp_cong", says).replace(
        '\t.name = "own",', f'\t.name = "own",\n\t.{hook} = nothing,'
    )
    results = ran(tmp_path, beside(tmp_path, "own.c", ops.replace("BODY", "")))
    assert results.flows["goodput_bps"][0] > 1e6


@pytest.mark.parametrize("name", ["own.c", "own.rs"])
def test_a_process_that_a_file_forks_is_no_second_run(tmp_path: Path, name: str) -> None:
    """It ends where it began; what another program does is its own affair."""
    forks = {
        "own.c": ("\tBODY\n", "\textern int fork(void); fork();\n", C),
        "own.rs": (
            "fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {",
            "fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {\n        unsafe { fork() };\n"
            '        std::process::Command::new("true").status().unwrap();',
            RUST + 'unsafe extern "C" { fn fork() -> i32; }\n',
        ),
    }
    here, there, text = forks[name]
    assert here in text
    calm = tmp_path / "calm"
    forked = tmp_path / "forked"
    plain = traces(ran(calm, beside(calm, name, text.replace("BODY", ""))))
    assert traces(ran(forked, beside(forked, name, text.replace(here, there)))) == plain


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("own.c", C.replace("BODY", "nothing();"), r"^own.c:9:9: "),
        ("own.rs", RUST.replace("fn cong_avoid", "fn cong_avid"), r"own.rs:\d+:\d+: "),
    ],
)
def test_a_file_that_does_not_compile_is_refused_before_any_run(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        ran(tmp_path, beside(tmp_path, name, text))
    assert not (tmp_path / "out").exists()
