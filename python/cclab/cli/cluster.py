"""`cclab cluster`: workers for `cclab run --cluster`."""

from __future__ import annotations

import logging
import signal
from typing import Annotated

import typer

from cclab.cli import options
from cclab.cli.console import count, note, tell
from cclab.errors import InputError
from cclab.sweep import cpus

app = typer.Typer(help="Workers for `cclab run --cluster ADDRESS`.", no_args_is_help=True)


@app.callback()
def cluster() -> None:
    """Workers for `cclab run --cluster ADDRESS`; docs/cluster.md says how on other machines."""


@app.command("local")
def local(
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.whole("--workers", 1, 4096),
            metavar="N",
            help="One per CPU if not given.",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            parser=options.whole("--port", 0, 65535), metavar="N", help="Any free one if 0."
        ),
    ] = 0,
) -> None:
    """Start a Dask scheduler and workers on this machine, until Ctrl-C; print its address."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs the package dask.distributed; please install it: "
            "pip install 'cclab[cluster]'"
        ) from None

    number = workers or cpus()
    # A batch system ends what it started by SIGTERM.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            scheduler_port=port,
            # Without a port of its own it would ask for 8787, which another cluster may have.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            preload=["cclab.execute.apart"],
        ) as made:
            try:
                tell(made.scheduler_address)
                note(
                    f"{count(number, 'worker')}; from another terminal: "
                    f"cclab run STUDY.toml --cluster {made.scheduler_address}"
                )
                signal.pause()
            finally:
                # Dask logs failures of its own while it is ended, with tracebacks.
                logging.disable()
    except KeyboardInterrupt:
        note("the cluster has ended")
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot start a cluster on port {port}: {error}") from error
