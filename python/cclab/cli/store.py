"""`cclab store`: what a results folder holds, whether it is sound, and what is copied."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cclab.cli import choices, options
from cclab.cli.console import complain, count, note, print_json, tell
from cclab.errors import InputError
from cclab.late import late
from cclab.queries import Question
from cclab.store import Store, health, holdings
from cclab.store.index import Index
from cclab.store.planned import check_is_store
from cclab.tabular import Table

if TYPE_CHECKING:
    from cclab.cli import drawn
    from cclab.plan import outdated
    from cclab.store import gc as collector
    from cclab.store import transfer
    from cclab.store.holdings import Holdings
    from cclab.store.transfer import Moved
else:
    drawn = late("cclab.cli.drawn")
    outdated = late("cclab.plan.outdated")
    collector = late("cclab.store.gc")
    transfer = late("cclab.store.transfer")

_DAMAGED = 3
_MOST_NAMED = 20
_UNITS = ("B", "kB", "MB", "GB", "TB")

app = typer.Typer(no_args_is_help=True, help="List, check, clean, copy results folders.")


@app.command("ls")
def ls(
    folder: options.ResultsFolder,
    runs: Annotated[bool, typer.Option("--runs", help="A line for each run.")] = False,
    json: options.Json = False,
) -> None:
    """List what a results folder holds: runs, plans, bytes, versions."""
    held = holdings.holdings(_store(folder), runs=runs, heard=_tell_reading)
    if json:
        print_json(held.document(runs=runs))
        return
    _print(folder, held)
    if runs:
        rows = [[[str(cell) for cell in row]] for row in held.rows]
        numeric = [name in ("seed", "bytes") for name in holdings.COLUMNS]
        drawn.print_table("", Table([*holdings.COLUMNS], numeric, rows, 0, 0))


@app.command("verify")
def verify(folder: options.ResultsFolder, json: options.Json = False) -> None:
    """Read everything in a results folder, and name what is not as it was written."""
    store = _store(folder)
    state_of = health.examine(store)
    if json:
        print_json(state_of.document())
    else:
        tell(f"{count(state_of.sound, 'sound run')} in {folder}")
    for run in state_of.torn:
        for file in health.damaged_files(store, run):
            note(f"{file}: torn: not as it was written")
    for run in state_of.gone[:_MOST_NAMED]:
        note(f"{store.file(run)}: gone: the index has rows of it")
    if state_of.gone:
        gone = len(state_of.gone)
        were = "is missing that was" if gone == 1 else "are missing that were"
        note(f"{count(gone, 'run')} {were} there")
    for names, state in (
        (state_of.foreign, "foreign: no run, or not the one that its name says"),
        (state_of.plans, "a plan that is not as it was written"),
        (state_of.derived, "not of these runs, or not as it was written"),
        (state_of.strays, "nothing that cclab wrote there"),
    ):
        for name in names:
            note(f"{name}: {state}")
    if not state_of.whole:
        complain(f"{folder} is damaged:")
    for remedy in state_of.remedies:
        note(f"  {remedy}")
    if not state_of.whole:
        raise typer.Exit(_DAMAGED)


@app.command("gc")
def gc(
    folder: options.ResultsFolder,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go.")] = False,
    other_versions: Annotated[
        bool,
        typer.Option("--other-versions", help="Also runs of other versions than those at hand."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Remove what no plan needs: its runs, what was set aside, what dead processes left."""
    store = _store(folder)
    known = outdated.outdated if other_versions else None
    if dry_run:
        rubbish = collector.garbage(store, known)
    else:
        rubbish = collector.collect(store, known)
        Index(store).renew()
    if json:
        print_json(rubbish.document())
        return
    verb = "would go" if dry_run else "went"
    for name in (*rubbish.runs, *rubbish.captures, *rubbish.strays, *rubbish.plans, *rubbish.aside):
        tell(name)
    tell(
        f"{verb}: {count(len(rubbish.runs), 'run')}, {count(len(rubbish.plans), 'plan')}, "
        f"{count(len(rubbish.aside), 'damaged run')}, "
        f"{count(len(rubbish.captures), 'folder')} of captures, "
        f"{count(len(rubbish.strays), 'file')} that {'is' if len(rubbish.strays) == 1 else 'are'} "
        "no run's, "
        f"{_size(rubbish.bytes)}"
    )


@app.command("export")
def export(
    folder: options.ResultsFolder,
    target: Annotated[
        Path,
        typer.Argument(metavar="TARGET", help="A new folder, or FILE.tar, .tar.gz or .tar.zst."),
    ],
    where: Annotated[
        str | None,
        typer.Argument(metavar="[EXPR]", help="The flows whose runs to take; all without it."),
    ] = None,
) -> None:
    """Copy runs that a condition chooses into a results folder or an archive of their own."""
    store = _store(folder)
    answer = Question(where, ["run"]).answer(folder, _tell_reading)
    chosen = {run for (run,) in answer.rows()}
    if not chosen:
        raise InputError(f"no flow in {folder} for which it holds")
    # Whether a condition holds of what cannot be read, nobody knows: it is tried, and named.
    chosen.update(Index(store).unread(answer.source.connection))
    done = transfer.export(store, chosen, target)
    note(f"{count(done.new, 'run')} in {target}, with what checks them")
    _tell_left_out(done)


@app.command("import")
def bring(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A results folder or archive.")],
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The results folder to add to.",
            autocompletion=choices.folders,
        ),
    ],
    max_decompressed: options.MaxDecompressed = None,
) -> None:
    """Bring the runs and plans of another results folder, or of an archive, into one."""
    done = transfer.bring(source, Store(folder), max_decompressed)
    Index(Store(folder)).refresh()
    note(f"{count(done.new, 'new run')} in {folder}")
    _tell_left_out(done)


def _store(folder: Path) -> Store:
    """The store in `folder`. Raises `StoreError` if it is none."""
    store = Store(folder)
    check_is_store(store)
    return store


def _print(folder: Path, held: Holdings) -> None:
    tell(f"{folder}: {count(held.runs, 'run')}, {_size(held.bytes)}")
    for backend, version, runs in held.versions:
        tell(f"  {count(runs, 'run')} of {backend} {version}")
    for plan in held.plans:
        tell(f"  plan {plan.name}: {plan.title}: {plan.present} of {count(plan.runs, 'run')} here")
        tell(f"    {count(plan.points, 'sweep point')}, {plan.file}")
    if held.unplanned:
        tell(f"  {count(held.unplanned, 'run')} that no plan asked for by itself")
    if held.unknown:
        tell(f"  {count(held.unknown, 'run')} that cannot be read; `cclab store verify` names them")


def _tell_left_out(done: Moved) -> None:
    """Names what was not copied. Exits with 3 if there is something."""
    for plan in done.plans:
        note(f"{plan}: left out: a plan that is not as it was written")
    for run in done.refused:
        note(f"{run}: left out: torn, or not the run that its name says")
    for run in done.missing[:_MOST_NAMED]:
        note(f"{run}: missing: a plan asks for it")
    if done.refused:
        complain(f"{count(len(done.refused), 'run')} left out; `cclab run` does them again")
    if done.missing:
        complain(f"{count(len(done.missing), 'run')} missing that the plans brought ask for")
    if not done.whole:
        raise typer.Exit(_DAMAGED)


def _size(size: float) -> str:
    for unit in _UNITS:
        if size < 1000 or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return ""


def _tell_reading(runs: int) -> None:
    note(f"making the index again: reading {count(runs, 'run')}")
