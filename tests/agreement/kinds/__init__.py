"""Kinds of captures that are written by hand, a family in each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agreement.kinds import capturing, closing, losses, opening, transfers, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from agreement.conversation import Conversation

FAMILIES = (transfers, losses, opening, closing, windows, capturing)

KINDS: dict[str, Callable[[], Conversation]] = {
    f"{family.__name__.rpartition('.')[2]}/{kind.__name__}": kind
    for family in FAMILIES
    for kind in family.KINDS
}
"""Each by its name, `family/kind`; its documentation says what it shows."""
