"""The pages: one per published study, and one over all of them. They load nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

from cclab import pages, shown, whole
from cclab.drawing.style import svg
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
        DOCUMENT: (shown.json_text(described, indent=1) + "\n").encode(),
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
        ).encode(),
    }
    files |= {f"figures/{figure.name}.svg": picture for figure, picture in drawn}
    files |= {
        f"tables/{filled.table.name}-{filled.backend}.csv": _csv(filled).encode()
        for filled in reproduced.tables
    }
    within = {f"{folder.name}/{name}": content for name, content in files.items()}
    # What an earlier run drew or filled may be of no figure and no table of this one.
    earlier = [*folder.glob("figures/*.svg"), *folder.glob("tables/*.csv")]
    gone = {str(file.relative_to(out)) for file in earlier} - within.keys()
    summary = _summary(out, folder, described)
    whole.files(out, within | {PAGE: summary.encode()}, gone=sorted(gone))
    return folder / PAGE


def _summary(out: Path, folder: Path, described: dict[str, Any]) -> str:
    """The page over all studies whose documents are in `out`; that of `folder` is `described`."""
    documents: list[dict[str, Any]] = []
    for file in sorted({*out.glob(f"*/{DOCUMENT}"), folder / DOCUMENT}):
        written = described if file.parent == folder else json.loads(file.read_bytes())
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
