"""Numbers as the page holds them: few bytes each, in base64."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cclab.report.explore.document import Packed

_NONE = 65_535
"""In place of a number that there is not."""


def packed(values: np.ndarray) -> str:
    """Little-endian numbers in base64."""
    return base64.b64encode(values.tobytes()).decode()


def small(values: np.ndarray) -> Packed:
    """Numbers from 0 up as 16 bits each, and the value of one step."""
    top = float(values.max(where=np.isfinite(values), initial=0.0))
    return _multiples(values, top / (_NONE - 1) if top > 0 else 1.0)


def whole(values: np.ndarray) -> Packed:
    """Whole numbers from 0 to 65,534."""
    return _multiples(values, 1.0)


def _multiples(values: np.ndarray, unit: float) -> Packed:
    multiples = np.where(np.isfinite(values), np.rint(values / unit), _NONE)
    return {"unit": float(f"{unit:.9g}"), "data": packed(multiples.astype("<u2"))}
