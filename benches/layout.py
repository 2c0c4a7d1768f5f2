"""Writes which functions of the simulator lie together, and in which order: crates/sim/hot.ld.

The code that packets run through just fits the first cache of instructions if it lies in one
piece. Where the linker puts it, with what is seldom run between, parts of it push each other out:
how fast a build is then depends on chance. valgrind counts instructions by function while the
dumbbell of the benchmark runs; the functions that take nearly all of them go first, those with most
in front. `make layout` runs this after a change to what packets run through; results do not depend
on it.
"""

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import BenchError, failed, progress

SCRIPT = Path(__file__).parent.parent / "crates" / "sim" / "hot.ld"
# Loads that take the ways of packets: flows, bit/s, seconds, packets of queue, variant, discipline.
LOADS = (
    ("2", "100000000", "3", "100", "cubic", "droptail"),
    ("10", "1000000000", "1", "100", "cubic", "fq_codel"),
    ("100", "1000000000", "1", "100", "bbr", "droptail"),
)
# The functions that take this share of a load's instructions.
SHARE = 0.98
HEAD = """\
/* The functions that packets run through, those that take most instructions first: in one piece
   they fit the first cache of instructions. Written by `make layout` (benches/layout.py). What a
   symbol has of dollars and digests is left open. */
SECTIONS
{
  .text.hot :
  {
"""
TAIL = """\
  }
}
INSERT BEFORE .text;
"""


def counted(program: Path, load: tuple[str, ...], folder: Path) -> collections.Counter[str]:
    """Instructions of each function while `program` runs `load`, by symbol."""
    flows, rate, duration, queue, variant, discipline = load
    counts = folder / "counts"
    command = [
        "valgrind",
        "--tool=callgrind",
        "--demangle=no",
        f"--callgrind-out-file={counts}",
        str(program),
        *(flows, rate, duration, queue, variant, "linux-6.12", "1", discipline),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise BenchError("valgrind is missing\n  apt-get install valgrind") from None
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{' '.join(command)}\n{error.stderr}") from None
    return by_function(counts.read_text())


def by_function(counts: str) -> collections.Counter[str]:
    """The same of the file that callgrind writes: https://valgrind.org/docs/manual/cl-format.html."""
    names: dict[str, str] = {}
    taken: collections.Counter[str] = collections.Counter()
    function, is_call = "", False
    for line in counts.splitlines():
        if named := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
            key, number, name = named.groups()
            if name:
                names[number] = name
            if key == "fn":
                function = names[number]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in {"+", "-", "*"}:
            if not is_call:
                taken[function] += int(line.split()[-1])
            is_call = False
    return taken


def hot(taken: collections.Counter[str]) -> list[str]:
    """The functions of Rust with [`SHARE`] of what they took, most first."""
    rust = [(name, count) for name, count in taken.most_common() if name.startswith("_ZN")]
    wanted = SHARE * sum(count for _, count in rust)
    chosen: list[str] = []
    for name, count in rust:
        if wanted <= 0:
            break
        chosen.append(name)
        wanted -= count
    return chosen


def pattern(symbol: str) -> str:
    """What the linker finds the section of `symbol` by in any build."""
    without_digest = re.sub(r"17h[0-9a-f]{16}E(?:\.llvm\.\d+)?(?:'\d+)?$", "17h*", symbol)
    return f"    *(.text.{without_digest.replace('$', '?')})\n"


def script(programs: list[list[str]]) -> str:
    """The linker's script for lists of functions, the first list first."""
    patterns = dict.fromkeys(pattern(symbol) for symbols in programs for symbol in symbols)
    return HEAD + "".join(patterns) + TAIL


def main() -> int:
    """Counts and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the dumbbell, compiled for release")
    arguments = parser.parse_args()
    try:
        lists = []
        with tempfile.TemporaryDirectory() as folder:
            for load in LOADS:
                progress(" ".join(load))
                lists.append(hot(counted(arguments.program, load, Path(folder))))
    except BenchError as error:
        return failed(error)
    told = script(lists)
    SCRIPT.write_text(told)
    print(f"{SCRIPT}: {told.count('*(')} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
