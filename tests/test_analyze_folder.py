"""What `cclab analyze --out` writes, and the interactive page in a browser."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from scapy.layers.inet import TCP
from scapy.utils import wrpcap

import cclab
from attacks.disks import PRIVATE
from browser import in_browser
from captured import two_flows
from cclab.captures.series import ACROSS, SERIES
from cclab.captures.series.figures import FIGURES
from cclab.cli.exits import DONE, RUN_FAILED, WRONG_INPUT
from cclab.cli.main import invoke
from conftest import ROOT, files_of
from test_analyze_flows import packets
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cli

    Analyze = Callable[..., subprocess.CompletedProcess[str]]

OF_A_DIRECTION = {f"a2b_{kind.name}.svg" for kind in FIGURES}
ALWAYS = {
    "analysis.json",
    "connections.parquet",
    "conversations.parquet",
    "contents.json",
    "datagrams.parquet",
    "index.html",
    "jain.svg",
    "sacks.parquet",
    "segments.parquet",
    "share.svg",
}


@pytest.fixture
def analyze(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Analyze:
    """Runs `cclab analyze` with arguments in an empty folder, in this process."""

    def run(*arguments: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(cwd)
        words = ["analyze", *map(str, arguments)]
        capsys.readouterr()
        code = invoke(words)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, told.out, told.err)

    return run


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of two flows at the bottleneck."""
    return two_flows(tmp_path_factory.mktemp("captures"))["bottleneck"]


def test_the_folder_holds_what_the_page_of_documentation_says(
    cli: Cli, capture: Path, tmp_path: Path
) -> None:
    told = cli("analyze", capture, "--out", "out", "--json", "--connection", "1")
    assert told.returncode == DONE, told.stderr
    out = tmp_path / "out"
    files = files_of(out)
    assert set(files) == ALWAYS | OF_A_DIRECTION
    assert json.loads(told.stdout) == json.loads(files["analysis.json"])
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in files.items()}
    del digests["contents.json"]
    assert json.loads(files["contents.json"])["files"] == digests
    analyzed = cclab.analyze(capture)
    assert pl.read_parquet(out / "connections.parquet").equals(analyzed.connections)
    segments = pl.read_parquet(out / "segments.parquet")
    assert len(segments) == analyzed.tcp_packets

    # The same again gives the same bytes, and a smaller choice leaves nothing of the larger.
    more = cli("analyze", capture, "--out", "out", "--series", "csv", "--xplot")
    assert more.returncode == DONE, more.stderr
    names = set(files_of(out))
    assert {"a2b_rtt.csv", "c2d_rtt.csv", "share.csv", "c2d_tsg.xpl", "c2d_rtt.svg"} <= names
    assert (out / "a2b_rtt.csv").read_text().startswith("time_s,rtt_s\n")
    assert cli("analyze", capture, "--out", "out", "--connection", "1").returncode == DONE
    assert files_of(out) == files


def test_series_from_python_are_those_of_the_files(capture: Path, tmp_path: Path) -> None:
    analyzed = cclab.analyze(capture)
    page = analyzed.write(tmp_path / "out", connections=[2], formats=["parquet", "csv"])
    assert page == tmp_path / "out" / "index.html"
    for kind in SERIES:
        frame = pl.read_parquet(tmp_path / "out" / f"c2d_{kind.name}.parquet")
        assert frame.equals(analyzed.series(kind.name, connection=2))
        assert frame.columns == list(kind.columns)
        assert len(pl.read_csv(tmp_path / "out" / f"c2d_{kind.name}.csv")) == len(frame) > 0
    for across in ACROSS:
        frame = pl.read_parquet(tmp_path / "out" / f"{across.name}.parquet")
        assert frame.equals(analyzed.series(across.name))
        assert frame.columns == list(across.columns)


def test_every_column_of_every_series_is_documented() -> None:
    page = (ROOT / "docs/analyze.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page, re.MULTILINE))
    columns = {kind.name: kind.columns for kind in SERIES}
    columns |= {kind.name: kind.columns for kind in ACROSS}
    for name, those in columns.items():
        for column in those:
            assert f"`{column}`" in rows[name], f"docs/analyze.md: {name}, {column}"


def test_without_out_the_folder_is_named_after_the_capture(
    cli: Cli, capture: Path, tmp_path: Path
) -> None:
    done = cli("analyze", capture, "--xplot")
    assert done.returncode == DONE
    assert "written: bottleneck.pcapng.analysis/index.html" in done.stderr
    assert "--out DIR chooses another folder" in done.stderr
    assert (tmp_path / "bottleneck.pcapng.analysis" / "a2b_tsg.xpl").exists()
    shutil.copy(capture, tmp_path / "at the sender.pcapng")
    assert cli("analyze", "at the sender.pcapng", "--xplot").returncode == DONE
    assert (tmp_path / "at the sender.pcapng.analysis").is_dir()


def test_what_was_left_out_is_said(
    cli: Cli, capture: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr("cclab.captures.series.folder.MOST_CONNECTIONS", 1)
    assert invoke(["analyze", str(capture), "--out", str(tmp_path / "out")]) == DONE
    assert "series of the 1 connections with the most data; 1 other carried data too" in (
        capsys.readouterr().err
    )
    assert set(files_of(tmp_path / "out")) == ALWAYS | OF_A_DIRECTION
    page = (tmp_path / "out" / "index.html").read_text()
    assert "1 direction with less data has no series here" in page


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--out", "mine"], "mine is not empty, and no analysis wrote what is in it"),
        (["--out", "mine/index.html"], "mine/index.html is no folder"),
        (["--out", "new", "--connection", "9"], "no connection 9 in the capture; they are 1 to 2"),
        (["--out", "new", "--connection", "0"], "--connection 0: at least 1"),
        (["--connection", "1"], "--connection chooses what is written: give --out DIR too"),
        (["--out", "new", "--series", "xls"], "--series xls: csv or parquet"),
    ],
)
def test_a_folder_that_cannot_be_filled_is_refused(
    cli: Cli, capture: Path, tmp_path: Path, options: list[str], complaint: str
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("my own page")
    refused = cli("analyze", capture, *options)
    assert refused.returncode == WRONG_INPUT
    assert refused.stderr.startswith("error: ")
    assert complaint in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.stdout == ""
    assert files_of(tmp_path / "mine") == {"index.html": b"my own page"}


def test_a_file_that_is_no_capture_leaves_no_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_text("this is a text and no capture at all")
    assert cli("analyze", "text.pcap", "--out", "new").returncode == WRONG_INPUT
    assert not (tmp_path / "new").exists()


def test_a_figure_of_a_name_that_there_is_not_is_refused(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    with pytest.raises(cclab.InputError, match="no series called 'cwnd'; the series are time-seq"):
        analyzed.series("cwnd", connection=1)
    with pytest.raises(cclab.InputError, match="no figure called 'cwnd'"):
        analyzed.figure("cwnd", connection=1)
    with pytest.raises(cclab.InputError, match="rtt is of one connection: which"):
        analyzed.series("rtt")
    with pytest.raises(cclab.InputError, match="rtt has no bins"):
        analyzed.series("rtt", connection=1, bin_s=1)
    with pytest.raises(cclab.InputError, match="jain is across all flows"):
        analyzed.figure("jain", connection=1)
    with pytest.raises(cclab.InputError, match="bins of 0 s; they must be longer than 0"):
        analyzed.series("share", bin_s=0)


def test_the_page_works_in_a_browser_without_a_network(capture: Path, tmp_path: Path) -> None:
    page = cclab.analyze(capture).write(tmp_path / "out", title="two <flows> & more")
    html = page.read_text()
    assert "default-src 'none'" in html
    assert not re.findall(r"""(?:src|href)=["']?\s*(?:https?:|//|data:)""", html)
    script = """
      const key = (key) => document.querySelector("figure.chart").dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true }));
      const seen = [];
      const steps = [
        () => document.querySelector("button[value=c2d]").click(),
        () => seen.push(document.getElementById("span").textContent),
        () => document.querySelector("[data-do=in]").click(),
        () => seen.push(document.getElementById("span").textContent),
        () => key("ArrowRight"),
        () => seen.push(document.getElementById("span").textContent),
        () => key("0"),
        () => seen.push(document.getElementById("span").textContent),
        () => document.querySelector("[data-panel=outstanding] input").click(),
        () => {
          const over = document.querySelector(".u-over"), box = over.getBoundingClientRect();
          const at = { clientX: box.left + 300, clientY: box.top + 100, bubbles: true };
          for (const type of ["mouseenter", "mousemove"])
            over.dispatchEvent(new MouseEvent(type, at));
        },
        () => {
          const result = document.createElement("pre");
          const inked = (canvas) => new Uint32Array(canvas.getContext("2d").getImageData(
            0, 0, canvas.width, canvas.height).data.buffer).filter((pixel) => pixel).length;
          result.id = "result";
          result.textContent = JSON.stringify({
            seen, chosen: document.getElementById("chosen").textContent,
            panels: [...document.querySelectorAll("figure.chart")].map((f) => f.dataset.panel),
            drawn: [...document.querySelectorAll(".uplot canvas")].map(inked),
            values: document.querySelector("[data-panel=outstanding] .legend").textContent,
          });
          document.body.append(result);
        },
      ];
      const timer = setInterval(() => steps.length ? steps.shift()() : clearInterval(timer), 60);
    """
    after = in_browser(page, script, tmp_path)
    [title] = re.findall(r"<title>(.*?)</title>", after)
    assert title == "two &lt;flows&gt; &amp; more"
    result = json.loads(re.findall(r'<pre id="result">(.*?)</pre>', after, re.DOTALL)[0])
    assert result["chosen"].startswith("Connection 2: 10.0.0.2:40001")
    wanted = ["time-sequence", "outstanding", "throughput", "rtt", "inter-arrival"]
    assert result["panels"] == [*wanted, "share", "jain"]
    assert min(result["drawn"]) > 2000
    # What the crosshair of the first panel points at is told in the others too.
    assert re.search(r"in flight\d+(\.\d+)? k?B", result["values"])
    spans = [re.findall(r"[\d.]+(?= s)", text) for text in result["seen"]]
    [(b0, e0), (b1, e1), (b2, _), (b3, e3)] = [(float(b), float(e)) for b, e in spans]
    assert (b3, e3) == (b0, e0)
    assert e1 - b1 == pytest.approx((e0 - b0) / 2, abs=1e-5)
    assert b2 - b1 == pytest.approx(0.2 * (e1 - b1), abs=1e-5)


def test_a_figure_of_a_stretch_of_time_shows_what_is_in_it(capture: Path) -> None:
    analyzed = cclab.analyze(capture)
    series = analyzed.series("time-sequence", connection=1)
    inside = series.filter(pl.col("time_s").is_between(0.2, 0.4))
    figure = analyzed.figure("time-sequence", connection=1, between=(0.2, 0.4))
    assert figure is not None
    [axes] = figure.axes
    assert axes.get_xlim() == (0.2, 0.4)
    data = inside.filter(pl.col("what").is_in(["new", "out-of-order"]))
    low, high = (value * 1e3 for value in axes.get_ylim())
    assert low > 0.8 * min(data["start_bytes"].to_list()) > 0
    assert high > max(data["end_bytes"].to_list())
    for kind in FIGURES:
        narrow = analyzed.figure(kind.name, connection=1, between=(0.2, 0.4))
        assert narrow is not None
        assert narrow.axes[0].get_xlim() == (0.2, 0.4)
    assert analyzed.figure("rtt", connection=1, between=(90, 91)) is None
    with pytest.raises(cclab.InputError, match=r"between is 2 and 1 s; it must end after"):
        analyzed.figure("rtt", connection=1, between=(2, 1))


def test_a_capture_without_connections_has_a_page_too(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 65000000"))
    page = cclab.analyze(empty).write(tmp_path / "out", formats=["csv", "xplot"])
    assert set(files_of(page.parent)) == (ALWAYS | {"share.csv", "jain.csv"}) - {
        "share.svg",
        "jain.svg",
    }
    after = in_browser(page, "", tmp_path)
    assert "<title>Packet capture</title>" in after
    assert "Zoom in" not in after


@pytest.mark.parametrize("name", ["../victim", "/victim", "a/victim", "..", "thesis.tex"])
def test_a_list_of_files_that_no_analysis_wrote_loses_nobody_a_file(
    analyze: Analyze, capture: Path, tmp_path: Path, name: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    own = tmp_path / "own"
    own.mkdir()
    (own / "thesis.tex").write_text("years")
    for document in (
        {"files": [name]},
        {"schema": "cclab-analyze-folder/1", "files": [name]},
        {"schema": "cclab-analyze-folder/2", "files": {name: "0"}},
    ):
        (own / "contents.json").write_text(json.dumps(document))
        before = files_of(tmp_path)
        refused = analyze(capture, "--out", own)
        assert refused.returncode == WRONG_INPUT
        assert "choose another --out" in refused.stderr
        assert files_of(tmp_path) == before


def planted(own: Path, victim: Path) -> None:
    """Links from every name that an analysis writes, or wrote once on the way there."""
    names = [*ALWAYS, *OF_A_DIRECTION, "share.csv", "a2b_tsg.xpl"]
    for number, name in enumerate([*names, *(f"{name}.part" for name in names)]):
        if number % 2:
            (own / name).symlink_to(victim)
        else:
            (own / name).hardlink_to(victim)


def test_planted_links_change_no_file_that_they_lead_to(
    analyze: Analyze, capture: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "out").mkdir()
    planted(tmp_path / "out", victim)
    before = files_of(tmp_path)
    refused = analyze(capture, "--out", "out", "--xplot", "--series", "csv")
    assert refused.returncode == WRONG_INPUT
    assert "out is not empty, and no analysis wrote what is in it" in refused.stderr
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("name", ["index.html", "contents.json", "segments.parquet.part"])
@pytest.mark.parametrize("hard", [False, True])
def test_a_link_in_an_earlier_analysis_changes_no_file_that_it_leads_to(
    analyze: Analyze, capture: Path, tmp_path: Path, name: str, hard: bool
) -> None:
    own, victim = tmp_path / "own", tmp_path / "victim"
    assert analyze(capture, "--out", own).returncode == DONE
    victim.write_bytes((own / "contents.json").read_bytes())
    (own / name).unlink(missing_ok=True)
    if hard:
        (own / name).hardlink_to(victim)
    else:
        (own / name).symlink_to(victim)
    before = files_of(tmp_path)
    told = analyze(capture, "--out", own, "--connection", "1")
    if (hard, name) == (True, "contents.json"):
        # It holds what the analysis wrote: the folder is replaced, and the other name stays.
        assert told.returncode == DONE, told.stderr
        assert set(files_of(own)) == ALWAYS | OF_A_DIRECTION
        assert victim.read_bytes() == before["victim"]
        return
    assert told.returncode == WRONG_INPUT
    assert "choose another --out" in told.stderr
    assert files_of(tmp_path) == before


def test_what_people_put_into_an_analysis_is_not_lost(
    analyze: Analyze, capture: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    assert analyze(capture, "--out", own).returncode == DONE
    whole = files_of(own)
    (own / "notes.txt").write_text("mine")
    refused = analyze(capture, "--out", own)
    assert refused.returncode == WRONG_INPUT
    assert "own/notes.txt would be lost, and no analysis wrote it" in refused.stderr
    assert files_of(own) == whole | {"notes.txt": b"mine"}
    (own / "notes.txt").unlink()
    (own / "share.svg").write_text("<svg>with my own title</svg>")
    refused = analyze(capture, "--out", own)
    assert refused.returncode == WRONG_INPUT
    assert "own/share.svg is not as an analysis wrote it, and would be lost" in refused.stderr
    assert (own / "share.svg").read_text() == "<svg>with my own title</svg>"
    # What is lacking loses nobody anything.
    (own / "share.svg").unlink()
    assert analyze(capture, "--out", own).returncode == DONE
    assert files_of(own) == whole


def test_the_folder_that_one_is_in_can_be_filled_twice(
    analyze: Analyze, capture: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    place = here.stat().st_ino
    for formats in ("--xplot", "--json"):
        assert analyze(capture, "--out", ".", formats, cwd=here).returncode == DONE
        assert here.stat().st_ino == place
        assert {path.name for path in tmp_path.iterdir()} == {"here"}
    assert set(files_of(here)) == ALWAYS | {
        f"{name}_{kind.name}.svg" for name in ("a2b", "c2d") for kind in FIGURES
    }


def test_a_full_disk_is_told_and_the_next_try_with_room_succeeds(
    capture: Path, tmp_path: Path
) -> None:
    """The disk has room for one analysis, and not for another beside it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [sys.executable, "-m", "cclab", "analyze", str(capture), "--out", f"{disk}/out"]
    script = (
        f"mount -t tmpfs -o size=200k tmpfs {disk} || exit 99\n"
        '"$@" >&2; echo "first: $?" >&2; ls -A "$0" >&2\n'
        f"mount -o remount,size=16M {disk} || exit 99\n"
        '"$@" >&2 || exit 98; ls -A "$0" >&2\n'
        f"cp -r {disk}/out {tmp_path}/copy; dd if=/dev/zero of={disk}/full bs=64k 2>/dev/null\n"
        '"$@" --xplot >&2; echo "third: $?" >&2; ls -A "$0" >&2\n'
        f"diff -r {disk}/out {tmp_path}/copy >&2 || exit 97\n"
        f"rm {disk}/full\n"
        '"$@" --xplot >&2 || exit 96\n'
        f"ls {disk}/out/a2b_tsg.xpl >&2\n"
    )
    done = subprocess.run(
        [*PRIVATE, "sh", "-c", script, str(disk), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == DONE, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(told) == 2
    for line in told:
        assert line.startswith(f"error: cannot write {disk}/out: ")
        assert "No space left on device" in line
        assert line.endswith("; nothing there was changed")
    assert f"first: {RUN_FAILED}\nwritten" in done.stderr
    assert f"third: {RUN_FAILED}\nfull\nout\n" in done.stderr
    assert "Traceback" not in done.stderr


INTERVALS = {
    ("0.5s", "100s"): DONE,
    ("0.50000001s", "0.50000002s"): DONE,
    ("1s", "0.5s"): WRONG_INPUT,
    ("1s", "1s"): WRONG_INPUT,
    ("100s", "200s"): WRONG_INPUT,
}


@pytest.mark.parametrize("options", [(), ("--xplot",), ("--xplot", "--series", "csv", "--csv")])
@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_an_interval_is_analyzed_into_a_folder_in_every_form(
    analyze: Analyze, capture: Path, tmp_path: Path, kind: str, options: tuple[str, ...]
) -> None:
    if kind == "udp":
        capture = tmp_path / "udp.pcap"
        wrpcap(str(capture), [p for p in packets() if TCP not in p], linktype=101)
    for interval, code in INTERVALS.items():
        # Without --out, two of them tell: all others end in the same way.
        unnamed = [()] if interval in (("0.5s", "100s"), ("100s", "200s")) else []
        for out in [("--out", "out"), *unnamed]:
            asked = (*options, *out, "--json") if "--csv" not in options else (*options, *out)
            before = files_of(tmp_path)
            told = analyze(capture, "--interval", *interval, *asked)
            assert told.returncode == code, (interval, told.stderr)
            assert "Traceback" not in told.stderr
            if code == WRONG_INPUT:
                assert told.stdout == ""
                assert files_of(tmp_path) == before
                continue
            folder = tmp_path / (out[1] if out else f"{capture.name}.analysis")
            if not out and not options:
                assert not folder.exists()
                continue
            document = json.loads((folder / "analysis.json").read_text())
            began, ended = document["together"]["asked"]["from_s"], float(interval[1][:-1])
            assert began == float(interval[0][:-1]) < ended
            assert ("--xplot" in options) == bool(list(folder.glob("*.xpl")))


def test_a_file_that_is_no_capture_leaves_an_earlier_analysis_whole(
    analyze: Analyze, capture: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    assert analyze(capture, "--out", own).returncode == DONE
    before = (own / "segments.parquet").read_bytes()
    (tmp_path / "text").write_text("no capture")
    assert analyze("text", "--out", own).returncode == WRONG_INPUT
    assert (own / "segments.parquet").read_bytes() == before
    assert not list(own.glob("*.part"))


def test_the_page_tells_what_is_wrong_with_a_capture(
    capture: Path, analyze: Analyze, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(capture.read_bytes()[:-7])
    assert analyze(cut, "--out", "folder").returncode == DONE
    (problem,) = json.loads((tmp_path / "folder" / "analysis.json").read_text())["problems"]
    page = (tmp_path / "folder" / "index.html").read_text()
    assert f"<li><code>{problem['code']}</code> {problem['count']}<br>" in page
