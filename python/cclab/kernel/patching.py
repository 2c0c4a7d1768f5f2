"""How patches are laid on a source, and what is said of one that does not apply."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.kernel.source import disk_full, package
from cclab.kernel.workshop import StepError

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.kernel.recipe import Recipe
    from cclab.kernel.source import Source
    from cclab.kernel.workshop import Workshop


@dataclass(frozen=True)
class Refusal:
    """What `patch` could not do of a patch."""

    file: str
    """The file of the source."""
    why: str
    hunk: int | None = None
    """Which of the file's hunks, from 1; None if it is the whole file."""


def lay(tree: Path, recipe: Recipe, source: Source, workshop: Workshop) -> None:
    """Applies the patches of `recipe`. Raises `InputError` that says which does not apply where."""
    for name, content in recipe.patches:
        file = workshop.path / name
        file.write_text(content, encoding="utf-8")
        command = ["patch", "-p1", "--batch", "--forward", "-d", str(tree), "-i", str(file)]
        try:
            workshop.run(command)
        except StepError as error:
            if disk_full(error):
                raise
            told = "".join(f"\n  {line}" for line in _told(name, content, error.output))
            raise InputError(
                f"{name} does not apply to the Linux {source.series} of {source.tarball}:{told}\n"
                f"{_made_for(recipe, source.series)}"
            ) from error


def missing(recipe: Recipe, series: str) -> str:
    """That the patches are none of the source's series; empty if they are, or the user's own."""
    if recipe.own_patches or recipe.origin == series:
        return ""
    return f"no patches for Linux {series} come with cclab; those for {recipe.origin} are tried"


def refusals(output: list[str]) -> list[Refusal]:
    """What `patch` refused, by what it said."""
    refused: list[Refusal] = []
    file, named = "", ""
    for line in output:
        match line.split(" "):
            case ["patching" | "checking", "file", *words]:
                file = " ".join(words).strip("'")
            case ["Hunk", number, "FAILED", "at", at, *_]:
                refused.append(Refusal(file, f"sought at line {at.rstrip('.')}", int(number[1:])))
            case ["|+++", path, *_]:
                named = path.split("\t")[0].partition("/")[2]
            case ["No", "file", "to", "patch.", *_]:
                refused.append(Refusal(named, "no such file"))
            case ["Reversed", *_]:
                refused.append(Refusal(file, "it is patched already"))
            case ["The", "next", "patch", "would", "create", "the", "file", *words]:
                file = " ".join(words).rstrip(",")
            case ["which", "already", "exists!", *_]:
                refused.append(Refusal(file, "it is there already"))
            case ["patch:", "****", *words]:
                refused.append(Refusal(file, " ".join(words)))
    return refused


def _told(name: str, content: str, output: list[str]) -> list[str]:
    """A line for each thing that was refused, with the place of its hunk in the patch."""
    places = _hunks(content)
    lines = []
    for refusal in refusals(output):
        what = f"{refusal.file}: " if refusal.file else ""
        if refusal.hunk is not None:
            place = places.get((refusal.file, refusal.hunk))
            what += f"hunk {refusal.hunk}" + (f" ({name}:{place}), " if place else ", ")
        lines.append(what + refusal.why)
    return lines or output[-1:]


def _hunks(content: str) -> dict[tuple[str, int], int]:
    """In which line of a patch the hunks of each file begin."""
    places: dict[tuple[str, int], int] = {}
    file, count = "", 0
    for number, line in enumerate(content.splitlines(), 1):
        if line.startswith("+++ "):
            file, count = line[4:].split("\t")[0].partition("/")[2], 0
        elif re.match(r"@@ -\d", line):
            count += 1
            places[file, count] = number
    return places


def _made_for(recipe: Recipe, series: str) -> str:
    if recipe.own_patches:
        return f"the patches are those in {recipe.origin}"
    debian = f"Debian's {package(recipe.origin)}"
    if recipe.origin == series:
        return f"the patches are made for {debian}; --patches FOLDER takes others"
    return f"{missing(recipe, series)}: they are made for {debian}; --patches FOLDER takes others"
