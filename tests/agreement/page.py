"""The page that shows how far the three agree: docs/analyze-agreement.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agreement.comparison import JUDGES, Comparison
from agreement.explained import EXPLAINED
from agreement.kinds import FAMILIES, KINDS
from agreement.runs import RUNS, SAYS

if TYPE_CHECKING:
    from agreement.comparison import Score
    from agreement.explained.explanation import Explanation

HEAD = """\
# cclab, tcptrace and tshark on the same captures

`make agreement` writes this page, and `make test` fails where it is not what comes out.

{kinds} captures, {directions} directions of connections, {segments} segments are read by
`cclab analyze`, by `tcptrace -l -r -W` (6.6.7) and by `tshark -2` (4.0). {made} of the captures are
written segment by segment, each for one thing (`tests/agreement/kinds/`); {runs} are of the
simulator and of the real kernel. Times are in microseconds, as tcptrace reads them. Two numbers
are equal if they differ by less than half of the last digit that the other program prints. Where
they are not, the reason is below; the tests also fail on a reason that no longer holds.

## Field by field

In how many directions of how many both programs say the same, and in how many they do not for a
reason that is explained; in none without one. Where the other program does not see the connection
at all, there is nothing to compare. [analyze.md](analyze.md) defines the columns.

"""

TABLES = """
## Segment by segment, block by block

The tables `segments` and `sacks` beside tshark, row by row. Equal is in how many rows of how many.

"""

ALONE = """
Neither says anything about
{columns}:
other tests are about them.
"""

REASONS = """
## Why they differ

Of each reason: the columns, the reason, who is right; and then each number of cclab / of the other,
converted as the other counts, by capture. Directions have the number of the connection, with `a`
for what the end sent that sent the first packet, and `b` for what the other sent.

"""

RIGHT = {
    "cclab": "cclab is right",
    "tcptrace": "tcptrace is right",
    "tshark": "tshark is right",
    "either": "a matter of what one wants to know",
}


def page(comparison: Comparison) -> str:
    """The page, in Markdown."""
    directions = comparison.scores["connection", "tshark"].compared
    head = HEAD.format(
        kinds=len(comparison.rows),
        directions=directions,
        segments=f"{sum(row['packets'] for rows in comparison.rows.values() for row in rows):,}",
        made=len(KINDS),
        runs=len(comparison.rows) - len(KINDS),
    )
    columns = list(dict.fromkeys(column for column, _ in comparison.scores))
    of_tables = [column for column in columns if "." in column]
    of_directions = [column for column in columns if "." not in column]
    return "".join(
        [
            head,
            *_table(comparison, of_directions, JUDGES),
            ALONE.format(columns=_listed([f"`{column}`" for column in comparison.alone()])),
            TABLES,
            *_table(comparison, of_tables, ("tshark",)),
            REASONS,
            *_reasons(comparison),
            "\n## The captures\n\n",
            *_captures(),
        ]
    )


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _table(comparison: Comparison, columns: list[str], judges: tuple[str, ...]) -> list[str]:
    lines = ["| column | " + " | ".join(f"{j} | equal | explained" for j in judges) + " |\n"]
    lines.append("| --- |" + " --- | ---: | ---: |" * len(judges) + "\n")
    for column in columns:
        cells = [_cells(comparison.scores.get((column, judge))) for judge in judges]
        lines.append(f"| {_code(column)} | {' | '.join(cells)} |\n")
    return lines


def _cells(score: Score | None) -> str:
    if score is None:
        return "| | "
    name = f"{score.name}: {score.how}" if score.how else score.name
    differs = str(len(score.differences)) if score.differences else ""
    return f"{name} | {score.equal:,} of {score.compared:,} | {differs}"


def _code(column: str) -> str:
    """Names of columns as code, what else is said of them as it is."""
    return re.sub(r"[a-z_]*[._][a-z_.]*|^[a-z]+$", lambda name: f"`{name.group()}`", column)


def _reasons(comparison: Comparison) -> list[str]:
    lines = []
    for judge in JUDGES:
        lines.append(f"### Against {judge}\n\n")
        for explanation in EXPLAINED:
            if explanation.judge == judge:
                columns = ", ".join(_code(column) for column in explanation.columns)
                why = f"{explanation.why[0].upper()}{explanation.why[1:]}"
                lines.append(f"- {columns}: {why}. *{RIGHT[explanation.right]}*\n")
                lines += _cases(comparison, explanation)
        lines.append("\n")
    return lines[:-1]


def _cases(comparison: Comparison, explanation: Explanation) -> list[str]:
    """The numbers of kinds that are written by hand; of runs, which change, the names."""
    lines = []
    for column in explanation.columns:
        cases = [
            f"{found.kind} {found.place} {_value(found.ours)} / {_value(found.theirs)}"
            for found in comparison.scores[column, explanation.judge].differences
            if found.kind in KINDS and found.is_explained_by(explanation)
        ]
        if cases:
            label = f"{_code(column)}: " if len(explanation.columns) > 1 else ""
            lines.append(f"  - {label}{', '.join(cases)}\n")
    runs = dict.fromkeys(
        found.kind
        for found in comparison.differences
        if found.kind not in KINDS and found.is_explained_by(explanation)
    )
    if runs:
        lines.append(f"  - {', '.join(runs)}\n")
    return lines


def _value(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _captures() -> list[str]:
    lines = ["| capture | what it shows |\n", "| --- | --- |\n"]
    for family in FAMILIES:
        name = family.__name__.rpartition(".")[2]
        for kind in family.KINDS:
            says = " ".join(str(kind.__doc__).split())
            lines.append(f"| {name}/{kind.__name__} | {says} |\n")
    for run in RUNS:
        lines += [
            f"| {run}/{point} | {says[0].upper()}{says[1:]}. |\n" for point, says in SAYS.items()
        ]
    return lines
