"""`cclab verify`: compares the traces of a results folder with its packet captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cclab import shell
from cclab.cli import options
from cclab.cli.console import complain, count, note, print_json, tell
from cclab.cli.drawn import print_rows
from cclab.cli.exits import EXPECTATION_FAILED, RUN_FAILED
from cclab.late import late
from cclab.plan import in_words
from cclab.tabular import Table

if TYPE_CHECKING:
    from cclab import verification
    from cclab.verification import Verified
    from cclab.verification.verified import Compared, Line
else:
    verification = late("cclab.verification")

_MOST_TOLD = 40
_HEADINGS = ("number", "at", "agree", "worst difference", "trace", "capture", "of")


def verify(
    folder: options.ResultsFolder,
    json: options.Json = False,
) -> None:
    """Hold what a run measured against its packet captures, number by number."""
    verified = verification.verify(folder)
    for file in verified.altered:
        note(f"{file} is not as it was written; it is compared as it is now")
    if json:
        print_json(verified.document())
    else:
        _print(verified)
    _tell_what_lacks(verified, verification.REMEDY)
    if not verified.agrees:
        complain(
            f"{count(len(verified.differing), 'number')} of the captures "
            f"contradict{'s' if len(verified.differing) == 1 else ''} the trace"
        )
    if verified.altered:
        again = shell.command("cclab", "run", folder)
        complain(
            f"{count(len(verified.altered), 'capture')} of {folder} "
            f"{'is' if len(verified.altered) == 1 else 'are'} damaged; {again} does the runs again"
        )
        raise typer.Exit(RUN_FAILED)
    if not verified.agrees:
        raise typer.Exit(EXPECTATION_FAILED)


def _print(verified: Verified) -> None:
    with_captures = verified.runs - len(verified.without_captures)
    tell(f"{count(with_captures, 'run')} of {verified.folder}: traces beside packet captures")
    numeric = [2 <= index < len(_HEADINGS) - 1 for index in range(len(_HEADINGS))]
    rows = [[_cells(line)] for line in verified.lines]
    red = {number for number, line in enumerate(verified.lines) if line.differing}
    print_rows(Table([*_HEADINGS], numeric, rows, 1, 0), red)
    for compared in verified.differing[:_MOST_TOLD]:
        tell(_told(compared))
    hidden = len(verified.differing) - _MOST_TOLD
    if hidden > 0:
        tell(f"and {hidden} more; --json has all")


def _cells(line: Line) -> list[str]:
    total = len(line.compared)
    agree = f"{total - len(line.differing)} of {total}" if line.judged else "not judged"
    worst = line.worst
    apart = worst.difference
    where = worst.subject.run.measured.run.id[:8]
    if worst.subject.flow is not None:
        where = f"{worst.subject.flow}, {where}"
    if apart is None:
        far = "one side lacks it"
    elif apart == 0:
        far = "none"
    elif line.relative:
        far = f"{apart * 100:+.3g} %"
    else:
        far = f"{apart:+.6g}{_unit(line.unit)}"
    shown = ("", "", "") if apart == 0 else (_value(worst.trace), _value(worst.capture), where)
    return [line.number, line.place, agree, far, *shown]


def _unit(unit: str) -> str:
    return "" if unit == "1" else f" {unit}"


def _value(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.9g}"


def _told(compared: Compared) -> str:
    """A contradiction in a line."""
    run, flow = compared.subject.run, compared.subject.flow
    swept = "".join(f", {words}" for words in in_words(run.params))
    number = f"{compared.number} at {compared.subject.point}"
    whose = "" if flow is None else f"flow {flow}, "
    unit = _unit(compared.unit)
    least, most = compared.allowed or (0.0, 0.0)
    bound = "they must be equal" if least == most == 0 else f"allowed {least:.6g} to {most:.6g}"
    if compared.relative:
        bound += " of the trace's"
    return (
        f"{whose}run {run.measured.run.id} (seed {run.measured.run.seed}{swept}): {number}: "
        f"trace {_value(compared.trace)}{unit}, capture {_value(compared.capture)}{unit}; {bound}"
    )


def _tell_what_lacks(verified: Verified, remedy: str) -> None:
    if verified.without_captures:
        lacking = len(verified.without_captures)
        have = "has" if lacking == 1 else "have"
        note(
            f"{lacking} of {count(verified.runs, 'run')} {have} no packet captures; {remedy} "
            "asks for one"
        )
    if verified.absent:
        run = shell.command("cclab", "run", verified.folder)
        note(f"{count(verified.absent, 'run')} of the plan missing; {run} goes on with them")
    reasons: dict[str, list[str]] = {}
    for skipped, _ in verified.not_compared:
        names = reasons.setdefault(skipped.why, [])
        if skipped.number not in names:
            names.append(skipped.number)
    for why, names in reasons.items():
        note(f"not compared everywhere: {', '.join(names)}: {why}")
