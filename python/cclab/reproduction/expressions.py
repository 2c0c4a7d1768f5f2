"""The expressions of `reproduction.toml`: arithmetic over named numbers and vectors, and a few
functions. The caller gives the values of names."""

from __future__ import annotations

import ast
import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import simpleeval
from scipy import stats

from cclab.errors import InputError

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


def _steps(values: Any, sign: int) -> float:
    """The share of the steps between neighbours that go one way."""
    return float((sign * np.diff(_vector(values)) > 0).mean())


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
    "falls": lambda values: _steps(values, -1),
    "rises": lambda values: _steps(values, 1),
    "best": lambda x, y: float(_vector(x)[int(np.nanargmax(_vector(y)))]),
    "rank": lambda values: stats.rankdata(_vector(values)),
}
"""What an expression can call, by name; docs/reproduce.md has a line on each."""

_OPERATORS = {
    **simpleeval.DEFAULT_OPERATORS,
    # Vectors are combined element by element, so that `a > b` can be counted.
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Mult: np.multiply,  # simpleeval's own takes a vector for a long text
    ast.Div: lambda a, b: np.divide(a, b) if np.any(b) else np.divide(a, b) * np.nan,
}


def value(
    expression: str,
    names: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """The value of `expression`: a number or a vector.

    Raises `ExpressionError` if it uses an unknown name, or cannot be evaluated.
    """
    evaluator = simpleeval.EvalWithCompoundTypes(
        operators=_OPERATORS,
        functions={**FUNCTIONS, **(functions or {})},
        names=lambda node: names[node.id],
    )
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            return evaluator.eval(expression, previously_parsed=_parsed(expression))
    except KeyError as error:
        raise ExpressionError(f"`{expression}`: nothing is called {error}") from None
    except (
        simpleeval.InvalidExpression,
        ArithmeticError,
        TypeError,
        ValueError,
        IndexError,
    ) as error:
        raise ExpressionError(f"`{expression}`: {error}") from error


def problem(expression: str, names: set[str] | None) -> str:
    """Why `expression` is invalid or uses a name outside `names`; empty if it is right."""
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        return f"not an expression: {error.msg}"
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    used = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    if names is not None:
        for node in used:
            if node.id not in names:
                return f"no term is called {node.id!r}; there are {', '.join(sorted(names))}"
        for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
            name = getattr(call.func, "id", "")
            if name not in FUNCTIONS:
                return f"no function {name!r}; there are {', '.join(FUNCTIONS)}"
    return ""


def names(expression: str) -> set[str]:
    """The names that an expression uses, of functions too."""
    return {node.id for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Name)}


@cache
def _parsed(expression: str) -> ast.AST:
    parsed: ast.AST = simpleeval.SimpleEval.parse(expression)
    return parsed
