"""The Linux kernel: in virtual time, in guests that are each run's own."""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING

from cclab import _core, kernel
from cclab.errors import InputError, RunError
from cclab.execute.backends import host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.documents.scenario import Scenario
    from cclab.plan import Run

LIMIT_S = 3600.0
"""Real time that a run may take, unless `CCLAB_LIMIT_S` in the environment says otherwise."""
STALL_S = 60.0
"""Real time that a run's clock may stand still, unless `CCLAB_STALL_S` says otherwise."""


class Linux:
    """Runs scenarios on the real TCP of Linux, unprivileged, faster than real time."""

    name = "linux"
    most_jobs = None
    in_thread = False

    def seconds(self, packets: float, virtual_s: float) -> float:
        """Boot and set-up, some 250,000 packets a second, and little for the clock itself."""
        return 0.3 + packets * 4e-6 + virtual_s / 1000

    def check(self, runs: list[Run]) -> None:
        """Raises `InputError` if a kernel or the agent is not there or could not work here."""
        # Runs of one scenario share it.
        scenarios = list({id(run.scenario): run.scenario for run in runs}.values())
        # Sweep points name few kernels, and each is looked for on the disk.
        named = (_core.kernels(json.dumps(scenario)) for scenario in scenarios)
        for called in dict.fromkeys(itertools.chain.from_iterable(named)):
            _installed(called)
        agent()
        limits()
        for lack, needed in (
            (host.ptrace(), "traces the processes that it runs, and ptrace is"),
            (host.addresses(), "begins at the same addresses each time, and personality is"),
        ):
            if lack is not None:
                raise InputError(
                    f"the linux backend's kernel {needed} {lack.what}; the remedy: {lack.remedy}"
                )
        _link(scenarios)

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Boots guests for each of `runs`, one after the other; other threads go on meanwhile."""
        return execute_on(kernels_of, runs, directory, progresses)


def kernels_of(scenario: Scenario) -> list[tuple[str | None, str, str, str]]:
    """The kernels of `scenario`: what it calls each, its name, its key and its program.

    The program has the modules of the scenario's C files in it. Raises `InputError` if one is not
    built, or a file does not compile.
    """
    modules = _modules(scenario)
    return [
        (called, built.name, built.key, str(kernel.linked(built, modules)))
        for called, built in _built(scenario).items()
    ]


def _built(scenario: Scenario) -> dict[str | None, kernel.Kernel]:
    """The kernels of `scenario` by what it calls them. Raises `InputError` if one is not built."""
    return {called: _installed(called) for called in _core.kernels(json.dumps(scenario))}


def _installed(called: str | None) -> kernel.Kernel:
    built = kernel.installed(called)
    if built is None:
        raise InputError(kernel.not_built(called))
    return built


def _modules(scenario: Scenario) -> list[kernel.Module]:
    """The modules of the C files of `scenario`."""
    if "variant_files" not in scenario:
        return []
    made = _core.modules(json.dumps(scenario))
    return [kernel.Module(name, file, tuple(texts.items())) for name, file, texts in made]


def _link(scenarios: Sequence[Scenario]) -> None:
    """Links each kernel once with the modules of all `scenarios` that are on it."""
    wanted: dict[str, tuple[kernel.Kernel, list[kernel.Module]]] = {}
    for scenario in scenarios:
        if modules := _modules(scenario):
            for built in _built(scenario).values():
                wanted.setdefault(built.key, (built, []))[1].extend(modules)
    for built, modules in wanted.values():
        kernel.linked(built, modules)


def execute_on(
    kernels: Callable[[Scenario], list[tuple[str | None, str, str, str]]] | None,
    runs: Sequence[Run],
    directory: Path,
    progresses: Sequence[Progress],
) -> list[str | None]:
    """Has the agent do `runs` on the `kernels` of their scenarios, or on this host's; see
    `Backend.execute`."""
    outcomes: list[str | None] = []
    for run, progress in zip(runs, progresses, strict=True):
        folder = directory / run.id
        folder.mkdir()
        try:
            _core.execute_on_kernel(
                run.to_json(),
                str(folder),
                progress,
                str(agent()),
                None if kernels is None else kernels(run.scenario),
                limits(),
            )
        except RunError as error:
            outcomes.append(str(error))
        else:
            outcomes.append(None)
    return outcomes


def agent() -> Path:
    """Where the agent's program is. Raises `InputError` if it is not there."""
    place = host.agent()
    if not place.is_file() or not os.access(place, os.X_OK):
        raise InputError(
            f"{place}: no such program; `make kernel` in cclab's folder builds the agent"
        )
    return place


def limits() -> tuple[float, float]:
    """Real seconds that a run may take, and that its clock may stand still."""
    return _seconds("CCLAB_LIMIT_S", LIMIT_S), _seconds("CCLAB_STALL_S", STALL_S)


def _seconds(name: str, usual: float) -> float:
    text = os.environ.get(name, "")
    try:
        seconds = float(text) if text else usual
    except ValueError:
        seconds = 0.0
    # 1e9 s are 30 years; NaN compares false.
    if not 0 < seconds <= 1e9:
        raise InputError(f"{name}={text}: not a number of seconds above 0")
    return seconds
