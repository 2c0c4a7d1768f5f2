"""`cclab cluster`: workers for `cclab run --cluster`."""

from __future__ import annotations

import logging
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cclab import shell
from cclab.cli import options
from cclab.cli.console import count, note, tell
from cclab.errors import InputError
from cclab.execute.address import Scheduler
from cclab.machine import cpus

if TYPE_CHECKING:
    from collections.abc import Iterator

_WITH_HTTP = ("scheduler", "worker")

app = typer.Typer(help="Workers for `cclab run --cluster FILE`.", no_args_is_help=True)


@app.callback()
def cluster() -> None:
    """Workers for `cclab run --cluster FILE`; docs/cluster.md says how on other machines."""


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
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where its address and credentials go; into a folder of its own if not given.",
        ),
    ] = None,
) -> None:
    """Start a Dask scheduler and workers on this machine, until Ctrl-C; print its file's path.

    Nobody without the file, which only its owner can read, can have them do anything.
    """
    try:
        import dask
        import distributed

        from cclab.execute.cluster import security
    except ImportError:
        raise InputError(
            "a cluster needs the package dask.distributed; please install it: "
            "pip install 'cclab[cluster]'"
        ) from None

    number = workers or cpus()
    try:
        temporary = distributed.Security.temporary()
    except ImportError:
        raise InputError(
            "a cluster's credentials need the package cryptography; please install it: "
            "pip install 'cclab[cluster]'"
        ) from None
    certificate, key = temporary.tls_ca_file, temporary.tls_client_key
    options.let_pipes_break()
    # A batch system ends what it started by SIGTERM.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="cclab-cluster-") as own,
            # What they tell over HTTP is for nobody.
            dask.config.set({f"distributed.{part}.http.routes": [] for part in _WITH_HTTP}),
            distributed.LocalCluster(
                n_workers=number,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                security=security(certificate, key),
                scheduler_port=port,
                # Without a port of its own it would ask for 8787, which another cluster may have.
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                local_directory=own,
                preload=["cclab.execute.apart"],
            ) as made,
        ):
            place = file or Path(own) / "cluster.json"
            try:
                with _told(Scheduler(made.scheduler_address, certificate, key), place):
                    note(
                        f"{count(number, 'worker')}; from another terminal: "
                        f"cclab run STUDY.toml --cluster {shell.word(place)}"
                    )
                    signal.pause()
            finally:
                # Dask logs failures of its own while it is ended, with tracebacks.
                logging.disable()
    except KeyboardInterrupt:
        note("the cluster has ended")
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot start a cluster on port {port}: {error}") from error


@contextmanager
def _told(scheduler: Scheduler, file: Path) -> Iterator[None]:
    """Has `file` tell of `scheduler`, and prints where it is; it is gone afterwards."""
    scheduler.write(file)
    try:
        tell(str(file))
        yield
    finally:
        file.unlink(missing_ok=True)
