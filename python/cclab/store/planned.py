"""Which runs the plans of a store ask for, read without what the runs are: plans can be large."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from cclab.store.folder import PLAN

if TYPE_CHECKING:
    from cclab.store.folder import Store


class _Run(msgspec.Struct):
    id: str


class _Point(msgspec.Struct):
    runs: list[_Run]


class Planned(msgspec.Struct):
    """What is read of a plan: it tells more."""

    name: str
    title: str
    points: list[_Point]

    @property
    def runs(self) -> set[str]:
        """The ids of the runs that it asks for."""
        return {run.id for point in self.points for run in point.runs}


def check_is_store(store: Store) -> None:
    """Raises `StoreError` if the folder holds no plan: it is no results folder."""
    if not (store.path / PLAN).is_file():
        store.plan()


def planned(store: Store) -> list[Planned]:
    """The plans of `store` that can be read, the last one run first, each once."""
    texts: dict[bytes, None] = {}
    for file in [store.path / PLAN, *sorted(store.plans.glob("*.json"))]:
        with contextlib.suppress(OSError):
            texts[file.read_bytes()] = None
    found = []
    for text in texts:
        with contextlib.suppress(msgspec.DecodeError):
            found.append(msgspec.json.decode(text, type=Planned))
    return found
