"""A report: tables, figures and one page, from the store alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cclab import shown, whole
from cclab.errors import InputError
from cclab.late import late
from cclab.plan import short_key
from cclab.report import stamp
from cclab.store import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cclab import pages
    from cclab.measure.points import Measured
    from cclab.measure.results import Results
    from cclab.plan import Plan
    from cclab.report import explore, figures, page, tables, told
    from cclab.report.figures import Asked
    from cclab.report.told import Told
else:
    pages = late("cclab.pages")
    explore = late("cclab.report.explore")
    figures = late("cclab.report.figures")
    page = late("cclab.report.page")
    tables = late("cclab.report.tables")
    told = late("cclab.report.told")

__all__ = [
    "EXPLORE",
    "PAGE",
    "check",
    "fragment_of",
    "kept",
    "refresh",
    "runs_called",
    "write",
    "write_explored",
    "write_figure",
    "write_leading",
]

PAGE = "index.html"
EXPLORE = "sweep.html"
LEADING = "show.html"


def kept(plan: Plan, out: Path) -> Told | None:
    """What is to be told of the results of all runs of `plan`, if `out` has a report of them that
    is as it was written: neither they nor what draws figures is needed then."""
    if not stamp.is_of(plan, [run.id for run in plan.runs], out):
        return None
    try:
        return told.Told.read(disk.read(out / told.FILE))
    except (OSError, ValueError):
        return None  # One of before it was kept.


def refresh(
    results: Results,
    out: Path,
    series: Sequence[str] = (),
    said: Callable[[], Told] | None = None,
) -> Path:
    """Writes the report as `write` does, unless `out` has a report of the same results.

    If that lacks the time series of one of the runs `series`, given by their ids, `sweep.html`
    alone is written anew.
    """
    if not stamp.current(results, out):
        return write(results, out, series=series, said=said)
    # Without any there is nothing to look for, and nothing to load that looks.
    if series and not explore.with_series((out / EXPLORE).read_text("utf-8")).issuperset(series):
        explored = {EXPLORE: explore.html(results, series).encode()}
        files = explored | {stamp.FILE: stamp.renewed(out, explored)}
        whole.files(out, files, gone=[stamp.FILE], root=results.store.path)
    return out / PAGE


def runs_called(results: Results, beginnings: Sequence[str]) -> list[Measured]:
    """The runs whose ids begin so. Raises `InputError` if one is that of none, or of several."""
    return [explore.run_called(results, beginning) for beginning in beginnings]


def fragment_of(opened: Sequence[Measured]) -> str:
    """What behind the address of `sweep.html` opens a run, or two; nothing for none."""
    return "&".join(f"{k}={v.run.id}" for k, v in zip(("run", "with"), opened, strict=False))


def write_leading(results: Results, out: Path, explored: Path, fragment: str) -> Path:
    """Writes the page that leads to `fragment` of `sweep.html`, the file `explored`, into `out`,
    its folder or another."""
    address = EXPLORE if explored.parent == out else explored.absolute().as_uri()
    leading = pages.render(__name__, "leading.html.j2", address=f"{address}#{fragment}")
    whole.files(out, {LEADING: leading.encode()}, root=results.store.path)
    return out / LEADING


def write_explored(results: Results, out: Path, series: Sequence[str] = ()) -> Path:
    """Writes `sweep.html` alone into `out`, with the time series of the runs `series`."""
    whole.files(out, {EXPLORE: explore.html(results, series).encode()})
    return out / EXPLORE


def write(
    results: Results,
    out: Path,
    formats: Sequence[str] = ("svg",),
    series: Sequence[str] = (),
    set: str | Sequence[str] | Mapping[str, object] = (),
    said: Callable[[], Told] | None = None,
) -> Path:
    """Writes the report of `results` into the folder `out` and gives the path of its page.

    `table.md`, `flows.csv`, `summary.csv`, `groups.csv` of groups, `traffic.csv` of cross traffic,
    `probes.csv` of probes, each figure in each of `formats` (`svg`, `pdf`, `png`), `index.html`,
    which holds all of it and loads nothing, `sweep.html`, on which every run is a point, with
    its time series if there is room, and `told.json`, which `kept` reads. Runs whose ids begin with
    one of `series` come first. `set` says how figures look, as `figure.KEY=VALUE` texts or in a
    dict (docs/figures.md). `said` gives what there is to tell of `results`, for who needs it too.
    Equal results give equal bytes. Copies of the process do a part of it where Python has no
    other threads (`os.fork`). Raises `InputError` for another format, run or key and `StoreError`
    if the folder cannot be written.
    """
    check(formats=formats)
    looks = figures.set_by(set, report=True)
    # Copies are at it while this process does what is its own.
    with (
        explore.begun(results, series) as exploring,
        page.drawing(results, looks, formats) as drawing,
    ):
        to_tell = told.Told.of(results) if said is None else said()
        traffic, groups, probes = results.traffic, results.groups, results.probes
        texts = {
            "table.md": tables.markdown(results),
            "flows.csv": tables.csv(results.flows),
            "bottlenecks.csv": tables.csv(results.bottlenecks),
            "summary.csv": tables.csv(results.summary),
            **({"groups.csv": tables.csv(groups)} if groups.height else {}),
            **({"traffic.csv": tables.csv(traffic)} if traffic.height else {}),
            **({"probes.csv": tables.csv(probes)} if probes.height else {}),
        }
        explored = exploring()
        drawn = drawing()
    files = {
        **{name: text.encode() for name, text in texts.items()},
        **{
            f"{kind.name}.{ending}": of_kind[ending]
            for kind, of_kind in drawn.figures
            for ending in formats
        },
        told.FILE: to_tell.text(),
        EXPLORE: explored.encode(),
        PAGE: page.html(results, drawn, to_tell).encode(),
    }
    every = (f"{kind.name}.{ending}" for kind in figures.FIGURES for ending in figures.FORMATS)
    # Without its stamp, a report of which only some files are new is written again.
    gone = [stamp.FILE, *(name for name in every if name not in files)]
    whole.files(
        out, files | {stamp.FILE: stamp.text(results, files)}, gone=gone, root=results.store.path
    )
    return out / PAGE


def write_figure(
    results: Results,
    out: Path,
    name: str,
    asked: Asked,
    formats: Sequence[str] = ("svg",),
    set: str | Sequence[str] | Mapping[str, object] = (),
) -> list[Path]:
    """Writes one figure into the folder `out` in each of `formats` and gives the paths.

    A figure with choices has them in its file name, and does not overwrite the report's. `set` is
    that of `write`. Raises `InputError` for a wrong name, and `StoreError` if the folder cannot be
    written.
    """
    check(formats=formats)
    figure = figures.asked_for(results, name, asked, figures.set_by(set))
    words = [name, *asked.metrics, *map(short_key, asked.axes)]
    words += [word for key, values in asked.where for word in (short_key(key), *values)]
    stem = "-".join(re.sub(r"[^A-Za-z0-9_.+]+", "-", word).strip("-.") for word in words)
    saved = {f"{stem}.{ending}": figures.saved(figure, ending) for ending in formats}
    whole.files(out, saved, root=results.store.path)
    return [out / name for name in saved]


def check(names: Sequence[str] = (), formats: Sequence[str] = (), set: Sequence[str] = ()) -> None:
    """Raises `InputError` if there is no such figure, format or setting."""
    figures.set_by(set, report=not names)
    for name in names:
        figures.kind_called(name)
    unknown = [ending for ending in formats if ending not in figures.FORMATS]
    if unknown:
        known = ", ".join(figures.FORMATS)
        raise InputError(f"no format {shown.quoted(unknown[0])} for figures; they are {known}")
