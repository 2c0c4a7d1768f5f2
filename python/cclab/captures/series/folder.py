"""The folder that `cclab analyze --out` fills: tables, series, figures, graphs and the page."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cclab import shown
from cclab.captures.series import ACROSS, SERIES, TALKS
from cclab.captures.series.tables import SACKS, SEGMENTS
from cclab.captures.series.talks import DATAGRAMS
from cclab.errors import InputError, StoreError
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from cclab.captures import Capture
    from cclab.captures.series import figures, page, xplot
    from cclab.captures.series.flows import Flows
else:
    figures = late("cclab.captures.series.figures")
    page = late("cclab.captures.series.page")
    xplot = late("cclab.captures.series.xplot")

PAGE = "index.html"
DOCUMENT = "analysis.json"
CONNECTIONS = "connections.parquet"
CONVERSATIONS = "conversations.parquet"
FORMATS = ("csv", "parquet", "xplot")
"""What series can be written as, beside the figures and the page."""
MOST_CONNECTIONS = 5
"""Connections whose series are written if nobody chooses: those with the most data. So many
conversations over UDP have series, whatever is chosen."""

_OWN = "contents.json"
_FIXED = (CONNECTIONS, CONVERSATIONS, SEGMENTS, SACKS, DATAGRAMS, DOCUMENT, PAGE)


class Folder:
    """A folder for one analysis. It knows what an earlier one left in it."""

    def __init__(self, path: Path) -> None:
        """The one at `path`, which need not be there yet.

        Raises `InputError` if it holds a file that would be overwritten and that no analysis
        wrote, and `StoreError` if it cannot be used.
        """
        self.path = path
        self._made = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
            known = path / _OWN
            self._earlier = _plain(known.read_bytes()) if known.exists() else set()
        except (ValueError, LookupError, TypeError):
            raise InputError(
                f"{path / _OWN} is no list of files that an analysis wrote; choose another --out"
            ) from None
        except OSError as error:
            raise StoreError(f"cannot use {path}: {error.strerror}") from error
        self._refuse_strangers(_FIXED)
        self._written = {*_FIXED, _OWN}
        # Whatever becomes of this analysis, the next one may replace what it leaves.
        self._remember(self._earlier | set(_FIXED))

    def put(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Writes `files` beside the tables that are there already, and removes what an earlier
        analysis wrote and this one does not. Raises as the constructor does.
        """
        now = set(_FIXED)
        try:
            for name, content in files:
                self._refuse_strangers([name])
                now.add(name)
                self._written.add(name)
                self._remember(self._earlier | now)
                # A link in the place of the file is replaced, not followed.
                part = self.path / f"{name}.part"
                part.write_bytes(content)
                part.replace(self.path / name)
            for name in self._earlier - now:
                (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {self.path}: {error.strerror}") from error
        self._remember(now)

    def abandon(self) -> None:
        """Takes back what was written, for an analysis that came to nothing.

        It raises nothing: what ended the analysis is what is to be told.
        """
        # Files of an earlier analysis may be half replaced: the next one knows of all of them.
        with suppress(OSError):
            if not self._earlier:
                for name in self._written:
                    (self.path / name).unlink(missing_ok=True)
                    (self.path / f"{name}.part").unlink(missing_ok=True)
            if self._made:
                self.path.rmdir()

    def _refuse_strangers(self, names: Sequence[str]) -> None:
        strange = [n for n in names if n not in self._earlier and (self.path / n).exists()]
        if strange:
            more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
            raise InputError(
                f"{self.path / strange[0]}{more} would be overwritten, and no analysis wrote it; "
                "choose another --out"
            )

    def _remember(self, names: set[str]) -> None:
        document = {"schema": "cclab-analyze-folder/1", "files": sorted(names)}
        try:
            (self.path / _OWN).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot write to {self.path}: {error.strerror}") from error


def _plain(contents: bytes) -> set[str]:
    """The names in `contents`. Raises `ValueError` if one leads out of the folder."""
    names = {str(name) for name in json.loads(contents)["files"]}
    if any(name != Path(name).name or name == ".." for name in names):
        raise ValueError(f"not plain names: {names}")
    return names


def fill(
    folder: Folder,
    capture: Capture,
    title: str,
    connections: Sequence[int] | None = None,
    formats: Sequence[str] = (),
) -> Path:
    """Writes all of `capture` into `folder` and gives the path of its page.

    Series are those of `connections`, the `MOST_CONNECTIONS` with the most data if None. Raises as
    `Folder` does, and `InputError` if there is no such connection or format.
    """
    tables = capture.tables
    chosen = tables.largest(MOST_CONNECTIONS) if connections is None else sorted(set(connections))
    for number in chosen:
        tables.main_sender(number)
    unknown = [f for f in formats if f not in FORMATS]
    if unknown:
        raise InputError(f"no format {unknown[0]!r} for series; they are {', '.join(FORMATS)}")
    try:
        for name in (SEGMENTS, SACKS, DATAGRAMS):
            if tables.folder.resolve() != folder.path.resolve():
                shutil.copyfile(tables.folder / name, folder.path / name)
    except OSError as error:
        raise StoreError(f"cannot write to {folder.path}: {error.strerror}") from error
    folder.put(contents(title, capture.document, capture.flows, chosen, formats))
    return folder.path / PAGE


def contents(
    title: str,
    document: dict[str, Any],
    flows: Flows,
    connections: Sequence[int],
    formats: Sequence[str] = (),
) -> Iterator[tuple[str, bytes]]:
    """The files of an analysis but for the tables of segments, by name, one after the other.

    The page, the figures, and series in each of `formats`, are those of `connections` and of the
    `MOST_CONNECTIONS` conversations with the most payload; `title` is
    the page's, and `document` is what `cclab analyze --json` prints. Equal tables give equal bytes.
    """
    tables, talks = flows.tables, flows.talks
    yield CONNECTIONS, _parquet(tables.connections)
    yield CONVERSATIONS, _parquet(talks.conversations)
    yield DOCUMENT, (shown.json_text(document, indent=2) + "\n").encode()
    for over in figures.ACROSS:
        drawing = figures.figure(flows, over.name)
        if drawing is not None:
            yield f"{over.name}.svg", figures.svg(drawing)
    for across in ACROSS:
        yield from _written(across.name, across.compute(flows, None), formats)
    drawn = []
    for number in connections:
        for sender in tables.carrying(number):
            direction = tables.direction(number, sender)
            drawn.append(page.drawn(direction))
            for kind in figures.FIGURES:
                drawing = figures.drawn(kind, direction)
                if drawing is not None:
                    yield f"{direction.name}_{kind.name}.svg", figures.svg(drawing)
            for series in SERIES if set(formats) - {"xplot"} else ():
                name = f"{direction.name}_{series.name}"
                yield from _written(name, series.compute(direction), formats)
            if "xplot" in formats:
                yield from xplot.files(direction)
    for number in talks.largest(MOST_CONNECTIONS):
        for sender in talks.carrying(number):
            talk = talks.talk(number, sender)
            drawn.append(page.drawn_talk(talk))
            for look in figures.TALKS:
                drawing = figures.figure_of_talk(talk, look.name)
                if drawing is not None:
                    yield f"{talk.name}_{look.name}.svg", figures.svg(drawing)
            for kept in TALKS if set(formats) - {"xplot"} else ():
                yield from _written(f"{talk.name}_{kept.name}", kept.compute(talk), formats)
            if "xplot" in formats:
                yield from xplot.files_of_talk(talk)
    yield PAGE, page.html(title, document, flows, drawn).encode()


def _written(name: str, frame: pl.DataFrame, formats: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """A series in each of the formats that are tables."""
    if "csv" in formats:
        yield f"{name}.csv", frame.write_csv().encode()
    if "parquet" in formats:
        yield f"{name}.parquet", _parquet(frame)


def _parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()
