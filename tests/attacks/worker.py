"""The process of one kind: makes its tries, and tells what came of each, a line of JSON for each.

A try that ends it or takes too long (`ITIMER_PROF` ends it in the midst of compiled code, too) ends
this process alone: whoever started it knows the number.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attacks.kind import Missed, Through, dice
from attacks.kinds import KINDS

if TYPE_CHECKING:
    from attacks.kind import Kind, Strike

MISSES = 20
"""So many misses in a row, and the kind strikes nothing."""


def processor_s() -> float:
    """What this process, and those that it waited for, had of the processor."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_mib() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def outcome(strike: Strike, kind: Kind, name: str, seed: int, number: int) -> str | None:
    """What failed in the try, None if nothing did. Raises `Missed` and `Through`."""
    before = peak_mib()
    signal.setitimer(signal.ITIMER_PROF, kind.processor_s)
    try:
        failed = strike(number, dice(seed, name, number))
    except (Missed, Through, KeyboardInterrupt):
        raise
    except AssertionError as error:
        failed = str(error) or traceback.format_exc()
    except BaseException:  # A panic of the core is no Exception.
        failed = traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if failed is None and peak_mib() > before + kind.memory_mib:
        failed = f"it took {peak_mib() - before} MiB of memory"
    return failed


def work(name: str, order: dict[str, Any], folder: Path, tell: Any) -> None:
    """Makes tries of the kind from `order["first"]` on until they are enough."""
    kind, seed, number = KINDS[name], order["seed"], order["first"]
    until = time.monotonic() + order["seconds"]
    made = missed_in_a_row = 0
    with kind.bench(folder) as strike:
        tell({"ready": True, "processor_s": processor_s()})
        left = order["tries"]
        # However long the bench took.
        while left != 0 and (made < order["least"] or time.monotonic() < until):
            tell({"began": number})
            try:
                failed = outcome(strike, kind, name, seed, number)
                tell({"number": number, "failed": failed, "processor_s": processor_s()})
                made += 1
                left -= 1
                missed_in_a_row = 0
            except Missed as missed:
                tell({"number": number, "missed": str(missed), "processor_s": processor_s()})
                missed_in_a_row += 1
                if missed_in_a_row == MISSES:
                    tell({"number": number, "failed": f"missed {MISSES} times: {missed}"})
                    break
            except Through:
                break
            if number == order["last"]:
                break
            number += 1
    tell({"through": True, "processor_s": processor_s()})


def main() -> None:
    """`python -m attacks.worker KIND ORDER FOLDER`."""
    name, order, folder = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What a try prints, of any process that it starts, is not what is told.
    line = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(what: dict[str, Any]) -> None:
        line.write(json.dumps(what) + "\n")

    work(name, order, folder, tell)


if __name__ == "__main__":
    main()
