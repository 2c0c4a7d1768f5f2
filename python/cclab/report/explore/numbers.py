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
    known = np.isfinite(values)
    top = float(values[known].max()) if known.any() else 0.0
    unit = top / (_NONE - 1) if top > 0 else 1.0
    whole = np.where(known, np.round(np.where(known, values, 0.0) / unit), _NONE)
    return {"unit": float(f"{unit:.9g}"), "data": packed(whole.astype("<u2"))}
