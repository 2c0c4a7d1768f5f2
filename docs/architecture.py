"""Draws docs/figures/architecture.svg: the crates in layers, by their dependencies.

Usage: make architecture, or docs/architecture.py [FILE.svg]

A crate stands one layer above the highest crate that it depends on, so every arrow points down. An
arrow that follows from others is left out: cclab-tcp knows cclab-units through cclab-cc.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/figures/architecture.svg"

BOX_WIDTH, BOX_HEIGHT = 176, 74
GAP = 14
"""Pixels between neighbours in a layer; an arrow that passes a layer takes no more room."""
RISE = 46
"""Pixels between layers."""
MARGIN = 14
SWEEPS = 24
"""How often the layers are sorted, up and down; the order is stable long before."""


class Crate(NamedTuple):
    """What the manifest of a crate says of it."""

    description: str
    dependencies: frozenset[str]


class Slot(NamedTuple):
    """A place in a layer: of a crate, or of an arrow that passes the layer on its way."""

    layer: int
    name: str
    passing: bool = False

    @property
    def width(self) -> int:
        return 0 if self.passing else BOX_WIDTH


PYTHON = Crate(
    "The library and the command line: plans, runs, stores, measures and reports studies",
    frozenset({"py"}),
)
"""The Python package, which stands above the crates."""


def crates() -> dict[str, Crate]:
    """The crates of the workspace by name, without `cclab-`. Dependencies of tests do not count."""
    answer = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    packages = json.loads(answer.stdout)["packages"]
    return {
        package["name"].removeprefix("cclab-"): Crate(
            package["description"],
            frozenset(
                dependency["name"].removeprefix("cclab-")
                for dependency in package["dependencies"]
                if dependency.get("path") and dependency["kind"] is None
            ),
        )
        for package in sorted(packages, key=lambda package: package["name"])
    }


def layers(known: dict[str, Crate]) -> dict[str, int]:
    """The layer of each crate; 0 is the lowest."""
    layer: dict[str, int] = {}
    while len(layer) < len(known):
        for name, crate in known.items():
            if name not in layer and crate.dependencies <= layer.keys():
                layer[name] = 1 + max((layer[lower] for lower in crate.dependencies), default=-1)
    return layer


def arrows(known: dict[str, Crate]) -> list[tuple[str, str]]:
    """Each crate with the crates below it that it knows through no other."""
    reached: dict[str, frozenset[str]] = {}
    for name in sorted(known, key=layers(known).__getitem__):
        direct = known[name].dependencies
        reached[name] = direct.union(*(reached[lower] for lower in direct))
    return [
        (name, lower)
        for name, crate in known.items()
        for lower in sorted(crate.dependencies)
        if not any(lower in reached[between] for between in crate.dependencies)
    ]


def ways(layer: dict[str, int], edges: list[tuple[str, str]]) -> list[list[Slot]]:
    """For each arrow the slots that it touches, from above to below."""
    return [
        [
            Slot(layer[upper], upper),
            *(
                Slot(height, f"{upper} to {lower}", passing=True)
                for height in range(layer[upper] - 1, layer[lower], -1)
            ),
            Slot(layer[lower], lower),
        ]
        for upper, lower in edges
    ]


def arranged(layer: dict[str, int], lines: list[list[Slot]]) -> dict[Slot, float]:
    """The middle of each slot from the left, where few arrows cross: near the mean of its ends."""
    slots = {Slot(height, name) for name, height in layer.items()}.union(*lines)
    rows = [sorted(s for s in slots if s.layer == height) for height in sorted(set(layer.values()))]
    ends: dict[Slot, list[Slot]] = {slot: [] for slot in slots}
    for line in lines:
        for upper, lower in pairwise(line):
            ends[upper].append(lower)
            ends[lower].append(upper)
    middle = {slot: x for row in rows for slot, x in _side_by_side(row).items()}
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 else reversed(rows):
            wish = {
                slot: sum(middle[end] for end in ends[slot]) / len(ends[slot])
                if ends[slot]
                else middle[slot]
                for slot in row
            }
            middle |= _side_by_side(sorted(row, key=lambda slot: (wish[slot], slot)))
    return middle


def _side_by_side(row: list[Slot]) -> dict[Slot, float]:
    """The slots of a layer from left to right, about 0."""
    total = sum(slot.width + GAP for slot in row) - GAP
    left = -total / 2
    middle = {}
    for slot in row:
        middle[slot] = left + slot.width / 2
        left += slot.width + GAP
    return middle


def picture() -> str:
    """The SVG as the manifests of today give it; the same crates give the same text."""
    return _svg(crates() | {"python/cclab": PYTHON})


def _svg(known: dict[str, Crate]) -> str:
    layer = layers(known)
    lines = ways(layer, arrows(known))
    middle = arranged(layer, lines)
    leftmost = min(x - slot.width / 2 for slot, x in middle.items())
    rightmost = max(x + slot.width / 2 for slot, x in middle.items())
    top = max(layer.values())
    width = rightmost - leftmost + 2 * MARGIN
    height = (top + 1) * (BOX_HEIGHT + RISE) - RISE + 2 * MARGIN

    def x(slot: Slot) -> float:
        return middle[slot] - leftmost + MARGIN

    def y(slot: Slot) -> float:
        return (top - slot.layer) * (BOX_HEIGHT + RISE) + MARGIN

    def way(line: list[Slot]) -> str:
        points = [f"M{x(line[0]):.0f} {y(line[0]) + BOX_HEIGHT:.0f}"]
        for slot, following in pairwise(line):
            start, end = y(slot) + BOX_HEIGHT, y(following)
            bend = (start + end) / 2
            points.append(
                f"C{x(slot):.0f} {bend:.0f} {x(following):.0f} {bend:.0f} "
                f"{x(following):.0f} {end:.0f}"
            )
            if following.passing:
                points.append(f"V{end + BOX_HEIGHT:.0f}")
        return f'<path d="{" ".join(points)}"/>'

    boxes = []
    for name, height_of in sorted(layer.items(), key=lambda item: (-item[1], item[0])):
        slot = Slot(height_of, name)
        boxes.append(
            f'<rect x="{x(slot) - BOX_WIDTH / 2:.0f}" y="{y(slot):.0f}" '
            f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5"/>'
            f'<text class="name" x="{x(slot):.0f}" y="{y(slot) + 17:.0f}">{escape(name)}</text>'
        )
        text = textwrap.wrap(known[name].description, 31, max_lines=4, placeholder=" ...")
        for number, part in enumerate(text):
            base = y(slot) + 31 + 11 * number
            boxes.append(f'<text x="{x(slot):.0f}" y="{base:.0f}">{escape(part)}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}">',
            "<title>The crates of cclab; an arrow leads to what a crate depends on</title>",
            "<style>",
            "text{font:9.5px sans-serif;text-anchor:middle;fill:#333}",
            ".name{font:bold 13px sans-serif;fill:#111}",
            "rect{fill:#eef3fa;stroke:#5b7fa6}",
            "path{fill:none;stroke:#8a8a8a;marker-end:url(#tip)}",
            "</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto">'
            '<polygon points="0,0 8,4 0,8" fill="#8a8a8a"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{height:.0f}" style="fill:#fff;stroke:none"/>',
            *map(way, lines),
            *boxes,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(picture())
