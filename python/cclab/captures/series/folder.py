"""The folder that `cclab analyze --out` fills: tables, series, figures, graphs and the page."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cclab import shown, whole
from cclab.captures.series import ACROSS, SERIES, TALKS
from cclab.captures.series.tables import SACKS, SEGMENTS
from cclab.captures.series.talks import DATAGRAMS
from cclab.errors import InputError, RunError
from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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
_SCHEMA = "cclab-analyze-folder/2"


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """An empty folder for one analysis, which becomes `path` when `fill` has filled it.

    What an earlier analysis wrote there is replaced as a whole. Raises as `whole.folder` does, and
    `InputError` if `path` holds anything else.
    """
    with whole.folder(path, _refuse_strangers) as place:
        try:
            yield place
        except RunError as error:
            raise RunError(str(error).replace(str(place), str(path))) from error


def _refuse_strangers(path: Path) -> None:
    """Raises `InputError` unless `path` holds what an analysis wrote, as it wrote it."""
    listed = _listed(path / _OWN)
    if listed is None:
        raise InputError(
            f"{path} is not empty, and no analysis wrote what is in it: choose another --out"
        )
    there = {entry.name: entry for entry in path.iterdir() if entry.name != _OWN}
    strange = sorted(there.keys() - listed.keys())
    if strange:
        others = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise InputError(
            f"{path / strange[0]}{others} would be lost, and no analysis wrote it: "
            "move it elsewhere, or choose another --out"
        )
    for name, entry in sorted(there.items()):
        if _digest(entry) != listed[name]:
            raise InputError(
                f"{entry} is not as an analysis wrote it, and would be lost: "
                "move it elsewhere, or choose another --out"
            )


def _listed(file: Path) -> dict[str, str] | None:
    """The digests of the files that an analysis wrote, by name; None if `file` lists none."""
    if file.is_symlink() or not file.is_file():
        return None
    try:
        document = json.loads(file.read_bytes())
        if document["schema"] != _SCHEMA:
            return None
        return {str(name): str(digest) for name, digest in document["files"].items()}
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _digest(file: Path) -> str | None:
    """The digest of `file`; None of what is none, such as a link."""
    if file.is_symlink() or not file.is_file():
        return None
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fill(
    place: Path,
    capture: Capture,
    title: str,
    connections: Sequence[int] | None = None,
    formats: Sequence[str] = (),
) -> None:
    """Writes all of `capture` into `place`, which `folder` gave.

    The tables of its packets may be there already. Series are those of `connections`, the
    `MOST_CONNECTIONS` with the most data if None. Raises `OSError` if it cannot be written, and
    `InputError` if there is no such connection or format.
    """
    tables = capture.tables
    chosen = tables.largest(MOST_CONNECTIONS) if connections is None else sorted(set(connections))
    for number in chosen:
        tables.main_sender(number)
    unknown = [f for f in formats if f not in FORMATS]
    if unknown:
        raise InputError(
            f"no format {shown.quoted(unknown[0])} for series; they are {', '.join(FORMATS)}"
        )
    if tables.folder != place:
        for name in (SEGMENTS, SACKS, DATAGRAMS):
            shutil.copyfile(tables.folder / name, place / name)
    for name, content in contents(title, capture.document, capture.flows, chosen, formats):
        (place / name).write_bytes(content)
    digests = {file.name: _digest(file) for file in sorted(place.iterdir())}
    document = {"schema": _SCHEMA, "files": digests}
    (place / _OWN).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


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
