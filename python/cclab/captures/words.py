"""Flows of a capture in words."""

from __future__ import annotations

from typing import Any

_MOST_NAMED = 7
"""Flows whose shares are told in words."""


def spoken(row: dict[str, Any]) -> str:
    """What a row's conversation speaks, with the version."""
    if row["speaks"] != "quic":
        return "UDP"
    return f"QUIC {row['quic_version']}" if row["quic_version"] else "QUIC"


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
