"""The flows of a capture: its TCP connections and its conversations over UDP, beside each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cclab.captures.series.across import Across
    from cclab.captures.series.tables import Tables
    from cclab.captures.series.talks import Talks

_MOST_NAMED = 7
"""Flows whose shares are told in words."""


@dataclass(frozen=True)
class Flows:
    """All of them, with the tables of their packets on disk."""

    tables: Tables
    """The connections."""
    talks: Talks
    """The conversations."""
    sums: dict[float | None, Across] = field(default_factory=dict)
    """What `across` came to, by the length of bins that was asked for."""


def named(connection: int | None, conversation: int | None) -> str:
    """What a flow is called: by its number as a connection, or as a conversation over UDP."""
    return f"connection {connection}" if connection is not None else f"UDP {conversation}"


def shares(interval: dict[str, Any]) -> str:
    """What each flow has of an interval of `together`, the largest first; empty if nothing."""
    told = [flow for flow in interval["flows"] if flow["share"] is not None]
    by_size = sorted(told, key=lambda flow: -flow["bytes"])
    words = [
        f"{named(flow['connection'], flow['conversation'])}: {flow['share']:.1%}"
        for flow in by_size[:_MOST_NAMED]
    ]
    others = len(by_size) - _MOST_NAMED
    if others > 0:
        rest = 1.0 - sum(flow["share"] for flow in by_size[:_MOST_NAMED])
        words.append(f"{others} other{'s' * (others > 1)}: {rest:.1%}")
    return ", ".join(words)
