"""Writes which functions of the simulator lie together, and in which order: crates/sim/hot.ld.

The code that packets run through just fits the first cache of instructions, if it lies in one piece
and no set of that cache gets more of its lines than it has room for. Where the linker puts it, with
what is seldom run between, parts of it push each other out: how fast a build is then depends on
chance. valgrind counts how often each instruction is run in the dumbbell of the benchmark. The
functions that take nearly all of them lie together, in an order in which few of their lines push
each other out. `make layout` runs this after a change to what packets run through; results do not
depend on it.
"""

import argparse
import bisect
import collections
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measuring import BenchError, failed, progress

SCRIPT = Path(__file__).parent.parent / "crates" / "sim" / "hot.ld"
# Loads that take the ways of packets: flows, bit/s, packets of queue, variant, discipline; and
# between which seconds, behind what is done once.
LOADS = (
    (("2", "100000000", "100", "cubic", "droptail"), (1, 3)),
    (("100", "1000000000", "100", "cubic", "droptail"), (1, 2)),
    (("10", "1000000000", "100", "cubic", "fq_codel"), (1, 2)),
    (("100", "1000000000", "100", "bbr", "droptail"), (1, 2)),
)
# The functions that take this share of what a load takes in functions of Rust.
SHARE = 0.98
# The first cache of instructions of most processors of x86-64: 32 KB of 64 sets, of eight lines
# each. A page has one line of each set.
SETS = 64
WAYS = 8
LINE_BYTES = 64
PAGE_BYTES = SETS * LINE_BYTES
# Where a function may begin.
STEP_BYTES = 16
# What the symbols of the standard library's functions have, and those of methods of types over
# types. Each program has others of them, and as many as it has types: they lie behind the rest,
# whose places they would move.
OVER_TYPES = re.compile(r"\?LT\?[A-Z]\?|_ZN\d(?:core|alloc)\d")
# Orders that are looked at.
ORDERS = 12_000
# What the chances of annealing begin with. Orders of about as few misses take times up to 1.14
# apart: of ten seeds this gave the best order of the tree that was timed (docs/speed.md).
SEED = 10
# By how many misses, of a packet of each load together, an order may be worse than the last, on
# average, at first and at the end.
WARMTH = (4.0, 0.04)
HEAD = f"""\
/* The functions that packets run through, in one piece and in an order in which few of their lines
   push each other out of the first cache of instructions. Written by `make layout`
   (benches/layout.py). What a symbol has of dollars and digests is left open. */
SECTIONS
{{
  .text.hot : ALIGN({PAGE_BYTES})
  {{
"""
TAIL = """\
  }
}
INSERT BEFORE .text;
"""


@dataclass(frozen=True)
class Function:
    """A function of the program."""

    symbol: str
    address: int
    size: int


@dataclass
class Piece:
    """All functions that one line of the script stands for."""

    pattern: str
    steps: int
    runs: list[dict[int, float]]
    """How often a packet of each load runs what lies at a step."""

    def lines(self, phase: int) -> list[tuple[int, list[float]]]:
        """The lines of the piece, and how often each load runs them, where it begins `phase` steps
        behind the start of a line."""
        lines: dict[int, list[float]] = {}
        for load, runs in enumerate(self.runs):
            for step, often in runs.items():
                line = lines.setdefault(
                    (step + phase) * STEP_BYTES // LINE_BYTES, [0.0] * len(self.runs)
                )
                line[load] = max(line[load], often)
        return sorted(lines.items())


def functions(program: Path) -> list[Function]:
    """The functions of Rust in `program`, by address."""
    listed = said(["nm", "--numeric-sort", "--print-size", str(program)], "binutils")
    parts = [line.split() for line in listed.splitlines()]
    own = [
        Function(symbol, int(address, 16), int(size, 16))
        for address, size, kind, symbol in (words for words in parts if len(words) == 4)
        if kind in "tTwW" and symbol.startswith("_ZN")
    ]
    if not own:
        raise BenchError(f"{program}: it has no names of functions, or they begin not with _ZN")
    return own


def said(command: list[str], package: str) -> str:
    """What `command` prints, which `package` has."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is missing\n  apt-get install {package}") from None
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{' '.join(command)}\n{error.stderr}") from None


def rates(
    program: Path, load: tuple[str, ...], span: tuple[int, int], folder: Path
) -> dict[int, float]:
    """How often a packet of `load` has `program` run the instruction at each address."""
    (before, first), (runs, last) = (counted(program, load, end, folder) for end in span)
    return {address: (runs[address] - before[address]) / (last - first) for address in runs}


def counted(
    program: Path, load: tuple[str, ...], seconds: int, folder: Path
) -> tuple[collections.Counter[int], int]:
    """How often each address is run in so many `seconds` of `load`, and how many packets leave."""
    flows, rate, queue, variant, discipline = load
    counts = folder / "counts"
    command = [
        "valgrind",
        "--tool=callgrind",
        "--dump-instr=yes",
        "--compress-pos=no",
        "--compress-strings=no",
        f"--callgrind-out-file={counts}",
        str(program.resolve()),
        *(flows, rate, str(seconds), queue, variant, "linux-6.12", "1", discipline),
    ]
    told = said(command, "valgrind")
    return executed(counts.read_text(), program), json.loads(told)["data_packets_sent"]


def executed(counts: str, program: Path) -> collections.Counter[int]:
    """How often each address of `program` was run, by the file that callgrind writes:
    https://valgrind.org/docs/manual/cl-format.html. Addresses are those in the file of the program
    or library."""
    taken: collections.Counter[int] = collections.Counter()
    is_call = is_own = False
    for line in counts.splitlines():
        if line.startswith("ob="):
            is_own = line == f"ob={program.resolve()}"
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            # What a call cost stands where it was called.
            if is_own and not is_call:
                address, _, times = line.split()
                taken[int(address, 16)] += int(times)
            is_call = False
    return taken


def pattern(symbol: str) -> str:
    """What the linker finds the section of `symbol` by in any build, `#[cold]` or not."""
    without_digest = re.sub(r"17h[0-9a-f]{16}E(?:\.llvm\.\d+)?$", "17h*", symbol)
    return f"    *(.text*.{without_digest.replace('$', '?')})\n"


def pieces(own: list[Function], loads: list[dict[int, float]]) -> list[Piece]:
    """What lies together: the functions with [`SHARE`] of what any load takes."""
    starts = [function.address for function in own]
    chosen: set[str] = set()
    runs: list[dict[str, dict[int, float]]] = []
    for load in loads:
        taken: dict[str, float] = collections.defaultdict(float)
        steps: dict[str, dict[int, float]] = collections.defaultdict(dict)
        for address, often in load.items():
            function = own[bisect.bisect(starts, address) - 1]
            offset = address - function.address
            if often > 0 and 0 <= offset < function.size:
                taken[pattern(function.symbol)] += often
                at, step = steps[function.symbol], offset // STEP_BYTES
                at[step] = max(at.get(step, 0.0), often)
        wanted = SHARE * sum(taken.values())
        for name, often in sorted(taken.items(), key=lambda pair: -pair[1]):
            if wanted <= 0:
                break
            chosen.add(name)
            wanted -= often
        runs.append(steps)
    placed: dict[str, Piece] = {}
    for function in own:
        name = pattern(function.symbol)
        if name in chosen:
            piece = placed.setdefault(name, Piece(name, 0, [{} for _ in loads]))
            for at, steps in zip(piece.runs, runs, strict=True):
                at.update(
                    {piece.steps + step: often for step, often in steps[function.symbol].items()}
                )
            piece.steps += -(-function.size // STEP_BYTES)
    return list(placed.values())


def evicted(rates: list[float]) -> float:
    """How many lines of a set, of which each is run so often, a packet finds gone.

    A line is gone if as many others as there is room for were run since it was itself: of those
    that are run more often all were, of the others a part.
    """
    rates.sort(reverse=True)
    seldomer = sum(rates)
    missed = 0.0
    for oftener, rate in enumerate(rates):
        seldomer -= rate
        others = oftener + seldomer / rate
        missed += rate * min(max(others - (WAYS - 1), 0.0), 1.0)
    return missed


def ordered(placed: list[Piece], loads: int, seed: int) -> tuple[list[Piece], float]:
    """The pieces in an order in which a packet finds few lines gone, and how many: by annealing."""
    in_line = LINE_BYTES // STEP_BYTES
    lines = [[piece.lines(phase) for phase in range(in_line)] for piece in placed]
    chance = random.Random(seed)

    def misses(order: list[int]) -> float:
        run: dict[int, list[float]] = {}
        position = 0
        for number in order:
            first, phase = divmod(position, in_line)
            for line, rates in lines[number][phase]:
                # The end of one piece and the start of the next may share a line.
                before = run.get(first + line)
                run[first + line] = rates if before is None else [*map(max, before, rates)]
            position += placed[number].steps
        sets: list[list[list[float]]] = [[[] for _ in range(SETS)] for _ in range(loads)]
        for line, rates in run.items():
            for own, rate in zip(sets, rates, strict=True):
                if rate:
                    own[line % SETS].append(rate)
        return sum(evicted(own) for load in sets for own in load if len(own) > WAYS)

    over_types = [bool(OVER_TYPES.search(piece.pattern)) for piece in placed]
    order = sorted(range(len(placed)), key=over_types.__getitem__)
    bound = over_types.count(False)
    places = {False: range(bound), True: range(bound, len(placed))}
    now = misses(order)
    warm, cold = WARMTH
    for step in range(ORDERS):
        warmth = warm * (cold / warm) ** (step / ORDERS)
        other = order.copy()
        moved = other.pop(chance.randrange(len(order)))
        other.insert(chance.choice(places[over_types[moved]]), moved)
        then = misses(other)
        if then <= now or chance.random() < math.exp((now - then) / warmth):
            order, now = other, then
    return [placed[number] for number in order], now


def main() -> int:
    """Counts and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "program", type=Path, help="the dumbbell, compiled for release and not laid out by a script"
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help="another order of about as few misses (%(default)s)"
    )
    arguments = parser.parse_args()
    try:
        own = functions(arguments.program)
        loads = []
        with tempfile.TemporaryDirectory() as folder:
            for load, span in LOADS:
                progress(" ".join(load))
                loads.append(rates(arguments.program, load, span, Path(folder)))
    except BenchError as error:
        return failed(error)
    progress(f"{ORDERS} orders")
    order, misses = ordered(pieces(own, loads), len(loads), arguments.seed)
    SCRIPT.write_text(HEAD + "".join(piece.pattern for piece in order) + TAIL)
    print(f"{SCRIPT}: {len(order)} functions, some {misses / len(loads):.0f} misses a packet")
    return 0


if __name__ == "__main__":
    sys.exit(main())
