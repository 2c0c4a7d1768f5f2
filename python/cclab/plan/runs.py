"""What a run is, and the runs of a sweep point, which differ in their seeds alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import msgspec

from cclab import _core

if TYPE_CHECKING:
    from cclab.documents.scenario import Scenario

DIGITS = 20
"""Hexadecimal ones of the hash that a run is named by, and a plan."""


class Run(msgspec.Struct, frozen=True, gc=False):
    """A scenario with a seed on a backend: the unit of work and of storage."""

    # There may be a million: they have no dictionary, and the collector passes over them.
    id: str
    """Content hash of everything below."""
    seed: int
    backend: str
    version: str
    """What else determines the result: the versions of what the scenario uses, or of what is done
    around a kernel, and the kernel; `versions` reads it."""
    scenario: Scenario
    """What runs, as docs/study-file.md describes it with every default filled in."""

    def __repr__(self) -> str:
        """All but the scenario, which is large."""
        return (
            f"Run(id={self.id!r}, seed={self.seed!r}, backend={self.backend!r}, "
            f"version={self.version!r})"
        )

    def to_json(self) -> str:
        """The run as the backends take it."""
        return json.dumps(
            {
                "id": self.id,
                "scenario": self.scenario,
                "seed": self.seed,
                "backend": self.backend,
                "version": self.version,
            }
        )


class Runs(Sequence[Run]):
    """Runs of one scenario whose seeds follow one another. Each is made when it is asked for."""

    __slots__ = ("_ids", "_seeds", "backend", "scenario", "version")

    def __init__(
        self, scenario: Scenario, backend: str, version: str, seeds: range, ids: str
    ) -> None:
        """Those with `seeds`, whose ids stand one behind the other in `ids`."""
        self.scenario = scenario
        self.backend = backend
        self.version = version
        self._seeds = seeds
        self._ids = ids

    @classmethod
    def of(cls, scenario: Scenario, backend: str, version: str, first: int, ids: str) -> Runs:
        """Those with `ids`, one behind the other, and the seeds from `first` on."""
        seeds = range(first, first + len(ids) // DIGITS)
        return cls(scenario, backend, version, seeds, ids)

    @classmethod
    def counted(cls, run: Run, most: int) -> Runs:
        """`most` runs that are as `run`, the first of them."""
        text = json.dumps(run.scenario)
        ids = _core.run_ids(text, run.seed, most, run.backend, run.version)
        return cls.of(run.scenario, run.backend, run.version, run.seed, ids)

    @property
    def ids(self) -> list[str]:
        """The id of each."""
        ids = self._ids
        return [ids[at : at + DIGITS] for at in range(0, len(self) * DIGITS, DIGITS)]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._seeds)

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...

    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        """The run, or the runs, at `index`."""
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index])

    def __iter__(self) -> Iterator[Run]:
        """Each in turn."""
        return map(self._at, range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether `other` has the same runs."""
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment] # as a list's

    def __repr__(self) -> str:
        """As that of a list, but for runs in between."""
        return f"Runs({self[0]!r}, … {len(self)} in all)" if self else "Runs()"

    def _at(self, place: int) -> Run:
        at = place * DIGITS
        name = self._ids[at : at + DIGITS]
        return Run(name, self._seeds[place], self.backend, self.version, self.scenario)
