"""What a store holds, told by its index without opening the runs' files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.store.index import Index
from cclab.store.index.file import PLANS

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.store.folder import Store

COLUMNS = ("run", "backend", "version", "seed", "bytes")
"""What is told of a run."""


@dataclass(frozen=True)
class PlanHeld:
    """A plan of a store."""

    file: str
    """Where it is kept in the store: two may have one title."""
    name: str
    """Of its study."""
    title: str
    points: int
    """Of its sweep."""
    runs: int
    present: int
    """Those of its runs that are in the store."""


@dataclass(frozen=True)
class Holdings:
    """What a store holds."""

    runs: int
    bytes: int
    versions: list[tuple[str, str, int]]
    """Backend, version, and how many runs are of it."""
    plans: list[PlanHeld]
    unplanned: int
    """Runs that no plan asked for by itself: they check others, or their plan is gone."""
    unknown: int
    """Runs that the index has no row of: they cannot be read."""
    rows: list[tuple[Any, ...]]
    """A row per run, with `COLUMNS`, if they were asked for."""

    def document(self, *, runs: bool) -> dict[str, Any]:
        """As `cclab store ls --json` prints it; with `runs`, each run."""
        return {
            "schema": "cclab-store-ls/2",
            "runs": [dict(zip(COLUMNS, row, strict=True)) for row in self.rows]
            if runs
            else self.runs,
            "bytes": self.bytes,
            "versions": [
                {"backend": backend, "version": version, "runs": runs_of}
                for backend, version, runs_of in self.versions
            ],
            "plans": [vars(plan) for plan in self.plans],
            "unplanned": self.unplanned,
            "unknown": self.unknown,
        }


def holdings(
    store: Store, *, runs: bool = False, heard: Callable[[int], None] | None = None
) -> Holdings:
    """What `store` holds, with `runs` each run. What the index lacks is read from the runs' files;
    `heard` hears of it."""
    connection = Index(store).connection(heard)

    def rows(question: str) -> list[tuple[Any, ...]]:
        return connection.execute(question).fetchall()

    [(known, size, unplanned)] = rows(
        "SELECT coalesce(sum(runs), 0), coalesce(sum(bytes), 0), "
        "coalesce(sum(runs) FILTER (WHERE plan IS NULL), 0) FROM totals"
    )
    there = store.count()
    return Holdings(
        runs=there,
        bytes=size,
        versions=rows("SELECT backend, version, sum(runs) FROM totals GROUP BY 1, 2 ORDER BY 1, 2"),
        plans=[PlanHeld(*row) for row in rows(f"SELECT {', '.join(PLANS)} FROM plans")],
        unplanned=unplanned,
        unknown=there - known,
        rows=rows(f"SELECT {', '.join(COLUMNS)} FROM runs") if runs else [],
    )
