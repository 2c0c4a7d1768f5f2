"""The trace of a run as polars frames, in SI units and with the names of flows and links.

This is the one place that knows how a run's sealed file is read. The tables and their columns are
described in docs/trace-schema.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cclab import _core, shown
from cclab.errors import InputError, RunError, StoreError
from cclab.late import late
from cclab.store import disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import polars as pl
else:
    # Whether a capture is as it was written with its run is told without them.
    np = late("numpy")
    pl = late("polars")

TABLES = (
    "flow_samples",
    "queue_samples",
    "acks",
    "queue_events",
    "drops",
    "variant_states",
    "flows",
    "datagrams",
    "resumptions",
    "frames",
    "links",
    "bands",
    "traffic",
    "transfers",
    "probes",
    "probe_samples",
    "histograms",
)
"""The tables a trace can have; which of them it has is the study's choice (`[trace]`)."""

PHASE = "phase"
"""The column of the states of variants that are machines."""

_SECONDS = 1e-9

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError)
"""What reading an archive raises that is damaged; what the system refuses is no damage."""


class Trace:
    """The trace of a run: what its sealed file holds, and the packet captures beside it."""

    def __init__(self, file: Path, captures: Path) -> None:
        """The trace in the sealed `file`, with captures in the folder `captures`."""
        self.file = file
        self.captures = captures

    def names(self) -> list[str]:
        """What the run's file holds. Raises `RunError` if it cannot be read."""
        with self._opened() as archive:
            return archive.namelist()

    def bytes(self, name: str) -> bytes:
        """A member of the run's file, such as `summary.json` or what a program printed.

        Raises `FileNotFoundError` if there is no such member, and `RunError` if the file cannot be
        read or is damaged there.
        """
        try:
            with self._opened() as archive:
                return archive.read(name)
        except KeyError:
            raise FileNotFoundError(f"{self.file}: there is no {name} in it") from None
        except _DAMAGED as error:
            raise RunError(f"{self.file}: {name} is damaged: {error}") from error
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"cannot read {self.file}: {disk.reason(error)}") from error

    def listed_captures(self) -> list[str]:
        """The names of the packet captures that belong to the run. Raises `RunError` if the list is
        damaged, or names what is elsewhere."""
        return [*self._listed()]

    def check_capture(self, name: str) -> None:
        """Raises `RunError` if the file `name` is a capture of the run and not as it was written
        with it, or if the run's file does not tell."""
        state = self._state()
        if name in self._listed() and not self.is_as_written(name):
            raise RunError(f"{self.captures / name} is not as it was written")
        if state != "sound":
            raise RunError(f"{self.file}, which vouches for {name}, is {state}")

    def is_as_written(self, name: str) -> bool:
        """Whether the file `name` is the capture that was written with the run.

        Raises `RunError` if it cannot be read, or if the run's file does not tell."""
        written = self._listed().get(name)
        try:
            with disk.opened(self.captures / name) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            why = disk.reason(error)
            raise RunError(f"{self.captures / name}: cannot be read: {why}") from error
        return written is not None and digest == written["sha256"]

    def _listed(self) -> dict[str, dict[str, Any]]:
        try:
            listed = self._document("captures.json")
        except FileNotFoundError:
            return {}
        if any(PurePath(name).name != name for name in listed):
            raise RunError(f"{self.file}: it lists a capture elsewhere")
        return listed

    def _document(self, name: str) -> dict[str, Any]:
        """The member `name`, an object of JSON. Raises as `bytes` does."""
        try:
            document = json.loads(self.bytes(name))
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.file}: {name} is no JSON: {error}") from error
        if not isinstance(document, dict):
            raise RunError(f"{self.file}: {name} is no object")
        return document

    def text(self, name: str) -> str:
        """As `bytes`, of a text; what is not UTF-8 in it is replaced."""
        return self.bytes(name).decode(errors="replace")

    def capture(self, point: str) -> Path:
        """The packet capture of a point, if the study asked for one."""
        return self.captures / f"{quote(point, safe='-_.')}.pcapng"

    @property
    def summary(self) -> dict[str, Any]:
        """`summary.json`."""
        return self._document("summary.json")

    @property
    def end_s(self) -> float:
        """When the run ended."""
        return float(self.summary["end_ns"]) * _SECONDS

    def measured(self) -> str:
        """The metrics by the definitions at hand, as JSON. Raises `RunError` if it is damaged."""
        with tempfile.TemporaryDirectory(prefix="cclab-") as folder:
            try:
                with self._opened() as archive:
                    archive.extractall(folder)
            except _DAMAGED as error:
                raise RunError(f"{self.file} is damaged: {error}") from error
            except StoreError:
                raise
            except OSError as error:
                why = disk.reason(error)
                raise StoreError(f"cannot unpack {self.file} into {folder}: {why}") from error
            return _core.measure(folder)

    def has(self, table: str) -> bool:
        """Whether there are rows of `table`."""
        rows = self._rows(table)
        return rows is not None and not rows.is_empty()

    def rows(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The table `name` as it is stored, or `columns` of it.

        Raises `InputError` if there is no such table or the run did not record it.
        """
        if name not in TABLES:
            raise InputError(
                f"no table {shown.quoted(name)} in a trace; the tables are {', '.join(TABLES)}"
            )
        frame = self._rows(name, columns)
        if frame is None:
            raise InputError(f"this run recorded no {name}: [trace] in the study asks for it")
        return frame

    def table(self, name: str) -> pl.DataFrame:
        """The table `name`, with columns in nanoseconds in seconds (`time_ns` -> `time_s`), and
        the names of flows, links, sources of cross traffic and probes for their indices.

        Raises `InputError` as `rows` does.
        """
        frame = _in_seconds(self.rows(name))
        for column, owners in (
            # Indices of cross traffic follow those of flows, and those of probes follow both.
            ("flow", ("flows", "traffic", "probes")),
            ("link", ("links",)),
            ("source", ("traffic",)),
            ("probe", ("probes",)),
        ):
            if column in frame.columns and frame.schema[column].is_integer():
                names = [known for owner in owners for known in self._names(owner)]
                frame = _named(frame, column, names)
        return frame

    @property
    def bottleneck(self) -> str:
        """The name of the link under study: the first in every trace, whatever the study calls
        it."""
        return self._names("links")[0]

    def samples_of(self, flow: str) -> pl.DataFrame:
        """The sampled state of a flow while it lasted: what is sampled later is its last state."""
        frame = self.table("flow_samples").filter(flow=flow).sort("time_s")
        ended = self.table("flows").filter(name=flow)["ended_s"].item()
        return frame if ended is None else frame.filter(pl.col("time_s") <= ended)

    def states_of(self, flow: str) -> pl.DataFrame:
        """The inner state of a flow's variant, a row wherever it became another, with the columns
        that the variant declares. `until_s` is when the next row came, or the flow ended.

        Raises `InputError` if the run did not record it, or the variant declares nothing.
        """
        declared = dict(zip(self._names("flows"), self.summary.get("states", []), strict=False))
        if not declared.get(flow):
            raise InputError(
                f"no inner state of flow {shown.quoted(flow)}: its variant tells none, or "
                'the study did not ask for it (trace.events = ["state"])'
            )
        frame = self.table("variant_states").filter(flow=flow).sort("time_s")
        ended = self.table("flows").filter(name=flow)["ended_s"].item()
        last = self.end_s if ended is None else ended
        until = pl.col("time_s").shift(-1).fill_null(pl.max_horizontal("time_s", pl.lit(last)))
        own = [_spelled_in_seconds(column) for column in declared[flow]]
        named = [name for name in frame.columns if name in own]
        return frame.with_columns(until_s=until).select("time_s", "until_s", "flow", *named)

    def phases_of(self, flow: str) -> pl.DataFrame:
        """The stays of a flow's variant in its phases, in order: `nth` from 0, `phase`, `before`
        and `after` it (null: none), `from_s`, `until_s`, and each other column of `states_of` as it
        was when the stay began; with `_last` at the end of its name as it was last in the stay, and
        with `_next` as it was when the next stay began.

        Raises `InputError` if the variant told no phases.
        """
        states = self.states_of(flow)
        if PHASE not in states.columns:
            raise InputError(f"the variant of flow {shown.quoted(flow)} has no phases")
        others = [c for c in states.columns if c not in (PHASE, "flow", "time_s", "until_s")]
        stays = (
            states.with_columns(nth=pl.col(PHASE).rle_id())
            .group_by("nth", maintain_order=True)
            .agg(
                pl.col(PHASE).first(),
                pl.col("time_s").first().alias("from_s"),
                pl.col("until_s").last(),
                *(pl.col(name).first() for name in others),
                *(pl.col(name).last().alias(f"{name}_last") for name in others),
            )
        )
        before, after = pl.col(PHASE).shift(1), pl.col(PHASE).shift(-1)
        first = ("nth", PHASE, "before", "after", "from_s", "until_s")
        return stays.with_columns(
            before.alias("before"),
            after.alias("after"),
            *(pl.col(name).shift(-1).alias(f"{name}_next") for name in others),
        ).select(*first, pl.exclude(first))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with contextlib.ExitStack() as held:
            try:
                stream = held.enter_context(disk.opened(self.file))
                archive = held.enter_context(zipfile.ZipFile(stream))
                most = _core.most_of_file(os.fstat(stream.fileno()).st_size)
                if sum(member.file_size for member in archive.infolist()) > most:
                    raise zipfile.BadZipFile("its members become more than they may")
            except (*_DAMAGED, FileNotFoundError, disk.NotAFileError) as error:
                raise RunError(f"{self.file}: cannot be read: {error}") from error
            except OSError as error:
                raise StoreError(f"cannot read {self.file}: {disk.reason(error)}") from error
            if self._state() == "foreign":
                raise RunError(f"{self.file}: it is of another run than its name says")
            yield archive

    def _state(self) -> str:
        """What is there at a glance, of the file and the captures beside it."""
        folders = self.file.parent, self.captures.parent
        [state] = _core.check_runs(*folders, [self.file.stem], False)
        return state

    def _rows(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame | None:
        try:
            content = self.bytes(f"{name}.parquet")
        except FileNotFoundError:
            return None
        wanted = None if columns is None else list(columns)
        return pl.read_parquet(io.BytesIO(content), columns=wanted)

    def _names(self, owner: str) -> list[str]:
        rows = self._rows(owner, ["name"])
        return [] if rows is None else rows["name"].to_list()


Columns = dict[str, "np.ndarray"]
"""Columns of a table by name, numbers as floats, NaN for what is not known."""


def columns_of(
    traces: Sequence[Trace], asked: Mapping[str, Sequence[str]]
) -> list[dict[str, Columns | None]]:
    """Of each of `traces`, the columns `asked` by table; None of what it did not record.

    This is for thousands of runs: nothing else in their files is read, on every processor. Raises
    `RunError` if a file cannot be read.
    """
    tables = [(table, list(wanted)) for table, wanted in asked.items()]
    read = _core.read_columns([trace.file for trace in traces], tables)
    # Looked up once: there are a hundred thousand columns.
    array, numbers = np.array, np.frombuffer

    def cells(column: bytes | list[str]) -> np.ndarray:
        return array(column, dtype=object) if isinstance(column, list) else numbers(column)

    return [
        {
            table: None if columns is None else dict(zip(wanted, map(cells, columns), strict=True))
            for (table, wanted), columns in zip(tables, of_trace, strict=True)
        }
        for of_trace in read
    ]


def _spelled_in_seconds(column: str) -> str:
    return f"{column.removesuffix('_ns')}_s" if column.endswith("_ns") else column


def _in_seconds(frame: pl.DataFrame) -> pl.DataFrame:
    spans = [c for c in frame.columns if c.endswith("_ns") and frame.schema[c].is_numeric()]
    seconds = [(pl.col(c).cast(pl.Float64) * _SECONDS).alias(_spelled_in_seconds(c)) for c in spans]
    order = [_spelled_in_seconds(c) if c in spans else c for c in frame.columns]
    return frame.with_columns(seconds).select(order)


def _named(frame: pl.DataFrame, column: str, names: list[str]) -> pl.DataFrame:
    return frame.with_columns(
        pl.col(column)
        .replace_strict(list(range(len(names))), names, return_dtype=pl.Utf8)
        .alias(column)
    )
