"""The page of runs, opened in the user's browser."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import report as reports
from cclab.errors import InputError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cclab.measure.results import Results


def show(
    measured: Results,
    run: str | None,
    beside: str | None,
    note: Callable[[str], None],
    *,
    opens: bool,
) -> str:
    """The page of runs, at `run` with `beside` next to it if they are given: its path, or its
    address where a run is named. It is opened if it `opens`.

    `note` is told what a reader would miss. Raises `InputError` if there are no such runs, and
    `StoreError` if the page cannot be written.
    """
    if beside is not None and run is None:
        raise InputError("a run is laid beside another: name that too")
    asked = [beginning for beginning in (run, beside) if beginning is not None]
    chosen = reports.runs_called(measured, asked)
    for lacking in [drawn.run.id for drawn in chosen if not drawn.is_sampled]:
        note(f"run {lacking} recorded no samples: trace.interval is 0s, so it has no time series")
    page = _explored(measured, [drawn.run.id for drawn in chosen if drawn.is_sampled], note)
    fragment = reports.fragment_of(chosen)
    if opens:
        # Desktops open files, and lose what stands behind their names: a page leads there.
        _open(_leading(measured, page, fragment) if fragment else page, note)
    return f"{page.as_uri()}#{fragment}" if fragment else str(page)


def _explored(measured: Results, series: Sequence[str], note: Callable[[str], None]) -> Path:
    """The page of runs, with the `series` of these: in the report or, where none can be written,
    elsewhere."""
    folder = measured.store.path
    out = folder / "report"
    try:
        reports.refresh(measured, out, series)
    except StoreError as error:
        if not error.of_read_only:
            raise
        page = reports.write_explored(measured, _elsewhere(), series)
        note(f"{folder} can only be read: the page is in {page.parent}, until you remove that")
        return page.absolute()
    return (out / reports.EXPLORE).absolute()


def _leading(measured: Results, page: Path, fragment: str) -> Path:
    """A page that leads to a place in `page`: beside it or, if none can be written, elsewhere."""
    try:
        return reports.write_leading(measured, page.parent, page, fragment).absolute()
    except StoreError as error:
        if not error.of_read_only:
            raise
        return reports.write_leading(measured, _elsewhere(), page, fragment).absolute()


def _elsewhere() -> Path:
    """A new folder that stays: when a browser has read what is in it is not known."""
    try:
        return Path(tempfile.mkdtemp(prefix="cclab-show-"))
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"cannot make a temporary folder: {reason}; set TMPDIR to one") from error


def _open(page: Path, note: Callable[[str], None]) -> None:
    """Opens a page in the user's browser, if there is one that has a window."""
    if not _has_display():
        note("there is no display to open it on; open it in a browser")
        return
    try:
        is_open = webbrowser.open(page.as_uri())
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        note("no browser could be started; open it in one, or name one in BROWSER")


def _has_display() -> bool:
    """Whether a browser would have a window: one in the terminal cannot draw the page."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
