"""The one language of expressions, of `[expect]`, `repeat`, `cclab query` and reproductions.

`parse` makes a tree of a text, `Evaluation` a value of a tree. What names and functions stand for,
and what is computed with (columns of polars, numbers of NumPy), is the caller's to say.
"""

from cclab.expressions.evaluation import Call, Evaluation, Values
from cclab.expressions.terms import Kind, Term
from cclab.expressions.tree import Expression, parse, refusal

__all__ = ["Call", "Evaluation", "Expression", "Kind", "Term", "Values", "parse", "refusal"]
