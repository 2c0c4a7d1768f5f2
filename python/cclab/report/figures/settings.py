"""How a caller wants figures to look: their size, the ends of their axes, and their words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties

from cclab.drawing import legend
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from cclab.drawing.style import Drawing

_PREFIX = "figure."
_LABEL = "label"
_CM_PER_INCH = 2.54
_SMALLEST_IN, _LARGEST_IN = 1.0, 40.0
_LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(in|cm|mm)?\s*")

Ends = tuple[float, float]


@dataclass(frozen=True)
class Settings:
    """What is set, as texts by key: `KEY` of every figure, `KIND.KEY` of one kind."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is set."""
        return bool(self.texts)

    def of(self, kind: str) -> dict[str, str]:
        """What is set for a kind of figure, by the bare key; its own goes before every figure's."""
        own = f"{kind}."
        every = {key: text for key, text in self.texts.items() if "." not in key or _is_label(key)}
        mine = {k.removeprefix(own): text for k, text in self.texts.items() if k.startswith(own)}
        return every | mine


NOTHING = Settings()


def parsed(given: str | Sequence[str] | Mapping[str, object], kinds: Sequence[str]) -> Settings:
    """The settings that are given as `figure.KEY=VALUE` texts, or by key in a dict.

    Raises `InputError` for a key that there is not, and for a value that is not of its kind.
    """
    if isinstance(given, Mapping):
        pairs = [(str(key), _text(value), f"{key}={value!r}") for key, value in given.items()]
    else:
        texts = [given] if isinstance(given, str) else list(given)
        pairs = []
        for text in texts:
            key, sign, value = text.partition("=")
            if not sign:
                raise InputError(f"{text}: figure.KEY=VALUE is meant, such as figure.width=7")
            pairs.append((key.strip(), value.strip(), text))
    texts_by_key: dict[str, str] = {}
    for key, value, said in pairs:
        bare = key.removeprefix(_PREFIX)
        _check(bare, value, said, kinds)
        texts_by_key[bare] = value
    return Settings(texts_by_key)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join("" if end is None else str(end) for end in value)
    return str(value)


def _is_label(key: str) -> bool:
    return key.startswith(f"{_LABEL}.")


def _check(key: str, value: str, said: str, kinds: Sequence[str]) -> None:
    """Raises `InputError` if there is no such key or its value is wrong."""
    kind, _, rest = key.partition(".")
    bare = rest if kind in kinds and rest else key
    if _is_label(bare) and bare != f"{_LABEL}.":
        return
    if bare not in _KEYS:
        known = [f"{_PREFIX}{name}" for name in (*_KEYS, f"{_LABEL}.NAME")]
        near = difflib.get_close_matches(key, [*_KEYS, *(f"{k}.{n}" for k in kinds for n in _KEYS)])
        hint = f" (did you mean {_PREFIX}{near[0]}?)" if near else ""
        raise InputError(
            f"{said}: no key {_PREFIX}{key}{hint}; the keys are {', '.join(known)}, each also of "
            f"one kind of figure, such as {_PREFIX}queue.ylim"
        )
    try:
        _KEYS[bare](value)
    except ValueError as why:
        raise InputError(f"{said}: {why}") from None


def _length(value: str) -> float:
    """Inches."""
    match = _LENGTH.fullmatch(value)
    if match is None:
        raise ValueError("a length is meant: inches (7), or with a unit (17.8cm, 178mm)")
    per_inch = {"cm": _CM_PER_INCH, "mm": 10 * _CM_PER_INCH}.get(match[2], 1.0)
    inches = float(match[1]) / per_inch
    if not _SMALLEST_IN <= inches <= _LARGEST_IN:
        raise ValueError(f"from {_SMALLEST_IN:g} to {_LARGEST_IN:g} inches are meant")
    return inches


def _ends(value: str) -> tuple[float | None, float | None]:
    """The ends of an axis; None for one that stays."""
    parts = [part.strip() for part in value.split(",")]
    try:
        low, high = (float(part) if part else None for part in parts)
    except ValueError:
        raise ValueError(
            "two numbers are meant, in the unit of the axis: 0,20; one may be left out: 0,"
        ) from None
    if low is None and high is None:
        raise ValueError("two numbers are meant, or one: 0,20 or 0,")
    if low is not None and high is not None and not low < high:
        raise ValueError("the first number must be below the second")
    return low, high


_KEYS: dict[str, Callable[[str], object]] = {
    "width": _length,
    "height": _length,
    "xlim": _ends,
    "ylim": _ends,
    "xlabel": str,
    "ylabel": str,
    "title": str,
}
"""Each key and what reads its value, or raises `ValueError`."""


def apply(figure: Drawing, settings: Settings, kind: str, limits: str) -> None:
    """Makes a figure look as `settings` say; `limits` has the letters of its axes of numbers.

    Raises `InputError` if the ends of an axis are set for this kind that are no numbers.
    """
    own = settings.of(kind)
    for letter in "xy":
        key = f"{letter}lim"
        if key in own and letter not in limits and f"{kind}.{key}" in settings.texts:
            raise InputError(
                f"{_PREFIX}{kind}.{key}: that axis of the figure {kind} has names, no numbers"
            )
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    for letter in limits:
        if f"{letter}lim" in own:
            _limit(figure, panels, letter, _ends(own[f"{letter}lim"]))
    for axes in panels:
        if axes.get_xlabel() and "xlabel" in own:
            axes.set_xlabel(own["xlabel"])
        if axes.get_ylabel() and "ylabel" in own and axes not in figure.lower:
            axes.set_ylabel(own["ylabel"])
    for handle in figure.told:
        handle.set_label(own.get(f"{_LABEL}.{handle.get_label()}", handle.get_label()))
    wide = _length(own["width"]) if "width" in own else float(figure.get_figwidth())
    legend.again(figure, wide)
    if "title" in own:
        _entitle(figure, own["title"])
    if "height" in own:
        figure.set_figheight(_length(own["height"]))


def named_in(figure: Drawing) -> list[str]:
    """What the legend of a figure names: what `label` can rename."""
    return [str(handle.get_label()) for handle in figure.told]


def check_labels(settings: Settings, named: Sequence[str]) -> None:
    """Raises `InputError` if a label is set for what no figure's legend, which has `named`, has."""
    for key in settings.texts:
        _, is_label, name = f".{key}".partition(f".{_LABEL}.")
        if is_label and name not in named:
            known = ", ".join(dict.fromkeys(named)) or "nothing"
            raise InputError(f"{_PREFIX}{key}: no legend names {name!r}; they name {known}")


def _limit(
    figure: Drawing, panels: Sequence[Axes], letter: str, ends: tuple[float | None, float | None]
) -> None:
    """Sets the ends of an axis of numbers; one that runs to the left still does."""
    unit = figure.time_unit if letter == "x" else 1.0
    low, high = (None if end is None else end * unit for end in ends)
    # Of panels one above the other in one figure the upper have the quantity that it is named for.
    rows = [axes for axes in panels if letter == "x" or axes not in figure.lower]
    for axes in rows:
        get, put = (
            (axes.get_xlim, axes.set_xlim) if letter == "x" else (axes.get_ylim, axes.set_ylim)
        )
        now = sorted(get())
        falls = axes.xaxis_inverted() if letter == "x" else axes.yaxis_inverted()
        wanted = (now[0] if low is None else low, now[1] if high is None else high)
        put(*(reversed(wanted) if falls else wanted))


def _entitle(figure: Drawing, title: str) -> None:
    """A heading over everything, in room of its own."""
    legends = list(figure.legends)
    if legends:
        legends[0].set_title(title, prop=FontProperties(weight="bold", size=10))
        legends[0].set_alignment("left")
        figure.set_figheight(float(figure.get_figheight()) + 0.2)
    else:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        figure.set_figheight(float(figure.get_figheight()) + 0.25)
