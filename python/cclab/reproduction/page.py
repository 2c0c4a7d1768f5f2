"""The pages: one per published study, and one over all of them. They load nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

from cclab import pages, shown
from cclab.drawing.style import svg
from cclab.errors import StoreError
from cclab.reproduction import SCHEMA, document, printed

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.reproduction import Reproduced
    from cclab.reproduction.printed import Cell, Filled

PAGE = "index.html"
DOCUMENT = "reproduction.json"

_PACKAGE = "cclab.reproduction"


def write(reproduced: Reproduced, out: Path) -> Path:
    """Writes the page of a study into its folder of `out`, with its figures, tables and document,
    and then the page over all studies that `out` holds. Gives the path of the study's page.

    Raises `StoreError` if the folder cannot be written.
    """
    folder = out / reproduced.published.name
    drawn = [(figure, svg(figure.drawing)) for figure in reproduced.figures()]
    described = document.of(reproduced)
    files = {
        DOCUMENT: shown.json_text(described, indent=1) + "\n",
        PAGE: pages.render(
            _PACKAGE,
            "study.html.j2",
            reproduced=reproduced,
            says=reproduced.published.says,
            document=described,
            tables=reproduced.tables,
            figures=[(d, pages.figure(d.name, d.figure.title, picture)) for d, picture in drawn],
            number=number,
            percent=percent,
            within=printed.within,
        ),
    }
    try:
        for name in ("figures", "tables"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            for old in (folder / name).iterdir():
                old.unlink()
        for figure, picture in drawn:
            (folder / "figures" / f"{figure.name}.svg").write_bytes(picture)
        for filled in reproduced.tables:
            name = f"{filled.table.name}-{filled.backend}.csv"
            (folder / "tables" / name).write_text(_csv(filled), encoding="utf-8")
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        (out / PAGE).write_text(_summary(out), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write the report to {folder}: {error.strerror}") from error
    return folder / PAGE


def _summary(out: Path) -> str:
    """The page over all studies whose documents are in `out`."""
    documents: list[dict[str, Any]] = []
    for file in sorted(out.glob(f"*/{DOCUMENT}")):
        written = json.loads(file.read_bytes())
        if written.get("schema") == SCHEMA:
            documents.append(written)
    return pages.render(
        _PACKAGE,
        "summary.html.j2",
        documents=documents,
        verdicts=("reproduced", "not reproduced", "not supported by its set-up"),
        findings=("confirmed", "refuted", "open"),
        bounds=("0.02", "0.05", "0.1", "0.25"),
    )


def number(value: float | None, digits: int | None = None) -> str:
    """A number with four digits that count, or with `digits` after the point."""
    if value is None or not math.isfinite(value):
        return "–"
    if digits is None:
        digits = 0 if value == 0 else max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A relative difference."""
    return (
        "–"
        if value is None
        else f"{100 * value:+.2f}%"
        if abs(value) < 0.1
        else f"{100 * value:+.0f}%"
    )


def _csv(filled: Filled) -> str:
    """A table with every printed number, ours with its interval, and the difference."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [
        f"{column.title} {what}"
        for column in filled.table.columns
        for what in ("printed", "ours", "low", "high", "relative difference")
    ]
    writer.writerow([*filled.table.label, *heads])
    for row in filled.rows:
        writer.writerow([*row.labels, *(value for cell in row.cells for value in _values(cell))])
    return out.getvalue()


def _values(cell: Cell) -> list[float | None]:
    ours = cell.ours
    mine = [ours.mean, ours.low, ours.high] if ours else [None, None, None]
    return [cell.printed, *mine, cell.difference]
