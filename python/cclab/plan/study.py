"""A study as it was read from its file."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cclab import _core, kernel, shown
from cclab.errors import InputError
from cclab.late import late
from cclab.plan import Plan, ready
from cclab.shown import line, text_of

if TYPE_CHECKING:
    from cclab import explain as explanations
    from cclab.explain import Explained
    from cclab.plan import measures
else:
    explanations = late("cclab.explain")
    measures = late("cclab.plan.measures")

_LONGEST = 200
"""Bytes of a name: file systems take 255, of which a results folder may add some."""

_LARGEST = 4 << 20
"""A study is written by a person: more bytes than this are some other file."""


@dataclass(frozen=True)
class Study:
    """One question: scenarios, sweeps and expectations, in one file."""

    name: str
    """The file's name without its suffix, as it is shown; of `study.toml`, its folder's."""
    file: str
    """The file's path, or a ready study's name."""
    text: str
    """What it says."""

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Reads the study file at `path`, or the ready study of that name: its keys and the types
        of their values. A file goes before a ready study.

        Raises `InputError` if it cannot be read and `StudyError`, with file, line and column,
        if it is wrong. `plan` checks what depends on several keys, or on what replaces them.
        """
        file = Path(path)
        of_ready = None if file.exists() else ready.file_of(str(path))
        named = str(path)
        file = of_ready or file
        if _is_named_pipe(file):
            # Opening it would wait for a program that writes into it.
            raise InputError(f"{shown.quoted(file)} is a pipe, and a study is a file")
        try:
            with file.open("rb") as stream:
                raw = stream.read(_LARGEST + 1)
        except FileNotFoundError:
            raise InputError(f"{file}: no such file{ready.hint(str(path))}") from None
        except IsADirectoryError:
            hint = f"; did you mean {file / 'study.toml'}?" if _holds_study(file) else ""
            raise InputError(f"{file} is a folder, not a study file{hint}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot read {shown.quoted(file)}: {reason}") from error
        if len(raw) > _LARGEST:
            raise InputError(f"{file} is longer than 4 MiB: not a study file")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{file}:{_not_utf8(raw, error.start)}") from None
        _core.check(text, named)
        return cls(line(_name(file)), named, text)

    @classmethod
    def of(cls, text: str, name: str) -> Study:
        """The study that `text` says, for one that is written in a notebook or a program.

        `name` stands in messages and names its results folder. Paths in it start at the working
        folder. Raises `StudyError` as `load` does, and `InputError` if `name` cannot name a folder.
        """
        try:
            too_long = len(name.encode()) > _LONGEST
        except UnicodeEncodeError:
            too_long = True
        if not name or name.startswith(".") or any(sign in name for sign in "/\\\0") or too_long:
            raise InputError(f"{shown.quoted(name)} cannot name a study: it names a folder, too")
        _core.check(text, name)
        return cls(line(name), name, text)

    def plan(
        self,
        *,
        set: tuple[str, ...] | list[str] = (),
        replaced: tuple[tuple[str, str], ...] | list[tuple[str, str]] = (),
        backend: str | None = None,
        repeat: int | str | None = None,
        seed: int | None = None,
    ) -> Plan:
        """Every run of the study, with its seed and content hash.

        `set` replaces keys (`"flow.short.cc=bbr"`); so does `replaced`, whose settings come from an
        argument that messages name instead of them (`("argument bbr", "flow.short.cc=bbr")`).
        `backend`, `repeat` and `seed` replace what the file says.

        Raises `StudyError` if the study or a replacement is wrong.
        """
        frame, points = _core.plan(
            self.text,
            self.file,
            [text_of(setting) for setting in set],
            [(argument, text_of(setting)) for argument, setting in replaced],
            kernel.keys(),
            None if backend is None else text_of(backend),
            text_of(repeat) if isinstance(repeat, str) else repeat,
            seed,
        )
        plan = Plan.from_core(frame, points, self.name)
        if plan.expectations:
            measures.check(plan.expectations)
        return plan

    def explain(self, *, set: tuple[str, ...] | list[str] = ()) -> Explained:
        """Each sweep point explained before anything runs: paths, windows, limits, expectations.

        In the order of `plan().points`: a list, which a notebook shows as tables, and `str` as
        text. Raises `StudyError` if the study is wrong or its network
        is beyond the simulator.
        """
        points = self.plan(set=set, backend="sim").points
        explained = (explanations.explain(point.scenario) for point in points)
        return explanations.Explained(explained, [point.label for point in points])


def _is_named_pipe(file: Path) -> bool:
    """Whether `file` is a pipe that has a name, unlike those that a shell opens (`<(...)`)."""
    try:
        return stat.S_ISFIFO(os.lstat(os.path.realpath(file)).st_mode)
    except (OSError, ValueError):
        return False  # Opening it says why.


def _name(file: Path) -> str:
    if file.stem == "study":
        return file.resolve().parent.name or file.stem
    return file.stem


def _not_utf8(raw: bytes, at: int) -> str:
    """The line and column of the byte `at`, and what is wrong with it."""
    above, _, before = raw[:at].rpartition(b"\n")
    number = above.count(b"\n") + (2 if b"\n" in raw[:at] else 1)
    byte = raw[at : at + 1]
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        hint = " (the file begins as UTF-16 does)"
    else:
        hint = f" (in Latin-1 it is {byte.decode('latin-1')})" if byte >= b"\xa1" else ""
    place = f"{number}:{len(before.decode()) + 1}"
    return f"{place}: the byte \\x{byte.hex()} is not UTF-8{hint}; save the file as UTF-8"


def _holds_study(folder: Path) -> bool:
    return (folder / "study.toml").is_file()
