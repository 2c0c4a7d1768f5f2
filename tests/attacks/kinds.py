"""The kinds of attacks there are. A new one is a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attacks import (
    archives,
    break_outs,
    captures,
    html,
    kills,
    kills_of_guests,
    links,
    names,
    store_damage,
    studies,
)

if TYPE_CHECKING:
    from attacks.kind import Kind

KINDS: dict[str, Kind] = {
    "flips": store_damage.FLIPS,
    "cuts": store_damage.CUTS,
    "swaps": store_damage.SWAPS,
    "nonsense": store_damage.NONSENSE,
    "places": store_damage.PLACES,
    "archives": archives.ARCHIVES,
    "captures": captures.CAPTURES,
    "studies": studies.STUDIES,
    "names": names.NAMES,
    "links": links.LINKS,
    "html": html.HTML,
    "kills": kills.KILLS,
    "kills-of-guests": kills_of_guests.KILLS_OF_GUESTS,
    "break-outs": break_outs.BREAK_OUTS,
}
