"""The kinds of attacks there are. A new one is a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attacks import archives, break_outs, kills, kills_of_guests, store_damage

if TYPE_CHECKING:
    from attacks.kind import Kind

KINDS: dict[str, Kind] = {
    "flips": store_damage.FLIPS,
    "cuts": store_damage.CUTS,
    "swaps": store_damage.SWAPS,
    "nonsense": store_damage.NONSENSE,
    "places": store_damage.PLACES,
    "archives": archives.ARCHIVES,
    "kills": kills.KILLS,
    "kills-of-guests": kills_of_guests.KILLS_OF_GUESTS,
    "break-outs": break_outs.BREAK_OUTS,
}
