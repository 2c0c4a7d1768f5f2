"""Network namespaces on this host's kernel, in real time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cclab import _core
from cclab.errors import InputError
from cclab.execute.backends import host, linux

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cclab._core import Progress
    from cclab.plan import Run


class Netns:
    """Runs scenarios on the TCP of this host, as root, one at a time."""

    name = "netns"
    most_jobs = 1
    in_thread = False

    def seconds(self, packets: float, virtual_s: float) -> float:
        """Real time, and the set-up."""
        return virtual_s + 2.0

    def check(self, runs: list[Run]) -> None:
        """Raises `InputError` with all that this host lacks for `runs`, and the remedies."""
        linux.agent()
        linux.limits()
        probed = host.Host.probe()
        lacks = [] if probed.unprivileged is None else [("namespaces", probed.unprivileged)]
        # What a run needs does not depend on its seed.
        alike = {id(run.scenario): run for run in runs}.values()
        needs = [json.loads(_core.needs_of(run.to_json())) for run in alike]
        for name in sorted({name for need in needs for name in need["qdiscs"]}):
            lack = probed.qdisc(name)
            if lack is not None:
                lacks.append((f"queueing discipline {name}", lack))
        for name in sorted({name for need in needs for name in need["parts"]}):
            lack = probed.part(name)
            if lack is not None:
                lacks.append((f"{host.PARTS[name]} {name}", lack))
        for name in sorted({name for need in needs for name in need["variants"]}):
            lack = probed.variant(name)
            if lack is not None:
                lacks.append((f"variant {name}", lack))
        programs = {name for need in needs for name in need["programs"]}
        programs |= {"iptables"} if any(need["iptables"] for need in needs) else set()
        for name in sorted(programs):
            if host.which(name) is None:
                lacks.append((f"program {name}", host.Lack("not found", f"install {name}")))
        if probed.tracefs is not None and any(run.scenario["trace"]["events"] for run in runs):
            lacks.append(("events of the kernel", probed.tracefs))
        if lacks:
            lines = ["backend 'netns': this host lacks what the study needs:"]
            lines += [f"  {name}: {lack.what} ({lack.remedy})" for name, lack in lacks]
            raise InputError("\n".join(lines))

    def execute(
        self, runs: Sequence[Run], directory: Path, progresses: Sequence[Progress]
    ) -> list[str | None]:
        """Runs the agent for each of `runs` on this host."""
        return linux.execute_on(None, runs, directory, progresses)
