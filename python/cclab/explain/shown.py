"""How explanations show themselves at a prompt: lines that fit, numbers without binary noise."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

_DIGITS = 9
"""Significant digits shown: further ones are noise of binary fractions (0.020000000000000004)."""

_WIDTH = 88
"""Columns that a line may have."""


def plain(number: float) -> str:
    """A number without an exponent and without the noise of its last bits."""
    shown = format(Decimal(f"{number:.{_DIGITS}g}"), "f")
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


class Shown:
    """A dataclass of this kind (`repr=False`) shows itself so; its values keep every bit."""

    def __repr__(self) -> str:
        return _shown(self, "")


def _shown(value: Any, indent: str) -> str:
    """`value` in a line where it fits one, else a part a line."""
    deeper = indent + "  "
    if isinstance(value, Shown) and is_dataclass(value):
        names = [field.name for field in fields(value)]
        parts = [f"{name}={_shown(getattr(value, name), deeper)}" for name in names]
        begin, end = f"{type(value).__name__}(", ")"
    elif isinstance(value, list):
        parts = [_shown(part, deeper) for part in value]
        begin, end = "[", "]"
    else:
        return plain(value) if isinstance(value, float) else repr(value)
    line = f"{begin}{', '.join(parts)}{end}"
    if "\n" not in line and len(indent) + len(line) <= _WIDTH:
        return line
    lines = "".join(f"{deeper}{part},\n" for part in parts)
    return f"{begin}\n{lines}{indent}{end}"
