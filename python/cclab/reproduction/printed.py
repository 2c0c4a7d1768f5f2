"""The printed numbers of a study, and where in our results each lies."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab import shown
from cclab.errors import InputError, StudyError
from cclab.measure.stats import estimate
from cclab.plan import text
from cclab.quantities import expressions, points
from cclab.quantities.names import evaluated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.reproduction.file import Published
    from cclab.reproduction.schema import Column, Experiment, Rows, TableOf


@dataclass(frozen=True)
class Cell:
    """A printed number beside ours."""

    column: Column
    printed: float | None
    ours: Estimate | None

    @property
    def difference(self) -> float | None:
        """Ours against the printed number, relative to it; None where either is missing.

        Infinite where zero is printed and we have some.
        """
        if self.printed is None or self.ours is None:
            return None
        if self.printed == 0:
            return 0.0 if self.ours.mean == 0 else math.inf
        return self.ours.mean / self.printed - 1


@dataclass(frozen=True)
class Row:
    """A row of a table: its labels, and a cell for each column."""

    labels: list[str]
    cells: list[Cell]


@dataclass(frozen=True)
class Filled:
    """A table of the study with our numbers, from one backend."""

    table: TableOf
    backend: str
    rows: list[Row]

    @property
    def compared(self) -> list[float]:
        """The relative difference of each cell that has both numbers."""
        return [
            cell.difference for r in self.rows for cell in r.cells if cell.difference is not None
        ]


def within(
    differences: list[float], bounds: tuple[float, ...] = (0.02, 0.05, 0.1, 0.25)
) -> dict[float, int]:
    """How many of the differences lie within each bound."""
    return {bound: sum(abs(d) <= bound for d in differences) for bound in bounds}


def rows_of(
    published: Published, experiment: Experiment, where: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows that belong to an experiment, or those of them that `where` names, as dictionaries;
    empty where it has none.

    Raises `InputError` if a file cannot be read.
    """
    rows = experiment.rows
    if rows is None:
        return []
    frames = [_read(published.folder / name) for name in rows.data]
    joined = frames[0]
    for frame in frames[1:]:
        shared = [c for c in joined.columns if c in frame.columns]
        if not shared:
            raise InputError(f"{published.folder}: {', '.join(rows.data)} share no column")
        joined = joined.join(frame, on=shared, how="left")
    return [
        row
        for row in joined.to_dicts()
        if _chosen(row, {**rows.where, **(where or {})}, published.folder)
    ]


def _read(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path.read_bytes(), infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: {error}") from None


def _chosen(row: Mapping[str, Any], where: Mapping[str, Any], folder: Path) -> bool:
    for key, wanted in where.items():
        if key not in row:
            raise StudyError(
                f"{folder}: `where`: no column {shown.quoted(key)} in {', '.join(row)}"
            )
        values = wanted if isinstance(wanted, list) else [wanted]
        if not any(str(row[key]) == str(value) or row[key] == value for value in values):
            return False
    return True


def _filled_in(template: str, row: Mapping[str, Any]) -> str:
    """A template with the row's values in it, as a study file writes them; a whole number without
    its `.0`."""
    plain = {
        key: text(int(value) if isinstance(value, float) and value.is_integer() else value)
        for key, value in row.items()
    }
    wanted = [name for _, name, _, _ in string.Formatter().parse(template) if name]
    for name in wanted:
        if name not in plain:
            raise StudyError(
                f"template {shown.quoted(template)}: no column {shown.quoted(name)} in "
                f"{', '.join(plain)}"
            )
    return template.format(**plain)


def place(rows: Rows, row: Mapping[str, Any], results: Results) -> tuple[Point | None, str]:
    """The sweep point and the flow that a row is about; no point if it was not run."""
    bindings = {key: _filled_in(template, row) for key, template in rows.point.items()}
    matching = points.at(results.points, bindings)
    return (matching[0] if matching else None), _filled_in(rows.flow, row)


def printed(expression: str, row: Mapping[str, Any]) -> float | None:
    """A printed number: an expression over the columns of a row; None where a cell is empty."""
    if not expression:
        return None
    try:
        value = expressions.value(expression, row)
    except expressions.ExpressionError:
        if any(row.get(name) is None for name in expressions.names(expression) if name in row):
            return None
        raise
    return None if value is None else float(value)


def measured(expression: str, point: Point | None, flow: str) -> Estimate | None:
    """Our number over the runs of a point."""
    if not expression or point is None:
        return None
    return estimate(evaluated(expression, point, i, flow) for i in range(len(point.runs)))


def fill(published: Published, table: TableOf, results: Results, backend: str) -> Filled:
    """A table of the study, each printed number beside ours."""
    experiment = published.experiment(table.experiment)
    filled = []
    for row in rows_of(published, experiment):
        assert experiment.rows is not None  # or there were no rows
        point, flow = place(experiment.rows, row, results)
        cells = [
            Cell(column, printed(column.printed, row), measured(column.ours, point, flow))
            for column in table.columns
        ]
        if point is not None or any(cell.printed is not None for cell in cells):
            filled.append(Row([_label(row, key) for key in table.label], cells))
    return Filled(table, backend, filled)


def _label(row: Mapping[str, Any], key: str) -> str:
    if key not in row:
        raise StudyError(f"`label`: no column {shown.quoted(key)} in {', '.join(row)}")
    value = row[key]
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else text(value)
