"""Graphs for xplot: the same lines as tcptrace's, and xplot reads them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import cclab
from agreement.comparison import made
from captured import POINTS, two_flows
from cclab.captures.series import xplot
from xplot_graphs import Graph, screen

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.captures import Capture
    from cclab.captures.series.tables import Direction


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The captures of two flows with losses and an outage, by the point of capture."""
    return two_flows(tmp_path_factory.mktemp("captures"))


@pytest.fixture(scope="module")
def analyzed(captures: dict[str, Path]) -> dict[str, Capture]:
    """The same, analyzed."""
    return {point: cclab.analyze(file) for point, file in captures.items()}


@pytest.fixture(scope="module")
def folder(captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `write` makes of the capture at the bottleneck, in every format."""
    out = tmp_path_factory.mktemp("written") / "out"
    capture = cclab.analyze(captures["bottleneck"])
    capture.write(out, formats=["csv", "parquet", "xplot"], title="two flows")
    return out


def tcptrace_graphs(capture: Path, folder: Path) -> dict[str, Graph]:
    """tcptrace's own graphs of a capture, by the names of their files."""
    folder.mkdir()
    classic = folder / "classic.pcap"
    subprocess.run(["editcap", "-F", "pcap", str(capture), str(classic)], check=True)
    command = ["tcptrace", "-G", "-n", f"--output_dir={folder}", str(classic)]
    subprocess.run(command, check=True, capture_output=True)
    return {f.name: Graph.read(f.read_text("latin-1")) for f in folder.glob("*.xpl")}


def first_sequence_number(graph: Graph) -> int:
    """The initial sequence number, absolute in tcptrace's graphs: its SYN is the lowest bar."""
    return min(int(foot) for _, foot, _ in graph.bars("orange"))


@pytest.mark.parametrize("point", POINTS)
def test_time_sequence_graphs_have_the_lines_of_tcptrace(
    captures: dict[str, Path], analyzed: dict[str, Capture], tmp_path: Path, point: str
) -> None:
    theirs = tcptrace_graphs(captures[point], tmp_path / "theirs")
    analyzed[point].write(tmp_path / "ours", formats=["xplot"])
    names = [name for name in theirs if name in ("a2b_tsg.xpl", "c2d_tsg.xpl")]
    assert len(names) == len(analyzed[point].connections) // 2
    seen_again = filled_late = 0
    for name in names:
        own = Graph.read((tmp_path / "ours" / name).read_text("ascii"))
        other = theirs[name]
        base = first_sequence_number(other)
        segments = ("white", "red", "pink", "orange", "blue")
        assert own.bars(*segments) == other.bars(*segments, base=base)
        assert own.bars("red") == other.bars("red", base=base)
        # It marks what comes out of order by a letter alone.
        assert other.bars("pink") == []
        seen_again += len(own.bars("red"))
        filled_late += len(own.bars("pink"))
        assert own.corners("green") == other.corners("green", base)
        assert own.corners("yellow") == other.corners("yellow", base)
        assert own.bars("purple") == other.bars("purple", base=base) != []
        assert len(own.bars("white")) > 300
    assert (seen_again > 0) == point.endswith("sender")
    assert (filled_late > 0) != point.endswith("sender")


UNLIKE = {
    "transfers/wrapped": "its sequence numbers are absolute, and wrap",
    "transfers/wrapped_in_flight": "its sequence numbers are absolute, and wrap",
    "windows/shift_too_large": "it scales by 15, where RFC 7323 section 2.3 ends at 14",
}
"""Kinds of captures of whole connections that tcptrace draws in another way, and why."""


def test_graphs_of_every_kind_of_connection_are_those_of_tcptrace(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    unlike = set()
    compared = 0
    for name, capture in made(tmp_path / "captures").items():
        if name.startswith(("capturing/", "opening/")):
            # It knows fewer headers, and draws SYNs in other ways.
            continue
        theirs = tcptrace_graphs(capture, tmp_path / name.replace("/", " "))
        for direction in directions_of(cclab.analyze(capture)):
            for _, graph in xplot.files(direction):
                assert graph.isascii(), name
                assert graph.startswith(b"timeval double\ntitle\n"), name
                assert graph.endswith(b"\ngo\n"), name
            other = theirs[f"{direction.name}_tsg.xpl"]
            own = Graph.read(xplot.time_sequence.plot(direction).decode())
            if drawn(own, 0) != drawn(other, first_sequence_number(other)):
                unlike.add(name)
            compared += len(own.bars("white"))
    assert unlike == set(UNLIKE)
    assert compared > 200


def directions_of(capture: Capture) -> list[Direction]:
    """Both directions of each connection."""
    tables = capture.tables
    return [tables.direction(number, sender) for number in tables.numbers for sender in (0, 1)]


def drawn(graph: Graph, base: int) -> list[object]:
    """Segments, ACKs, windows and SACK blocks; which of them are repeated is judged in a way of
    our own, and SACK blocks of duplicates are apart.
    """
    return [
        graph.bars("white", "red", "pink", "orange", "blue", base=base),
        graph.corners("green", base),
        graph.corners("yellow", base),
        graph.bars("purple", "magenta", base=base),
    ]


@pytest.mark.parametrize("point", ["short.sender", "long.sender"])
def test_graphs_of_rtt_and_outstanding_data_have_the_dots_of_tcptrace(
    captures: dict[str, Path], analyzed: dict[str, Capture], tmp_path: Path, point: str
) -> None:
    theirs = tcptrace_graphs(captures[point], tmp_path / "theirs")
    analyzed[point].write(tmp_path / "ours", formats=["xplot"])
    own = Graph.read((tmp_path / "ours" / "a2b_rtt.xpl").read_text()).dots["red"]
    other = theirs["a2b_rtt.xpl"].dots["red"]
    assert [at for at, _ in own] == [at for at, _ in other] != []
    # It cuts milliseconds to whole ones.
    assert all(0 <= mine - its < 1.001 for (_, mine), (_, its) in zip(own, other, strict=True))

    flight = Graph.read((tmp_path / "ours" / "a2b_owin.xpl").read_text()).dots["red"]
    # It looks at every segment of the sender, those without new data too, and counts one more.
    its = {(at, value - 1) for at, value in theirs["a2b_owin.xpl"].dots["red"]}
    at_segments = {at for at, _ in its}
    mine = {dot for dot in flight if dot[0] in at_segments}
    assert len(mine & its) > 300
    assert max(value for _, value in mine) == max(value for _, value in its)


def test_xplot_reads_every_graph(folder: Path, tmp_path: Path) -> None:
    graphs = sorted(folder.glob("a2b_*.xpl"))
    suffixes = {graph.stem.removeprefix("a2b_") for graph in graphs}
    assert suffixes == {"iat", "owin", "rtt", "tput", "tsg", "win"}
    with screen(tmp_path) as shown:
        for graph in graphs:
            colours = shown.shows(graph)
            if graph.name == "a2b_tsg.xpl":
                assert {(255, 255, 255), (255, 255, 0), (0, 255, 0)} <= colours
        broken = tmp_path / "broken.xpl"
        broken.write_text(graphs[0].read_text().replace("dot ", "dott ", 1))
        with pytest.raises(AssertionError, match="input format error"):
            shown.shows(broken)
