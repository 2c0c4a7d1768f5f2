"""What a store holds, told without opening its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab.catalog import Catalog
from cclab.store.planned import Planned, asked, planned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cclab.store.folder import Store

COLUMNS = ("run", "backend", "version", "seed", "bytes", "form")
"""What is told of a run; its form is `loose` or `compacted`."""


@dataclass(frozen=True)
class PlanHeld:
    """A plan of a store."""

    name: str
    """Of its study."""
    title: str
    file: str
    """Where it is kept in the store: two may have one title."""
    points: int
    """Of its sweep."""
    runs: int
    present: int
    """Those of its runs that are in the store."""


@dataclass(frozen=True)
class Holdings:
    """What a store holds."""

    runs: int
    compacted: int
    bytes: int
    versions: list[tuple[str, str, int]]
    """Backend, version, and how many runs are of it."""
    plans: list[PlanHeld]
    unplanned: int
    """Runs that no plan asked for by itself: they check others, or their plan is gone."""
    unknown: int
    """Entries that the catalog has no row of: they cannot be read."""
    table: pl.DataFrame
    """A row per run, with `COLUMNS`."""

    def rows(self) -> list[tuple[Any, ...]]:
        """The runs."""
        return self.table.rows()

    def document(self, *, runs: bool) -> dict[str, Any]:
        """As `cclab store ls --json` prints it; with `runs`, each run."""
        return {
            "schema": "cclab-store-ls/1",
            "runs": self.table.to_dicts() if runs else self.runs,
            "compacted": self.compacted,
            "bytes": self.bytes,
            "versions": [
                {"backend": backend, "version": version, "runs": runs_of}
                for backend, version, runs_of in self.versions
            ],
            "plans": [vars(plan) for plan in self.plans],
            "unplanned": self.unplanned,
            "unknown": self.unknown,
        }


def holdings(store: Store, told: Callable[[int], None] | None = None) -> Holdings:
    """What `store` holds. What the catalog lacks is read from the entries; `told` hears of it."""
    known = Catalog(store).tables(told).runs.select("run", "backend", "version", "seed", "bytes")
    loose = store.loose()
    form = pl.col("run").is_in(list(loose)).replace_strict({True: "loose", False: "compacted"})
    table = known.with_columns(form.cast(pl.String).alias("form")).collect()
    ids = store.ids()
    versions = table.group_by("backend", "version").len().sort("backend", "version")
    return Holdings(
        runs=len(ids),
        compacted=len(ids - loose),
        bytes=int(table["bytes"].sum()),
        versions=[(backend, version, n) for backend, version, n in versions.iter_rows()],
        plans=[_held(store, file, plan, ids) for file, plan in planned(store).items()],
        unplanned=len(ids - asked(store)),
        unknown=len(ids) - table.height,
        table=table,
    )


def _held(store: Store, file: Path, plan: Planned, ids: set[str]) -> PlanHeld:
    return PlanHeld(
        name=plan.name,
        title=plan.title,
        file=str(file.relative_to(store.path)),
        points=len(plan.points),
        runs=len(plan.runs),
        present=len(ids & plan.runs),
    )
