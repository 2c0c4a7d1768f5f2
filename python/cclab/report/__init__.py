"""A report: tables, figures and one page, from the store alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.errors import StoreError
from cclab.report import stamp, tables

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.results import Results

__all__ = ["PAGE", "refresh", "write"]

PAGE = "index.html"


def refresh(results: Results, out: Path) -> Path:
    """Writes the report as `write` does, unless the one in `out` is of these very results."""
    if stamp.current(results, out):
        return out / PAGE
    return write(results, out)


def write(results: Results, out: Path) -> Path:
    """Writes the report of `results` into the folder `out` and gives the path of its page.

    `table.md`, `flows.csv`, `summary.csv`, `traffic.csv` of cross traffic, one SVG per figure, and
    `index.html`, which holds all of it and loads nothing. Equal results give equal bytes. Raises
    `StoreError` if the folder cannot be written.
    """
    # They take longer to load than most reports take to check.
    from cclab.report import figures, page

    drawn = page.draw(results)
    traffic = results.traffic
    files = {
        "table.md": tables.markdown(results).encode(),
        "flows.csv": tables.csv(results.flows).encode(),
        "bottlenecks.csv": tables.csv(results.bottlenecks).encode(),
        "summary.csv": tables.csv(results.summary).encode(),
        **({"traffic.csv": tables.csv(traffic).encode()} if traffic.height else {}),
        **{f"{kind.name}.svg": svg for kind, svg in drawn},
        PAGE: page.html(results, drawn).encode(),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        stamp.remove(out)
        for kind in figures.FIGURES:
            if f"{kind.name}.svg" not in files:
                (out / f"{kind.name}.svg").unlink(missing_ok=True)
        for name, content in files.items():
            (out / name).write_bytes(content)
        stamp.put(results, out, {name: len(content) for name, content in files.items()})
    except OSError as error:
        raise StoreError(f"cannot write the report to {out}: {error.strerror}") from error
    return out / PAGE
