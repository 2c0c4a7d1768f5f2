"""What xplot files draw, whoever wrote them, and xplot itself on a screen that nobody sees."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from waiting import await_that

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLOURS = {
    "white", "red", "pink", "blue", "orange", "green", "yellow", "purple", "magenta"
}  # fmt: skip


@dataclass
class Graph:
    """The lines and dots of an xplot file, by colour; times are texts, as the file has them."""

    lines: dict[str, list[tuple[str, float, str, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    dots: dict[str, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, text: str) -> Graph:
        """The graph in `text`."""
        graph = cls()
        colour = "white"
        lines = iter(text.splitlines()[1:])
        for line in lines:
            words = line.split()
            if line in COLOURS:
                colour = line
            elif words[0] in ("title", "xlabel", "ylabel", "atext", "btext", "ltext", "rtext"):
                next(lines)
            elif words[0] == "line":
                graph.lines[colour].append((words[1], float(words[2]), words[3], float(words[4])))
            elif words[0] == "dot":
                # A colour may stand at its end.
                of = words[3] if len(words) > 3 else colour
                graph.dots[of].append((words[1], float(words[2])))
        return graph

    def bars(self, *colours: str, base: int = 0) -> list[tuple[str, int, int]]:
        """Time, foot and head of each vertical line in any of these colours, above `base`."""
        return sorted(
            (at, int(foot) - base, int(head) - base)
            for colour in colours
            for at, foot, until, head in self.lines[colour]
            if at == until and foot != head
        )

    def corners(self, colour: str, base: int = 0) -> set[tuple[str, int]]:
        """The ends of all lines in this colour, above `base`."""
        return {
            (at, int(y) - base)
            for x0, y0, x1, y1 in self.lines[colour]
            for at, y in ((x0, y0), (x1, y1))
        }


class Screen:
    """An X server that draws into a file."""

    def __init__(self, display: str, frame: Path) -> None:
        self._display = display
        self._frame = frame

    def shows(self, file: Path) -> set[tuple[int, int, int]]:
        """The colours on the screen once xplot has drawn `file`.

        Fails with what xplot says if it does not.
        """
        environment = {**os.environ, "DISPLAY": f":{self._display}"}
        command = ["xplot.org", str(file)]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as xplot:
            try:
                return self._colours_drawn(xplot)
            finally:
                xplot.kill()
                xplot.wait()
                self._clear()

    def _colours_drawn(self, xplot: subprocess.Popen[bytes]) -> set[tuple[int, int, int]]:
        def drawn() -> bool:
            # It ends by itself only if it cannot read the file.
            assert xplot.poll() is None, xplot.communicate()[1].decode()
            return len(self._colours()) > 1

        await_that(drawn, "what xplot draws")
        return self._colours()

    def _clear(self) -> None:
        """Waits until the window is gone."""
        await_that(lambda: len(self._colours()) <= 1, "the end of xplot's window")

    def _colours(self) -> set[tuple[int, int, int]]:
        data = self._frame.read_bytes()
        # An X window dump: its header, a table of colours, rows of pixels.
        head = np.frombuffer(data[:100], ">u4")
        start, width, height, row = head[0] + 12 * head[19], head[4], head[5], head[12]
        pixels = np.frombuffer(data[start : start + row * height], np.uint8)
        shown = pixels.reshape(height, row)[:, : 4 * width].reshape(-1, 4)[:, :3]
        return {(int(r), int(g), int(b)) for b, g, r in np.unique(shown, axis=0)}


@contextmanager
def screen(folder: Path) -> Iterator[Screen]:
    """An X server with a screen of its own, for a while."""
    get, put = os.pipe()
    command = ["Xvfb", "-displayfd", str(put), "-screen", "0", "640x480x24", "-fbdir", str(folder)]
    server = subprocess.Popen(command, pass_fds=[put], stderr=subprocess.DEVNULL)
    os.close(put)
    try:
        with os.fdopen(get) as answer:
            display = answer.readline().strip()
        yield Screen(display, folder / "Xvfb_screen0")
    finally:
        server.terminate()
        server.wait()
