"""`cclab verify`: traces and captures of the same runs agree, and what was changed is found."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import polars as pl
import pytest

import cclab
from cclab.cli.exits import DONE, EXPECTATION_FAILED, RUN_FAILED, WRONG_INPUT
from cclab.execute.backends.host import Host
from cclab.store import Store
from cclab.verification import NEITHER, conditions
from cclab.verification.declared import Condition
from cclab.verification.numbers import NUMBERS
from cclab.verification.sides import INCOMPLETE
from cclab.verification.whole import ACROSS, Because
from conftest import ROOT, flip, forge, only_trace
from guests import results_of
from lossy import study_of_two

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Verified
    from conftest import Cli

BACK = """
[[flow]]
name      = "back"
cc        = "reno"
rtt       = "40ms"
start     = "300ms"
transfer  = "500kB"
direction = "reverse"
"""
POINTS = (
    "bottleneck",
    *(f"{flow}.{end}" for flow in ("short", "back", "long") for end in ("sender", "receiver")),
)
STUDY = f"""
warmup = "500ms"
{study_of_two(POINTS, others=BACK)}
events = ["ack", "queue", "drop"]
"""

CLEAN = """
duration = "3s"
warmup   = "1s"

[network.bottleneck]
rate  = "20Mbit"
delay = "5ms"
queue = { kind = "codel", limit = "1000p", ecn = true }

[[flow]]
name = "marked"
rtt  = "30ms"
ecn  = true

[[flow]]
name = "narrow"
rtt  = "60ms"
rwnd = "30kB"

[[flow]]
name = "lazy"
rtt  = "40ms"
write_size = "9kB"
writes_per_second = 20

[trace]
capture = ["bottleneck", "marked.sender", "marked.receiver", "narrow.sender", "narrow.receiver",
           "lazy.sender", "lazy.receiver"]
snaplen = "80B"
"""

PACED = """
duration = "5s"

[network.bottleneck]
rate  = "20Mbit"
queue = { kind = "dualpi2", limit = "1000p" }

[[flow]]
name = "paced"
cc   = "prague"
rtt  = "5ms"

[trace]
capture = ["paced.sender"]
"""
"""One segment at a time, of which the receiver acknowledges two together."""

SHOWN = {"rtt_mean_s", "limited.cwnd", "limited.rwnd", "limited.application"}
"""Numbers that are not judged."""


def simulated(folder: Path, study: str) -> Path:
    """The store of `study`, run on the simulator."""
    folder.mkdir(exist_ok=True)
    file = folder / "study.toml"
    file.write_text(study)
    cclab.run(file, out=folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the simulator, to look at only."""
    return simulated(tmp_path_factory.mktemp("lossy"), STUDY)


@pytest.fixture
def store(lossy: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    return shutil.copytree(lossy, tmp_path / "store")


def judged(verified: Verified) -> set[str]:
    """Numbers that were compared and judged at least once."""
    return {line.number for line in verified.lines if line.judged}


def reasons() -> list[str]:
    """Why a number may not be compared, as docs/verify.md lists it, a line each."""
    declared = [
        condition.unless
        for condition in vars(conditions).values()
        if isinstance(condition, Condition)
    ]
    return [f"- {why}" for why in (*declared, *INCOMPLETE.values(), *Because, NEITHER)]


def rows() -> list[str]:
    """The numbers as the table of docs/verify.md shows them, a line each."""
    flows = [
        (
            number.name,
            ", ".join(number.at),
            number.of_trace,
            number.of_capture,
            "not judged" if number.bound is None else number.bound.why,
        )
        for number in NUMBERS
    ]
    across = [(one.name, one.point, one.of_trace, one.of_capture, one.why) for one in ACROSS]
    return [f"| {' | '.join((f'`{cells[0]}`', *cells[1:]))} |" for cells in (*flows, *across)]


def assert_agrees(verified: Verified) -> None:
    """Checks that nothing contradicts, with all that does in the message.

    Also that what was not compared has a reason that is declared.
    """
    assert {f"- {skipped.why}" for skipped in verified.skipped} <= set(reasons())
    assert [one.document() for one in verified.differing] == []
    assert verified.agrees


DECLARED = {number.name for number in NUMBERS} | {across.name for across in ACROSS}


def test_the_simulators_traces_and_captures_agree(lossy: Path, tmp_path: Path) -> None:
    verified = cclab.verify(lossy)
    assert_agrees(verified)
    clean = cclab.verify(simulated(tmp_path / "clean", CLEAN))
    assert_agrees(clean)
    assert judged(verified) | judged(clean) | SHOWN == DECLARED
    # There was something to tell.
    worst = {line.number: line.worst for line in verified.lines}
    assert all(
        max(one.trace or 0 for one in verified.compared if one.number == name) > least
        for name, least in [("retransmits", 10), ("rtos", 0), ("data_lost", 10)]
    ), worst
    assert max(one.trace or 0 for one in clean.compared if one.number == "ecn_marks") > 0


def test_the_last_of_segments_acknowledged_together_is_timed(tmp_path: Path) -> None:
    store = simulated(tmp_path / "paced", PACED)
    verified = cclab.verify(store)
    assert_agrees(verified)
    assert {"rtt_min_s", "rtt_p95_s"} <= judged(verified)


def test_round_trips_of_a_stack_that_counts_ticks_are_not_compared(tmp_path: Path) -> None:
    ticking = PACED.replace('duration = "5s"', 'duration = "5s"\nstack = "ns2"')
    verified = cclab.verify(simulated(tmp_path / "ticking", ticking))
    assert_agrees(verified)
    assert judged(verified).isdisjoint({"rtt_min_s", "rtt_p95_s"})


@pytest.mark.usefixtures("kernel")
def test_the_kernels_traces_and_captures_agree(tmp_path: Path) -> None:
    verified = cclab.verify(results_of(tmp_path / "lossy", STUDY).store.path)
    assert_agrees(verified)
    clean = cclab.verify(results_of(tmp_path / "clean", CLEAN).store.path)
    assert_agrees(clean)
    assert judged(verified) | judged(clean) | SHOWN | {"ecn_echoes"} == DECLARED
    at_sender = STUDY.replace('rtt      = "20ms"', 'rtt = "20ms"\ndelay_at = "sender"')
    at_sender = at_sender.replace(
        "[network.bottleneck]", '[network]\nby = "kernel"\n[network.bottleneck]'
    )
    delayed = cclab.verify(results_of(tmp_path / "delayed", at_sender).store.path)
    assert_agrees(delayed)
    why = {skipped.number: skipped.why for skipped, _ in delayed.not_compared}
    assert "behind the delay" in why["started_s"]


def test_traces_and_captures_of_this_host_agree(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(
        """
        backend = "netns"
        duration = "2s"
        [network.bottleneck]
        rate  = "10Mbit"
        delay = "0s"
        queue = { limit = "30p" }
        [[flow]]
        name     = "short"
        transfer = "500kB"
        [[flow]]
        name = "long"
        cc   = "reno"
        [trace]
        capture = ["bottleneck", "short.sender", "short.receiver", "long.sender", "long.receiver"]
        """
    )
    if Host.probe().unprivileged is not None:
        with pytest.raises(cclab.InputError):
            cclab.run(file, out=tmp_path / "store")
        return
    cclab.run(file, out=tmp_path / "store")
    verified = cclab.verify(tmp_path / "store")
    assert_agrees(verified)
    assert {"segments_sent", "goodput_bps", "bytes_acked at a sample"} <= judged(verified)


@pytest.mark.usefixtures("kernel")
def test_a_programs_connections_are_summed(tmp_path: Path) -> None:
    verified = cclab.verify(
        results_of(
            tmp_path,
            """
            duration = "3s"
            [network.bottleneck]
            rate  = "10Mbit"
            queue = { limit = "50p" }
            [[flow]]
            name     = "probe"
            rtt      = "20ms"
            start    = "0s"
            command  = ["iperf3", "-c", "{dst}", "-n", "1M"]
            [trace]
            capture = ["bottleneck", "probe.sender", "probe.receiver"]
            """,
        ).store.path
    )
    assert_agrees(verified)
    assert {"segments_sent", "retransmits"} <= judged(verified)
    assert "connections" not in judged(verified)


def test_a_deleted_packet_is_found(store: Path, cli: Cli) -> None:
    capture = only_trace(store).capture("short.sender")
    shorter = store.parent / "shorter.pcapng"
    cclab.analyze(capture, series=store.parent / "series")
    segments = pl.read_parquet(store.parent / "series/segments.parquet").with_row_index("frame", 1)
    news = segments.filter(pl.col("kind") == "new")
    subprocess.run(["editcap", capture, shorter, str(news["frame"][200])], check=True)
    shutil.move(shorter, capture)
    done = cli("verify", store)
    assert done.returncode == RUN_FAILED, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("flow short, run ")]
    assert any("segments_sent at short.sender: trace " in line for line in told), told
    assert f"run {only_trace(store).file.stem} (seed 5)" in told[0]
    altered = capture.relative_to(store)
    first, *_, contradict, damaged = done.stderr.splitlines()
    assert first == f"{capture} is not as it was written; it is compared as it is now"
    assert done.stderr.count("as it was written") == 1
    assert "contradict" in contradict
    assert damaged.startswith(f"error: 1 capture of {store} is damaged; `cclab run {store}` does")
    assert not any(" at short.receiver" in line for line in told), "it is as it was"
    document = json.loads(cli("verify", store, "--json").stdout)
    assert document["captures_altered"] == [str(altered)]
    [counted] = [d for d in document["differences"] if d["number"] == "segments_sent"]
    assert (counted["point"], counted["difference"]) == ("short.sender", -1)
    # As it is where the capture was written so.
    forge(Store(store), only_trace(store).file.stem, lambda _: None)
    assert cli("verify", store).returncode == EXPECTATION_FAILED


def test_a_changed_byte_count_is_found(store: Path) -> None:
    file = only_trace(store).capture("long.receiver")
    content = bytearray(file.read_bytes())
    at = nth_long_packet(content, 100)
    [length] = struct.unpack_from(">H", content, at + 2)
    struct.pack_into(">H", content, at + 2, length - 1)
    file.write_bytes(content)
    verified = cclab.verify(store)
    found = {(one.number, one.subject.flow, one.subject.point) for one in verified.differing}
    assert ("bytes_received", "long", "long.receiver") in found
    assert {point for _, _, point in found} <= {"long.receiver", "receivers"}


def test_a_change_that_no_number_shows_is_named_before_the_numbers(store: Path, cli: Cli) -> None:
    """A time to live, which no number is of."""
    file = only_trace(store).capture("long.receiver")
    content = bytearray(file.read_bytes())
    content[nth_long_packet(content, 100) + 8] ^= 1
    file.write_bytes(content)
    both = subprocess.run(
        [sys.executable, "-m", "cclab", "verify", store],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert both.returncode == RUN_FAILED
    assert both.stdout.startswith(f"{file} is not as it was written")
    assert cclab.verify(store).altered == [file]
    told = cli("verify", store, "--json")
    assert told.returncode == RUN_FAILED
    assert json.loads(told.stdout)["agrees"] is True
    assert "contradict" not in told.stderr


def nth_long_packet(content: bytes | bytearray, number: int) -> int:
    """Where the IPv4 header of the packet of that number begins, of those of 1000 bytes or more."""
    at = 0
    while True:
        kind, length = struct.unpack_from("<II", content, at)
        # An enhanced packet block: interface, time in two halves, captured and original length.
        if kind == 6 and struct.unpack_from("<I", content, at + 24)[0] >= 1000:
            number -= 1
            if number == 0:
                return at + 28
        at += length


@pytest.mark.parametrize("points", [["bottleneck"], ["short.receiver"]])
def test_captures_that_end_early_are_compared_as_far_as_they_go(
    tmp_path: Path, points: list[str]
) -> None:
    capture = f"capture = {json.dumps(points)}\nuntil = "
    study = STUDY[: STUDY.index("capture =")] + 'events = ["queue"]\n' + capture
    verified = cclab.verify(simulated(tmp_path / "until", study + '"1050ms"\n'))
    assert_agrees(verified)
    why = {skipped.number: skipped.why for skipped, _ in verified.not_compared}
    assert "do not cover the whole run" in why["limited.cwnd"]
    name = "bytes_passed" if points == ["bottleneck"] else "bytes_received"
    compared = [x for x in verified.compared if x.number == f"{name} at a sample"]
    assert len(compared) == (3 if points == ["bottleneck"] else 1)
    [short] = [x for x in compared if x.subject.flow == "short"]
    assert 100_000 < (short.trace or 0) < 2_000_003


def test_captures_that_begin_late_say_what_is_not_compared(tmp_path: Path) -> None:
    verified = cclab.verify(simulated(tmp_path / "from", STUDY + 'from = "1s"\n'))
    assert_agrees(verified)
    whys = {one.why for one, _ in verified.not_compared if one.number.startswith("segments_sent")}
    assert any("do not cover the whole run" in why for why in whys)
    assert any("begin after the run did" in why for why in whys)
    assert judged(verified) == {"mss_bytes", "dequeued_packets"}


def test_runs_without_captures_are_told_with_the_remedy(tmp_path: Path, cli: Cli) -> None:
    bare = simulated(tmp_path / "bare", STUDY[: STUDY.index("[trace]")])
    refused = cli("verify", bare)
    assert refused.returncode == WRONG_INPUT
    assert refused.stdout == ""
    assert "has a packet capture" in refused.stderr
    assert "--set 'trace.capture=[\"bottleneck\"]'" in refused.stderr

    swept = STUDY[: STUDY.index("[trace]")] + '[sweep]\n"trace.capture" = [[], ["bottleneck"]]\n'
    some = simulated(tmp_path / "some", swept)
    done = cli("verify", some)
    assert done.returncode == DONE, done.stderr
    assert "1 of 2 runs has no packet captures; --set" in done.stderr


def test_the_command_prints_a_table_or_a_document(lossy: Path, cli: Cli) -> None:
    done = cli("verify", lossy)
    assert done.returncode == DONE, done.stderr
    [segments] = [x for x in done.stdout.splitlines() if x.split()[:1] == ["segments_sent"]][:1]
    assert "3 of 3" in segments
    document: dict[str, Any] = json.loads(cli("verify", lossy, "--json").stdout)
    schema = json.loads((ROOT / "docs/verify.schema.json").read_text())
    jsonschema.validate(document, schema)
    assert document["schema"] == "cclab-verify/2"
    assert document["captures_altered"] == []
    assert document["agrees"] is True
    assert document == json.loads(json.dumps(cclab.verify(lossy).document()))


@pytest.mark.parametrize(
    ("change", "code", "complaint"),
    [
        ("nothing of the kind", WRONG_INPUT, "is not a results folder"),
        ("no runs", WRONG_INPUT, "holds none of its runs"),
        ("cut", RUN_FAILED, "long.sender.pcapng: cut-off"),
        ("other", RUN_FAILED, "long.sender.pcapng: not a packet capture"),
        ("gone", RUN_FAILED, "long.sender.pcapng: there is no such file"),
        ("trace", RUN_FAILED, "is not as it was written"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    store: Path, cli: Cli, change: str, code: int, complaint: str
) -> None:
    capture = only_trace(store).capture("long.sender")
    match change:
        case "nothing of the kind":
            store = store / "runs"
        case "no runs":
            only_trace(store).file.unlink()
        case "cut":
            capture.write_bytes(capture.read_bytes()[:-10])
        case "other":
            capture.write_text("not a capture at all, only words\n" * 9)
        case "gone":
            capture.unlink()
        case "trace":
            flip(only_trace(store).file)
    refused = cli("verify", store)
    assert refused.returncode == code, refused.stderr
    assert complaint in refused.stderr
    assert refused.stderr.startswith("error: ")
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr


def test_the_page_has_every_number_as_it_is_declared() -> None:
    page = (ROOT / "docs/verify.md").read_text()
    for row in rows():
        assert f"{row}\n" in page, f"docs/verify.md lacks: {row}"
    for reason in reasons():
        assert f"{reason}\n" in page, f"docs/verify.md lacks: {reason}"
