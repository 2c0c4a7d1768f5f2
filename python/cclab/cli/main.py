"""The command line's table of contents, and what it exits with; `exits.py` says what that means."""

from __future__ import annotations

import gc
import signal
import sys
from importlib import import_module
from typing import Annotated

import typer
from typer.exceptions import TyperException

from cclab import _core, versions
from cclab.cli import shells, values
from cclab.cli.console import complain, give_up_unwritten, prepare, tell
from cclab.cli.exits import DONE, INTERRUPTED, RUN_FAILED, WRONG_INPUT
from cclab.errors import CaptureError, DamageError, InputError, RunError, StoreError, StudyError

VERBS = {
    "run": ("run", "Run a study: what the results folder already holds is not run again."),
    "plan": (
        "plan",
        "Show what would run, what each backend cannot do, and the estimated time.",
    ),
    "explain": (
        "explain",
        "Explain a study before it runs: paths, windows against BDP, limits, expected rates.",
    ),
    "report": (
        "report",
        "Write tables, figures and one offline page from a results folder alone.",
    ),
    "show": (
        "show",
        "Open the page of a results folder: runs over time, one, or two side by side.",
    ),
    "compare": (
        "compare",
        "Compare two results folders, or a study on two backends, variants or kernels.",
    ),
    "reproduce": (
        "reproduce",
        "Run a published study again: its printed numbers beside ours, a verdict for each claim.",
    ),
    "evaluate": (
        "evaluate",
        "Evaluate a variant by the criteria of a suite, such as RFC 9743: a card with evidence.",
    ),
    "analyze": (
        "analyze",
        "Analyze a packet capture: throughput, losses, RTT and windows of each TCP connection.",
    ),
    "verify": ("verify", "Hold what a run measured against its packet captures, number by number."),
    "query": (
        "query",
        "Ask a results folder: the flows, groups, runs, traffic or probes for which a condition "
        "holds.",
    ),
    "list": (
        "listing",
        "List what this version has: variants, qdiscs, topologies, impairments, traffic and more.",
    ),
    "doctor": ("doctor", "Check this machine: what is there, what is missing, how to get it."),
    "schema": ("schema", "Print the JSON Schema of study files, for editors and other programs."),
    "completion": (
        "completion",
        "Print what a shell reads to complete verbs, options and names of cclab.",
    ),
    "new": ("new", "Write files to begin with."),
    "store": ("store", "List, check, clean, copy results folders."),
    "kernel": ("kernel", "Make, find and try the kernels of the linux backend."),
    "cluster": ("cluster", "Workers for `cclab run --cluster FILE`."),
}
"""The module of each verb and what the table of contents says of it, which is how the verb's own
help begins. Only the module of the verb that is called is loaded: all of them take longer to load
than most of them to run."""


def _version(wanted: bool) -> None:
    if wanted:
        built = f" (built from {_core.BUILT_FROM})" if _core.BUILT_FROM else ""
        tell(f"cclab {_core.VERSION}{built}, {versions.AT_HAND}")
        raise typer.Exit


def cclab(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the versions and exit."
        ),
    ] = False,
) -> None:
    """A congestion-control laboratory: one study file in; tables, figures and captures out."""


def app(arguments: list[str] | None, *, standalone_mode: bool) -> object:
    """Runs the verb that `arguments` (the process's own if None) name; gives what it returns."""
    words = shells.asked() or _words(arguments)
    called = next((word for word in words if not word.startswith("-")), "")
    values.read_plainly()
    return verbs(called)(arguments, standalone_mode=standalone_mode)


def verbs(*called: str) -> typer.Typer:
    """The command line: of `called` all is there, of other verbs what the contents say."""
    every = typer.Typer(
        name="cclab",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    every.callback()(cclab)
    for name, (module, summary) in VERBS.items():
        if name in called:
            _add(every, name, module)
        else:
            every.command(name, help=summary)(_not_called)
    return every


def _words(arguments: list[str] | None) -> list[str]:
    """`arguments`, or the process's own if None."""
    return sys.argv[1:] if arguments is None else arguments


def _add(every: typer.Typer, name: str, module: str) -> None:
    """Adds the verb `name`: the function that its module is called after, or several verbs."""
    loaded = import_module(f"cclab.cli.{module}")
    if hasattr(loaded, "app"):
        every.add_typer(loaded.app, name=name)
    else:
        settings = getattr(loaded, "COMMAND_SETTINGS", None)
        every.command(name, context_settings=settings)(getattr(loaded, module))


def _not_called() -> None:
    """Stands for a verb in the table of contents."""


_KEEPS_RUNS = ("run", "reproduce", "compare", "evaluate")


def main() -> None:
    """Runs the command line and exits with its code: one message for bad input, no traceback."""
    # A reader that has seen enough ends the command as it ends any filter, without a complaint.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    prepare()
    code = invoke()
    # `python -m` dies of SIGINT, whatever its code, once an interrupt has come out of a text that a
    # library executed (dataclasses and namedtuple do) until another text is executed: CPython
    # remembers it in `run_eval_code_obj` (Python/pythonrun.c), and forgets it there.
    exec("")
    give_up_unwritten()
    # What is left goes with the process: the interpreter would look through all of it, twice, for
    # garbage.
    gc.freeze()
    sys.exit(code)


def invoke(arguments: list[str] | None = None) -> int:
    """Runs the command line on `arguments` (the process's own if None) and gives the exit code."""
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (StudyError, InputError, CaptureError) as error:
        complain(str(error))
        code = WRONG_INPUT
    except DamageError as error:
        complain(str(error))
        code = RUN_FAILED
    except StoreError as error:
        complain(str(error))
        code = RUN_FAILED if error.while_writing else WRONG_INPUT
    except RunError as error:
        complain(str(error))
        code = RUN_FAILED
    except TyperException as error:
        if error.format_message():  # A group of verbs without one has printed its help.
            complain(error.format_message())
        code = error.exit_code
    except UnicodeEncodeError as error:
        # Names of files may be any bytes; what else is given stands in studies and documents. Of
        # anything but an argument it is a fault of this program.
        given = next((word for word in _words(arguments) if error.object in word), None)
        if given is None:
            raise
        complain(f"{given}: not UTF-8 text; only names of files may be other bytes")
        code = WRONG_INPUT
    except OSError as error:
        # Standard output, most likely: what writes files has messages of its own.
        complain(f"cannot write: {error.strerror}")
        code = RUN_FAILED
    if code == INTERRUPTED:
        verb = (_words(arguments) or [""])[0]
        kept = "; finished runs are kept, the same command goes on from there"
        complain(f"interrupted{kept if verb in _KEEPS_RUNS else ''}")
    return code if isinstance(code, int) else DONE
