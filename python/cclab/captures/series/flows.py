"""The flows of a capture: its TCP connections and its conversations over UDP, beside each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cclab.captures.series.across import Across
    from cclab.captures.series.tables import Tables
    from cclab.captures.series.talks import Talks


@dataclass(frozen=True)
class Flows:
    """All of them, with the tables of their packets on disk."""

    tables: Tables
    """The connections."""
    talks: Talks
    """The conversations."""
    sums: dict[float | None, Across] = field(default_factory=dict)
    """What `across` came to, by the length of bins that was asked for."""
