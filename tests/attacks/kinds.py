"""The kinds of attacks there are. A new one is a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attacks import (
    archives,
    break_outs,
    captures,
    full_disk,
    html,
    kills,
    kills_of_guests,
    links,
    names,
    store_damage,
    studies,
    vanishing_disk,
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
    "full-disk": full_disk.FULL_DISK,
    "vanishing-disk": vanishing_disk.VANISHING_DISK,
    "kills": kills.KILLS,
    "kills-of-guests": kills_of_guests.KILLS_OF_GUESTS,
    "break-outs": break_outs.BREAK_OUTS,
}
