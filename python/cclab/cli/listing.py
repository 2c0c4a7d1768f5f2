"""`cclab list`: the names that studies and results use."""

from __future__ import annotations

import json as json_text
import tomllib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cclab import _core, shown
from cclab.cli import choices, options
from cclab.cli.console import note, print_json
from cclab.cli.drawn import Grid, show, stdout, styled
from cclab.errors import InputError, StudyError
from cclab.execute.backends import alone
from cclab.explain.shown import plain
from cclab.late import late
from cclab.plan import ready
from cclab.plan.study import Study

if TYPE_CHECKING:
    from cclab import evaluation, reproduction
else:
    evaluation = late("cclab.evaluation")
    reproduction = late("cclab.reproduction")

_COLUMNS = (
    "name",
    "unit",
    "summary",
    "definition",
    "better",
    "source",
    "params",
    "reference",
    "example",
    "backends",
)
# What a table has no room for: `--json` has it.
_ONLY_JSON = ("example",)
_OF_FILE = ("name", "language", "file", "takes_in", "params", "backends", "sha256")
_UNNAMED = ("summary", "title", "definition", "text")
_WIDTH = 80
"""Columns of a list on a terminal: longer lines are hard to read. In a pipe lines are whole."""


class What(StrEnum):
    """What can be listed."""

    variants = "variants"
    qdiscs = "qdiscs"
    topologies = "topologies"
    impairments = "impairments"
    traffic = "traffic"
    applications = "applications"
    receivers = "receivers"
    stacks = "stacks"
    studies = "studies"
    metrics = "metrics"
    suites = "suites"


def listing(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help=", ".join(What),
            show_default=False,
            autocompletion=choices.of(lambda: What),
        ),
    ] = "",
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|SUITE]",
            help="A variant's file: what it registers. A suite: its lines.",
            show_default=False,
            autocompletion=choices.second_of_list,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """List what this version has: variants, qdiscs, topologies, impairments, traffic and more."""
    known = ", ".join(What)
    if not what:
        raise InputError(f"list what? One of {known}")
    if what not in set(What):
        raise InputError(f"{shown.quoted(what)} is not something to list; one of {known}")
    if path is not None and what not in (What.variants, What.suites):
        raise InputError(
            f"{path}: a second word is a file of `cclab list variants`, or a name of `list suites`"
        )
    _list(What(what), path, json)


def _list(what: What, path: str | None, json: bool) -> None:
    rows: list[dict[str, object]]
    if path is not None and what == What.suites:
        rows = _lines_of(path)
    elif path is not None:
        declared = json_text.loads(_core.variant_file(path))
        try:
            # What they take, only their own code knows.
            declared["params"] = alone.parameters(path, declared)
        except InputError:
            # The text of a C file says all but defaults; one for kernels alone does not compile.
            if declared["language"] != "C":
                raise
        rows = [{key: declared[key] for key in _OF_FILE}]
    else:
        own = {What.studies: _studies, What.suites: _suites}
        rows = own[what]() if what in own else _core_rows(what)
    if json:
        print_json({"schema": f"cclab-{what}/1", str(what): rows})
        return
    if not rows:
        note(f"no {what} here")
        return
    head, *rest = rows[0]
    table = Grid(box=None, pad_edge=False, show_header=False)
    table.add_column(head, no_wrap=True, style="bold")
    table.add_column("what it is")
    for row in rows:
        table.add_row(str(row[head]), styled("\n".join(map(shown.line, _lines(row, rest)))))
    console = stdout()
    if console.is_terminal:
        console.width = min(console.width, _WIDTH)
    show(console, table)


def _lines(row: dict[str, object], keys: list[str]) -> list[str]:
    """What a row says: its summary, and what else is not empty by name."""
    cells = [(key, _cell(row[key])) for key in keys if key not in _ONLY_JSON]
    return [cell if key in _UNNAMED else f"{key}: {cell}" for key, cell in cells if cell]


def _core_rows(what: What) -> list[dict[str, object]]:
    source = {
        What.variants: _core.variants,
        What.qdiscs: _core.qdiscs,
        What.topologies: _core.topologies,
        What.impairments: _core.impairments,
        What.traffic: _core.traffic,
        What.applications: _core.applications,
        What.receivers: _core.receivers,
        What.stacks: _core.stacks,
        What.metrics: _core.metrics,
    }[what]
    rows: list[dict[str, object]] = json_text.loads(source())
    return [{key: row[key] for key in _COLUMNS if key in row} for row in rows]


def _studies() -> list[dict[str, object]]:
    """The studies: ready ones by their names; of the folder at hand the published ones, which
    `cclab reproduce` runs, and the study files `studies/NAME/study.toml` and `examples/*.toml`.
    """
    rows: list[dict[str, object]] = []
    for name in ready.names():
        written = tomllib.loads(Study.load(name).text)
        of_ready: dict[str, object] = {"file": name, "backend": "sim, linux, netns"}
        rows.append(of_ready | {key: written.get(key) for key in ("title", "question")})
    files = [*Path("studies").glob("*/study.toml"), *Path("examples").glob("*.toml")]
    for file in [*sorted(Path("studies").glob("*/reproduction.toml")), *sorted(files)]:
        try:
            written = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        on = _backend if file.name != "reproduction.toml" else _backends
        row = {"file": str(file), "backend": on(file, written)}
        rows.append(row | {key: written.get(key) for key in ("title", "question")})
    return rows


def _suites() -> list[dict[str, object]]:
    """The suites of the folder at hand and those that come along, which `cclab evaluate` runs."""
    rows: list[dict[str, object]] = []
    for name in evaluation.names():
        try:
            loaded = evaluation.load(name)
        except (StudyError, InputError) as error:
            note(str(error))
            continue
        says = loaded.says
        rows.append(
            {
                "name": name,
                "title": says.title,
                "source": says.source,
                "version": says.version,
                "scenarios": len(says.scenario),
                "criteria": len(says.criterion),
                "standards": ", ".join(says.standards),
                "folder": str(loaded.folder),
            }
        )
    return rows


def _lines_of(suite: str) -> list[dict[str, object]]:
    """The lines of a suite: the ids that `cclab evaluate --only` takes."""
    return [
        {
            "id": criterion.id,
            "text": f"{criterion.obligation}: {criterion.text}",
            "clause": criterion.clause,
            "scenario": criterion.scenario,
        }
        for criterion in evaluation.load(suite).says.criterion
    ]


def _backends(file: Path, written: dict[str, object]) -> object:
    """What the experiments of a published study run on."""
    try:
        experiments = reproduction.load(file.parent).says.experiment
    except (StudyError, InputError):
        return None
    return ", ".join(dict.fromkeys(b for experiment in experiments for b in experiment.backends))


def _backend(file: Path, written: dict[str, object]) -> object:
    """The backend of the study; as it is written if the study has an error elsewhere."""
    try:
        return Study.load(file).plan().backend
    except (StudyError, InputError):
        return written.get("backend")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(
            _parameter(part) if isinstance(part, dict) else str(part) for part in value
        )
    return str(value)


def _parameter(parameter: dict[str, object]) -> str:
    """A parameter with its default, if it has a fixed one, and what it measures.

    `--json` has its meaning and range.
    """
    name, default = str(parameter["name"]), _default(parameter)
    text = f"{name} = {default}" if default else name
    measure = parameter.get("measure")
    return f"{text} ({measure})" if measure else text


def _default(parameter: dict[str, object]) -> str:
    """The default as a study file writes it; empty where there is none."""
    if written := parameter.get("written"):
        return str(written)
    default = parameter["default"]
    if default is None:
        return ""
    return plain(default) if isinstance(default, float) else json_text.dumps(default)
