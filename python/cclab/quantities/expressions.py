"""Expressions over numbers of runs: arithmetic over named numbers and vectors, and a few functions,
in the language of `cclab.expressions`. The caller gives the values of names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from cclab import shown
from cclab.errors import InputError
from cclab.expressions import Evaluation, parse
from cclab.expressions.numbers import Numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ExpressionError(InputError):
    """An expression cannot be evaluated: the message says why."""


def _vector(values: Any) -> np.ndarray:
    return np.atleast_1d(np.asarray(values, dtype=float))


def _reduced(of_vector: Callable[[Any], Any]) -> Callable[..., float]:
    """A function of a vector, or of several numbers."""

    def reduced(*values: Any) -> float:
        return float(of_vector(_vector(values[0] if len(values) == 1 else values)))

    return reduced


def jain(values: Any) -> float:
    """Jain's index (Jain, Chiu and Hawe 1984): 1 where all are equal, 1/n where one has all."""
    x = _vector(values)
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


def _rank_correlation(a: Any, b: Any) -> float:
    return float(stats.spearmanr(_vector(a), _vector(b)).statistic)


def _correlation(a: Any, b: Any) -> float:
    return float(stats.pearsonr(_vector(a), _vector(b)).statistic)


def _slope(x: Any, y: Any) -> float:
    return float(stats.linregress(_vector(x), _vector(y)).slope)


def straightness(x: Any, y: Any) -> float:
    """R² of the straight line through the origin and the points: 1 where y is proportional to x."""
    at, seen = _vector(x), _vector(y)
    slope = float((at * seen).sum() / (at * at).sum())
    return float(1 - ((seen - slope * at) ** 2).sum() / ((seen - seen.mean()) ** 2).sum())


def knee(x: Any, y: Any) -> float:
    """The x at which y stops growing: the corner of min(slope * x + offset, ceiling).

    Least squares over every split of the points into two or more that rise and one or more that
    stay level. The corner is where the two lines meet; the last x if no points stay level.
    """
    order = np.argsort(_vector(x), kind="stable")
    at, seen = _vector(x)[order], _vector(y)[order]
    best, corner = np.inf, float(at[-1])
    for split in range(2, len(at)):
        line = stats.linregress(at[:split], seen[:split])
        level = seen[split:].mean()
        left = seen[:split] - (line.intercept + line.slope * at[:split])
        error = float((left**2).sum() + ((seen[split:] - level) ** 2).sum())
        if error < best and line.slope > 0:
            best, corner = error, float((level - line.intercept) / line.slope)
    return float(np.clip(corner, at[0], at[-1]))


def _or_else(number: Any, otherwise: Any) -> Any:
    """`number`, and `otherwise` where it was not measured."""
    return np.where(np.isfinite(number), number, otherwise)[()]


def _steps(values: Any) -> Any:
    """What each value has over the one before it."""
    return np.diff(_vector(values))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": _reduced(np.min),
    "max": _reduced(np.max),
    "mean": _reduced(np.mean),
    "median": _reduced(np.median),
    "sum": _reduced(np.sum),
    "std": _reduced(lambda values: np.std(values, ddof=1)),
    "count": lambda condition: float(np.count_nonzero(condition)),
    "len": lambda values: float(len(_vector(values))),
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "jain": jain,
    "spearman": _rank_correlation,
    "pearson": _correlation,
    "slope": _slope,
    "linear": straightness,
    "knee": knee,
    "or_else": _or_else,
    "steps": _steps,
    "falls": lambda values: float((_steps(values) < 0).mean()),
    "rises": lambda values: float((_steps(values) > 0).mean()),
    "best": lambda x, y: float(_vector(x)[int(np.nanargmax(_vector(y)))]),
    "rank": lambda values: stats.rankdata(_vector(values)),
}
"""What an expression can call, by name; docs/reproduce.md has a line on each."""


def value(
    expression: str,
    names: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """The value of `expression`: a number or a vector.

    Raises `ExpressionError` if it uses an unknown name, or cannot be evaluated.
    """
    numbers = Numbers(names, {**FUNCTIONS, **(functions or {})})
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            return Evaluation(parse(expression), numbers).term().value
    except (InputError, ArithmeticError, TypeError) as error:
        raise ExpressionError(f"`{expression}`: {error}") from error


def problem(expression: str, names: set[str] | None) -> str:
    """Why `expression` is invalid or uses a name outside `names`; empty if it is right."""
    try:
        parsed = parse(expression)
    except InputError as error:
        return str(error)
    if names is None:
        return ""
    for name in parsed.names:
        if name not in names:
            return f"no term is called {shown.quoted(name)}; there are {', '.join(sorted(names))}"
    for function in parsed.functions:
        if function not in FUNCTIONS:
            return f"no function {shown.quoted(function)}; there are {', '.join(FUNCTIONS)}"
    return ""


def names(expression: str) -> list[str]:
    """The names that an expression uses."""
    return parse(expression).names
