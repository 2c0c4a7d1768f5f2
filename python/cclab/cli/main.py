"""The command line's table of contents, and what its exit codes mean.

0 done · 1 an expectation or a check failed · 2 wrong input · 3 a run failed · 130 interrupted
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from cclab import _core, versions
from cclab.cli import (
    analyze,
    cluster,
    compare,
    doctor,
    explain,
    kernel,
    listing,
    new,
    plan,
    query,
    report,
    reproduce,
    run,
    schema,
    store,
    verify,
)
from cclab.cli.console import complain, tell
from cclab.cli.exits import DONE, INTERRUPTED, RUN_FAILED, WRONG_INPUT
from cclab.errors import CaptureError, DamageError, InputError, RunError, StoreError, StudyError

app = typer.Typer(
    name="cclab",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        tell(f"cclab {_core.VERSION}, {versions.AT_HAND}")
        raise typer.Exit


@app.callback()
def cclab(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the versions and exit."
        ),
    ] = False,
) -> None:
    """A congestion-control laboratory: one study file in; tables, figures and captures out."""


app.command("run")(run.run)
app.command("plan")(plan.plan)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("reproduce")(reproduce.reproduce)
app.command("analyze")(analyze.analyze)
app.command("verify")(verify.verify)
app.command("query")(query.query)
app.command("list")(listing.listing)
app.command("doctor")(doctor.doctor)
app.add_typer(new.app, name="new")
app.add_typer(store.app, name="store")
app.add_typer(kernel.app, name="kernel")
app.add_typer(cluster.app, name="cluster")
app.command("schema")(schema.schema)


_KEEPS_RUNS = ("run", "reproduce", "compare")


def main() -> None:
    """Runs the command line and exits with its code: one message for bad input, no traceback."""
    # A reader that has seen enough ends the command as it ends any filter, without a complaint.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    code = invoke()
    # `python -m` dies of SIGINT, whatever its code, once an interrupt has come out of a text that a
    # library executed (dataclasses and namedtuple do) until another text is executed: CPython
    # remembers it in `run_eval_code_obj` (Python/pythonrun.c), and forgets it there.
    exec("")
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
    except OSError as error:
        # Standard output, most likely: what writes files has messages of its own.
        complain(f"cannot write: {error.strerror}")
        code = RUN_FAILED
    if code == INTERRUPTED:
        verb = (arguments or sys.argv[1:] or [""])[0]
        kept = "; finished runs are kept, the same command goes on from there"
        complain(f"interrupted{kept if verb in _KEEPS_RUNS else ''}")
    return code if isinstance(code, int) else DONE
