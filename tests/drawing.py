"""Studies that figures are drawn of, and what a legend says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cclab
from conftest import STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from cclab import Results
    from cclab.drawing.style import Drawing


LATE = """
title = "Flows of one variant that start one after the other"
duration = "4s"

[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "1bdp" }
"""


GRAPH = """
title = "A graph whose link under study has a name of its own"
duration = "3s"

[network]
topology = "graph"

[[network.link]]
name = "first"
from = "a"
to = "b"
rate = "100Mbit"
delay = "1ms"

[[network.link]]
name = "narrow"
from = "b"
to = "c"
rate = "5Mbit"
delay = "10ms"
queue = { limit = "20p" }
bottleneck = true

[[flow]]
cc = "reno"
from = "a"
to = "c"
"""


def late(folder: Path, flows: str, *settings: str) -> Results:
    file = folder / "study.toml"
    file.write_text(LATE + flows)
    return cclab.run(file, out=folder / "out", repeat=1, set=list(settings))


def of_graph(folder: Path, *settings: str) -> Results:
    file = folder / "study.toml"
    file.write_text(GRAPH)
    return cclab.run(file, out=folder / "out", set=list(settings))


FOUR = "".join(
    f'[[flow]]\nname = "{name}"\ncc = "cubic"\nrtt = "40ms"\nstart = "{start}s"\n{more}'
    for name, start, more in (
        ("a", 0, ""), ("b", 1, 'duration = "1s"\n'), ("c", 2, ""), ("d", 1, 'transfer = "100kB"\n')
    )
)  # fmt: skip


def sweep_of_flows(folder: Path, flows: int, points: int) -> Results:
    """Short runs of `flows` flows in all at `points` sweep points."""
    each = max(1, flows // 2)
    head, short, long = parts()
    counted = [part.replace("cc ", f"count = {each}\ncc ") for part in (short, long)]
    limits = ", ".join(f'"{number + 1}bdp"' for number in range(points))
    sweep = f'[sweep]\n"network.bottleneck.queue.limit" = [{limits}]\n'
    file = folder / "study.toml"
    file.write_text(head + "".join(counted[: min(flows, 2)]) + sweep)
    settings = ["duration=1s", "warmup=100ms"]
    return cclab.run(file, out=folder / "out", repeat=1, set=settings)


def parts() -> list[str]:
    """What the study of the tests says before its flows, and of each of them."""
    head, short, rest = STUDY.split("[[flow]]")
    long, _ = rest.split("[sweep]")
    return [head, "[[flow]]" + short, "[[flow]]" + long]


def told_in(figure: Drawing) -> list[str]:
    """What the legend above a figure names."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def six_transfers(folder: Path) -> Results:
    """Six transfers at a time: with 500 ms of start between them, or all at once."""
    flow = '[[flow]]\nname = "web"\ncc = "cubic"\ncount = 6\nrtt = "20ms"\ntransfer = "200kB"\n'
    file = folder / "study.toml"
    file.write_text(LATE + flow + '[sweep]\n"flow.web.cc" = ["cubic", "bbr"]\n')
    return cclab.run(file, out=folder / "out", repeat=2)


def swept(folder: Path, sweep: str, repeat: int = 3) -> Results:
    """The results of short runs of the two flows over `sweep`."""
    head, _ = STUDY.split("[sweep]")
    file = folder / "sweep.toml"
    file.write_text(head + "[sweep]\n" + sweep)
    return cclab.run(file, out=folder / "out", repeat=repeat)
