"""Expressions over the columns of a catalog: `cc == "bbr" and rtt > 50ms`.

The grammar is that of Python's expressions, cut down, with quantities as in study files (`50ms`,
`100Mbit`, `64kB`, `5%`), bare or quoted, with `TEXT matches "PATTERN"`, and with names of columns
that have dots, or any other character between back quotes. Every node becomes an expression of
polars and knows what it is: a number, a text or a condition.
"""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from cclab import _core
from cclab.errors import InputError
from cclab.metrics import OF_SEVERAL
from cclab.metrics import near as metrics_near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Kind = Literal["number", "text", "condition", "nothing"]

_TOKENS = re.compile(
    r"""(?P<text>"[^"\n]*"|'[^'\n]*')"""
    r"""|(?P<name>`[^`\n]*`)"""
    r"""|(?P<float>(?<![\w.])(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+(?!\w))"""
    r"""|(?P<quantity>(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[A-Za-z]\w*(?:/s)?|%))"""
    r"""|(?P<matches>(?<![\w.`])matches(?![\w.(]))"""
)
_COMPARISONS: dict[type[ast.cmpop], Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: pl.when(b != 0).then(a / b),  # nothing is a ratio to nothing
}
_SHOWN = 60
"""Characters of an expression that is too long to be shown whole."""
_FUNCTIONS = ("abs", "min", "max")
_ALIKE: tuple[set[Kind], ...] = ({"number"}, {"text"}, {"condition"})
_WORDS = {
    "time": "a time",
    "rate": "a rate",
    "size": "a size",
    "share": "a share",
    "packets": "a number of packets",
    "bdp": "a number of bandwidth-delay products",
}
"""What a number is, by its dimension."""


@dataclass(frozen=True, eq=False)
class Term:
    """A part of an expression: how to compute it, and what it is.

    `==` of what polars computes is another expression, so terms are compared by `same`.
    """

    value: pl.Expr
    kind: Kind
    literal: str | None = None
    """What a quoted text says: it may be meant as a quantity."""
    dimensions: frozenset[str] = frozenset()
    """What a number can be a quantity of; none where that is not known."""
    name: pl.Expr | None = None
    """Of a number that stands for something with a name, the name: beside a text it is that."""

    def same(self, other: Term) -> bool:
        """Whether both say the same, word for word."""
        return self.kind == other.kind and self.value.meta.eq(other.value)


def _quantity(text: str) -> Term | None:
    """The number that `text` says in the words of study files; None if it says none."""
    value, dimension = _core.number(text), _core.dimension(text)
    if value is None:
        return None
    return Term(pl.lit(value), "number", dimensions=frozenset({dimension} if dimension else ()))


def _says_number(term: Term) -> bool:
    return term.literal is not None and _core.number(term.literal) is not None


def kind_of(column: pl.DataType) -> Kind:
    """What the values of a column are."""
    if column == pl.Boolean:
        return "condition"
    return "number" if column.is_numeric() else "text"


def compile(text: str, resolve: Mapping[str, Term]) -> Term:
    """What the expression `text` means, where `resolve` has the columns by name.

    Raises `InputError`, with the place in the text, if it is none, names a column that there is
    not, or combines what cannot be combined.
    """
    return _Expression(text, resolve).term()


def used_in(text: str, resolve: Mapping[str, Term]) -> list[str]:
    """The names of columns in the expression `text`, each once."""
    expression = _Expression(text, resolve)
    expression.term()
    return list(expression.used)


def condition(text: str, resolve: Mapping[str, Term]) -> pl.Expr:
    """The condition `text`. Raises `InputError` also if it is a number or a text."""
    term = compile(text, resolve)
    if term.kind != "condition":
        raise InputError(f"{text!r} is a {term.kind}, not a condition; compare it: `{text} > 0`")
    return term.value


def _respelt(name: str, known: Mapping[str, Term]) -> Term | None:
    """What is called so elsewhere: `flow.datagrams.loss` of a metric in a document, `queue.limit`
    of a key of the bottleneck in tables."""
    parts = name.split(".")
    spelt = [".".join([*parts[:k], "_".join(parts[k:])]) for k in range(len(parts) - 1)]
    spelt += [f"bottleneck.{name}"] if len(parts) > 1 else []
    return next((known[one] for one in spelt if one in known), None)


def unknown_column(name: str, known: Mapping[str, Term]) -> str:
    """The complaint that there is no column `name`, with the nearest that there is."""
    if name.rpartition(".")[2] in OF_SEVERAL:
        return (
            f"no column `{name}`: it is of several runs, and a row is of one; "
            "`cclab.load(DIR).summary`, summary.csv of the report and `cclab run --json` have it"
        )
    small = {k.lower(): k for k in known}
    near = [k for k in known if k.lower() == name.lower() or k.rpartition(".")[2] == name]
    near += [k for k in known if k.startswith(f"{name}_") and k.endswith(("_bps", "_s", "_bytes"))]
    near += [small[k] for k in difflib.get_close_matches(name.lower(), small, n=1, cutoff=0.85)]
    near = near or [small[k] for k in metrics_near(name.lower(), small, most=1)]
    hint = f"did you mean `{near[0]}`?" if near else "`--list` shows the columns"
    return f"no column `{name}`; {hint}"


class _Expression:
    """A text on its way to polars."""

    def __init__(self, text: str, resolve: Mapping[str, Term]) -> None:
        if not isinstance(text, str):
            raise InputError(f"an expression is a text, not {text!r}")
        self._text = text.replace("\n", " ").strip()  # leading blanks would be an indentation
        self._resolve = resolve
        self._quantities: dict[int, Term] = {}
        """By where they stand."""
        self._names: dict[int, str] = {}
        """Names between back quotes, by where they stand."""
        self.used: dict[str, None] = {}
        """Names of columns that it uses."""

    def term(self) -> Term:
        if not self._text:
            raise InputError("the expression is empty")
        plain = _TOKENS.sub(self._replaced, self._text)
        try:
            tree = ast.parse(plain, mode="eval")
        except SyntaxError as error:
            offset = (error.offset or 0) if error.lineno == 1 else 0
            at = offset - 1 if offset else len(self._text)
            equals = self._text[at : at + 1] == "="
            why = "`==` compares" if equals else f"not an expression: {error.msg}"
            raise self._refusal(why, at) from None
        except (RecursionError, MemoryError):
            raise self._too_deep() from None
        except ValueError as error:
            raise InputError(f"not an expression: {error}") from None
        try:
            return self._visit(tree.body)
        except RecursionError:
            raise self._too_deep() from None

    def _too_deep(self) -> InputError:
        shown = self._text if len(self._text) <= _SHOWN else f"{self._text[:_SHOWN]}…"
        return InputError(f"the expression is nested too deeply: {shown}")

    def _replaced(self, token: re.Match[str]) -> str:
        """What Python can parse, of the same length: places stay where they are."""
        found, at = token.group(), self._place(token.start())
        if token.lastgroup == "quantity":
            quantity = _quantity(found)
            if quantity is None:
                raise self._refusal(
                    f"`{found}` is no quantity: times are written 50ms, rates 100Mbit, sizes 64kB",
                    token.start(),
                )
            self._quantities[at] = quantity
            return "1" * len(found)
        if token.lastgroup == "name":
            self._names[at] = found[1:-1]
            return "_" * len(found)
        if token.lastgroup == "matches":
            return "@".center(len(found))
        return found

    def _place(self, index: int) -> int:
        """Where the parser says that a character stands: it counts bytes."""
        return len(self._text[:index].encode())

    def _visit(self, node: ast.expr) -> Term:
        match node:
            case ast.BoolOp():
                return self._junction(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.BinOp(op=ast.MatMult()):
                return self._matches(node)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.Call():
                return self._call(node)
            case ast.Constant():
                return self._constant(node)
            case ast.Name() | ast.Attribute():
                return self._column(node)
        raise self._refusal("this is not part of an expression over columns", node)

    def _junction(self, node: ast.BoolOp) -> Term:
        parts = [self._condition(part) for part in node.values]
        together = pl.all_horizontal if isinstance(node.op, ast.And) else pl.any_horizontal
        return Term(together(parts), "condition")

    def _unary(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return Term(~self._condition(node.operand), "condition")
        term = self._number(node.operand)
        if isinstance(node.op, ast.USub):
            return Term(-term.value, "number", dimensions=term.dimensions)
        if isinstance(node.op, ast.UAdd):
            return term
        raise self._refusal("`~` has no meaning here; write `not`", node)

    def _comparison(self, node: ast.Compare) -> Term:
        held: list[pl.Expr] = []
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            held.append(self._compared(left, operator, right))
        return Term(held[0] if len(held) == 1 else pl.all_horizontal(held), "condition")

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> pl.Expr:
        if isinstance(operator, ast.In | ast.NotIn):
            found = self._member(left, right)
            return found if isinstance(operator, ast.In) else ~found
        one, other = self._visit(left), self._visit(right)
        equality = isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot)
        if "nothing" in (one.kind, other.kind):
            if not equality:
                raise self._refusal("`None` is only equal (`is`) or not (`is not`)", right)
            value = one.value if other.kind == "nothing" else other.value
            return value.is_null() if isinstance(operator, ast.Eq | ast.Is) else value.is_not_null()
        compare = _COMPARISONS.get(type(operator))
        if compare is None:
            raise self._refusal("`is` compares with `None` alone; write `==`", right)
        one, other = self._alike(one, other, right)
        if one.kind == "condition" and not equality:
            raise self._refusal("true and false have no order", right)
        return compare(one.value, other.value)

    def _member(self, left: ast.expr, right: ast.expr) -> pl.Expr:
        one = self._visit(left)
        if isinstance(right, ast.List | ast.Tuple | ast.Set):
            same = []
            for element in right.elts:
                mine, other = self._alike(one, self._visit(element), element)
                same.append(mine.value == other.value)
            # One expression of many: polars takes long over many within each other.
            return pl.any_horizontal(same) if same else pl.lit(False)
        within = self._visit(right)
        if one.kind == within.kind == "text":
            return within.value.str.contains(one.value, literal=True)
        raise self._refusal("`in` needs a list such as [1, 2], or a text within a text", right)

    def _matches(self, node: ast.BinOp) -> Term:
        value, pattern = self._visit(node.left), self._visit(node.right)
        if value.name is not None:
            value = Term(value.name, "text")
        if value.kind != "text":
            raise self._refusal(
                f"`matches` needs a text on its left, this is a {value.kind}", node.left
            )
        if pattern.literal is None:
            raise self._refusal("`matches` needs a quoted pattern on its right", node.right)
        try:
            pl.select(pl.lit("").str.contains(pattern.literal))
        except pl.exceptions.ComputeError:
            raise self._refusal(f"{pattern.literal!r} is no pattern", node.right) from None
        return Term(value.value.str.contains(pattern.literal), "condition")

    def _arithmetic(self, node: ast.BinOp) -> Term:
        compute = _ARITHMETIC.get(type(node.op))
        if compute is None:
            raise self._refusal("only + - * / are known", node)
        one, other = self._number(node.left), self._number(node.right)
        dimensions: frozenset[str] = frozenset()
        if isinstance(node.op, ast.Add | ast.Sub):
            dimensions = self._common([one, other], node.right)
        elif isinstance(node.right, ast.Constant) and not other.dimensions:
            dimensions = one.dimensions  # Twice or half of a time is a time.
        elif isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant):
            dimensions = frozenset() if one.dimensions else other.dimensions
        return Term(compute(one.value, other.value), "number", dimensions=dimensions)

    def _call(self, node: ast.Call) -> Term:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _FUNCTIONS or node.keywords or not node.args:
            raise self._refusal(f"the functions are {', '.join(_FUNCTIONS)}", node.func)
        values = [self._number(argument) for argument in node.args]
        if name == "abs":
            if len(values) != 1:
                raise self._refusal("`abs` takes one number", node)
            return Term(values[0].value.abs(), "number", dimensions=values[0].dimensions)
        reduce = pl.min_horizontal if name == "min" else pl.max_horizontal
        common = self._common(values, node)
        return Term(reduce([term.value for term in values]), "number", dimensions=common)

    def _constant(self, node: ast.Constant) -> Term:
        if node.col_offset in self._quantities:
            return self._quantities[node.col_offset]
        value = node.value
        if isinstance(value, bool):
            return Term(pl.lit(value), "condition")
        if isinstance(value, int | float):
            return Term(pl.lit(value), "number")
        if isinstance(value, str):
            return Term(pl.lit(value), "text", value)
        if value is None:
            return Term(pl.lit(None), "nothing")
        raise self._refusal("this is neither a number nor a text", node)

    def _column(self, node: ast.Name | ast.Attribute) -> Term:
        name = self._named(node)
        term = self._resolve.get(name) or _respelt(name, self._resolve)
        if term is None and name in ("true", "false"):
            return Term(pl.lit(name == "true"), "condition")
        if term is None and name in ("null", "none"):
            return Term(pl.lit(None), "nothing")
        if term is None:
            raise self._refusal(unknown_column(name, self._resolve), node)
        self.used[name] = None
        return term

    def _named(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self._names.get(node.col_offset, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self._named(node.value)}.{node.attr}"
        raise self._refusal("this is not the name of a column", node)

    def _alike(self, one: Term, other: Term, node: ast.expr) -> tuple[Term, Term]:
        """Both as the same kind: a quoted quantity beside a number is a number."""
        if one.name is not None and other.kind == "text" and not _says_number(other):
            one = Term(one.name, "text")
        elif other.name is not None and one.kind == "text" and not _says_number(one):
            other = Term(other.name, "text")
        if one.kind == "number" and other.kind == "text":
            other = self._as_number(other, node)
        elif other.kind == "number" and one.kind == "text":
            one = self._as_number(one, node)
        if {one.kind, other.kind} not in _ALIKE:
            raise self._refusal(f"a {one.kind} cannot be compared with a {other.kind}", node)
        self._common([one, other], node)
        return one, other

    def _common(self, terms: Sequence[Term], node: ast.expr) -> frozenset[str]:
        """What numbers are quantities of that belong together. Plain ones go with all."""
        common: frozenset[str] = frozenset()
        for term in terms:
            if common and term.dimensions and not common & term.dimensions:
                one, other = (
                    " or ".join(sorted(_WORDS[name] for name in names))
                    for names in (common, term.dimensions)
                )
                raise self._refusal(f"{one} does not go with {other}", node)
            common = common & term.dimensions or common | term.dimensions
        return common

    def _as_number(self, term: Term, node: ast.expr) -> Term:
        quantity = None if term.literal is None else _quantity(term.literal)
        if quantity is None:
            raise self._refusal("a number cannot be compared with a text", node)
        return quantity

    def _condition(self, node: ast.expr) -> pl.Expr:
        term = self._visit(node)
        if term.kind != "condition":
            raise self._refusal(f"this is a {term.kind}, not a condition", node)
        return term.value

    def _number(self, node: ast.expr) -> Term:
        term = self._visit(node)
        if term.literal is not None:
            term = self._as_number(term, node)
        if term.kind != "number":
            raise self._refusal(f"this is a {term.kind}, not a number", node)
        return term

    def _refusal(self, why: str, where: ast.expr | int) -> InputError:
        """The error, with the expression and a mark below the place."""
        if isinstance(where, int):
            at = where
        else:
            at = len(self._text.encode()[: where.col_offset].decode(errors="ignore"))
        at = min(at, len(self._text))
        # Of a long expression, what is around the place.
        first = max(at - _SHOWN, 0) if len(self._text) > 2 * _SHOWN else 0
        last = at + _SHOWN if len(self._text) - first > 2 * _SHOWN else len(self._text)
        shown = ("…" if first else "") + self._text[first:last]
        shown += "…" if last < len(self._text) else ""
        return InputError(
            f"column {at + 1}: {why}\n  {shown}\n  {' ' * (at - first + bool(first))}^"
        )
