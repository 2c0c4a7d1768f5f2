"""The card as files: HTML that needs no network, JSON, Markdown for a draft, JUnit XML for CI."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import TYPE_CHECKING

from cclab import _core, pages, shown, whole
from cclab.drawing.style import svg
from cclab.evaluation import figure, told
from cclab.evaluation.evidence import FAULTS, NOT_EVALUATED
from cclab.evaluation.since import ABSENT, CARD

if TYPE_CHECKING:
    from pathlib import Path

    from cclab.evaluation.card import Card
    from cclab.evaluation.evidence import Line
    from cclab.evaluation.since import Change

PAGE = "index.html"
MARKDOWN = "card.md"
JUNIT = "junit.xml"

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def with_changes(card: Card, changes: list[Change]) -> Card:
    """The card, and what became of each line since an earlier one."""
    return replace(card, changes=changes)


def write(card: Card) -> Path:
    """Writes the card into its folder, and gives the path of its page.

    Raises `StoreError` if the folder cannot be written.
    """
    drawn = {line.criterion.id: figure.draw(line) for line in card.lines}
    pictures = {name: svg(drawing) for name, drawing in drawn.items() if drawing is not None}
    files = {
        CARD: (shown.json_text(card.document(), indent=1) + "\n").encode(),
        PAGE: _page(card, pictures).encode(),
        MARKDOWN: markdown(card).encode(),
        JUNIT: junit(card),
    }
    files |= {f"figures/{name}.svg": picture for name, picture in pictures.items()}
    earlier = card.folder.glob("figures/*.svg")
    gone = {str(file.relative_to(card.folder)) for file in earlier} - files.keys()
    whole.files(card.folder, files, gone=sorted(gone))
    return card.folder / PAGE


def _page(card: Card, pictures: dict[str, bytes]) -> str:
    return pages.render(
        "cclab.evaluation",
        "card.html.j2",
        card=card,
        says=card.suite.says,
        told=told,
        version=_core.VERSION,
        runs=os.path.relpath(card.runs, card.folder),
        figures={
            line.criterion.id: pages.figure(
                f"figure-{number}", line.criterion.measure, pictures[line.criterion.id]
            )
            for number, line in enumerate(card.lines)
            if line.criterion.id in pictures
        },
    )


def markdown(card: Card) -> str:
    """The card as the appendix of a draft: a table of lines, and what is not evaluated."""
    says = card.suite.says
    form = ", short form" if card.quick else ""
    counted = ", ".join(f"{number} {verdict}" for verdict, number in card.counts.items() if number)
    rows = [
        f"# {card.subject.name}: {says.title}",
        "",
        f"By {says.source}. Suite {card.suite.name}, version {says.version}{form} (SHA-256 "
        f"{card.suite.sha256}); cclab {_core.VERSION}, backend {card.backend}; beside "
        f"{card.standards_in_words}; {card.seeds_in_words}; intervals of 95%.",
        "",
        f"{counted}.",
        "",
        *(sentence for remark in card.remarks for sentence in (remark, "")),
        "| line | clause | | criterion | scenario | verdict | evidence | asked |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in card.lines:
        c = line.criterion
        asked = told.margin_in_words(c)
        verdict = f"**{line.verdict}**"
        evidence = [told.why(line), *(f"not run: {each}" for each in line.left_out)]
        facts = [c.id, c.clause, c.obligation, c.text, c.scenario]
        rows.append(_row([*facts, verdict, "; ".join(evidence), asked]))
    passed = [(line.criterion.id, line.let_pass) for line in card.lines if line.let_pass]
    if passed:
        rows += ["", "Warnings of the runs that the suite lets pass:", "", "| line | warnings |"]
        rows += ["| --- | --- |"]
        rows += [_row([identity, ", ".join(codes)]) for identity, codes in passed]
    if card.subject.sha256 is not None:
        given = shown.line(card.subject.given)
        rows[2:2] = [f"The variant is {given}, SHA-256 {card.subject.sha256}.", ""]
    if says.absent:
        rows += ["", "Not evaluated:", "", "| clause | | criterion | why |"]
        rows += ["| --- | --- | --- | --- |"]
        rows += [_row([a.clause, a.obligation, a.text, a.why]) for a in says.absent]
    if card.changes is not None:
        rows += ["", "Since the earlier card:", "", "| line | before | now | |"]
        rows += ["| --- | --- | --- | --- |"]
        rows += [_row([c.id, c.before, c.now, c.why]) for c in card.changes]
    if says.note:
        rows += ["", says.note]
    return "\n".join(rows) + "\n"


def _row(cells: list[str]) -> str:
    escaped = (shown.line(cell).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def junit(card: Card) -> bytes:
    """A test case for each line: those that fail or are worse than standard have failed, those
    that are undecided or not evaluated are skipped. Since an earlier card, those have failed that
    became worse or were lost, and no others."""
    alone = card.changes is None
    against = {change.id: change for change in card.changes or () if change.speaks_against}
    root = ElementTree.Element(
        "testsuite",
        name=_xml(f"{card.suite.name} {card.subject.name}"),
        tests=str(len(card.lines)),
        failures=str(len(card.faults) if alone else len(against)),
        skipped=str(
            sum(_is_skipped(line) and line.criterion.id not in against for line in card.lines)
        ),
    )
    for line in card.lines:
        case = ElementTree.SubElement(
            root, "testcase", classname=_xml(card.suite.name), name=line.criterion.id
        )
        because = _xml(told.why(line))
        change = against.get(line.criterion.id)
        if change is not None:
            message = "worse than before" if change.worse else "no longer evaluated"
            if change.before == ABSENT:
                message = line.verdict
            failed = ElementTree.SubElement(case, "failure", message=message)
            failed.text = _xml(change.why)
        elif line.verdict in FAULTS and alone:
            ElementTree.SubElement(case, "failure", message=line.verdict).text = because
        elif _is_skipped(line):
            ElementTree.SubElement(case, "skipped", message=f"{line.verdict}: {because}")
        else:
            ElementTree.SubElement(case, "system-out").text = f"{line.verdict}: {because}"
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _xml(text: str) -> str:
    """The text in one line, without what XML 1.0 has no spelling for."""
    return _NO_XML.sub("\ufffd", shown.line(text))


def _is_skipped(line: Line) -> bool:
    return line.verdict in ("undecided", NOT_EVALUATED)
