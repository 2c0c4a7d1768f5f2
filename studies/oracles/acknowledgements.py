"""At which share of acknowledgements the simulator and the kernel agree, as a Markdown table.

    .venv/bin/python studies/oracles/acknowledgements.py [--variant NAME]... [--first] [--jobs N]

The grid is `acknowledgements.toml`: one flow alone, on both backends. Acknowledgements are paired
by what they acknowledge: the n-th with the same `snd_una` on either side. They agree where cwnd,
ssthresh and pacing rate do, to the byte; one that the other side has not counts as a disagreement.
Beside it stand the share of those that agree in the windows alone, and of those before the first
that does not. `--first` tells the first disagreement of every scenario. The kernel's runs are kept
in results/acknowledgements; the simulator's are made anew.

BBR draws the phase in which it begins to probe for bandwidth, and the kernel's dice are not the
simulator's. `bbr-1` is the kernel's own tcp_bbr.c with one phase to draw from, as a user's file on
both sides.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import statistics
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cclab import _core, api

HERE = Path(__file__).parent
STUDY = HERE / "acknowledgements.toml"
KEPT = Path("results/acknowledgements")
WINDOWS = ("cwnd_bytes", "ssthresh_bytes")
SAME = (*WINDOWS, "pacing_rate_bps")
VARIANTS = (
    "reno", "cubic", "bic", "htcp", "highspeed", "scalable", "hybla", "illinois", "vegas", "veno",
    "westwood", "yeah", "lp", "dctcp", "bbr", "bbr-1",
)  # fmt: skip
SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")
BBR = "linux-source-6.12/net/ipv4/tcp_bbr.c"
PHASES = "static const u32 bbr_cycle_rand = "


@dataclass(frozen=True)
class Agreement:
    """One scenario of one variant."""

    label: str
    share: float
    """Acknowledgements that agree, of all that either side has."""
    windows: float
    """Those whose windows agree, whatever the pacing rate."""
    before: float
    """Those before the first whose windows do not."""
    first: str
    """The first that does not, in words; empty if all do."""


def acknowledgements(store: Path) -> dict[str, pl.DataFrame]:
    """The acknowledgements of every run of a store, by the label of its sweep point."""
    results = api.load(store)
    rows = {}
    for point in results.points:
        for run in point.runs:
            frame = run.table("acks")
            frame = frame.filter(pl.col("snd_nxt_bytes") > 0)  # the handshake's is none of data
            nth = pl.int_range(pl.len()).over("snd_una_bytes").alias("nth")
            rows[point.label] = frame.with_columns(nth, pl.col("ssthresh_bytes").fill_null(0))
    return rows


def alike(columns: tuple[str, ...]) -> pl.Expr:
    """Whether both sides of a pair are alike in `columns`; either side may be missing."""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_sim")) for name in columns)


def agreement(label: str, kernel: pl.DataFrame, simulator: pl.DataFrame) -> Agreement:
    """How far two sides of a scenario agree."""
    pairs = kernel.join(simulator, on=["snd_una_bytes", "nth"], how="full", suffix="_sim")
    pairs = pairs.with_columns(alike(SAME).alias("same"), alike(WINDOWS).alias("windows")).sort(
        pl.coalesce("snd_una_bytes", "snd_una_bytes_sim"), pl.coalesce("nth", "nth_sim")
    )
    shares = pairs.select(
        pl.col("same", "windows").mean(), before=pl.col("windows").cast(pl.UInt8).cum_min().mean()
    ).row(0)
    other = pairs.filter(~pl.col("windows")).head(1).to_dicts()
    first = ""
    if other:
        row = other[0]
        una = row["snd_una_bytes"] if row["snd_una_bytes"] is not None else row["snd_una_bytes_sim"]
        sides = [
            "no such acknowledgement"
            if row[f"snd_una_bytes{side}"] is None
            else f"cwnd {row[f'cwnd_bytes{side}']}, ssthresh {row[f'ssthresh_bytes{side}']}"
            for side in ("", "_sim")
        ]
        first = f"{una} bytes acknowledged: kernel {sides[0]}; simulator {sides[1]}"
    same, windows, before = (float(share or 0.0) for share in shares)
    return Agreement(label, same, windows, before, first)


@dataclass(frozen=True)
class Settings:
    """What a variant's runs have beside the study."""

    study: Path
    both: tuple[str, ...]
    kernel: tuple[str, ...] = ()
    simulator: tuple[str, ...] = ()


def settings(variant: str, folder: Path) -> Settings:
    """Those of `variant`; files that it needs are written into `folder`."""
    if variant == "bbr-1":
        study = folder / STUDY.name
        shutil.copy(STUDY, study)
        (folder / "tcp_bbr.c").write_text(bbr_of_one_phase())
        return Settings(study, ("flow.cc=./tcp_bbr.c",))
    both = (f"flow.cc={variant}",)
    if variant == "dctcp":
        return Settings(STUDY, (*both, "flow.ecn=true"))
    if variant == "lp":
        # It reads both ends' clocks: neither begins at a die, and the guest's has run for 102 s.
        return Settings(
            STUDY,
            both,
            ('flow.variant.sysctl={"net.ipv4.tcp_timestamps" = 2}',),
            ('flow.variant.cc_params={timestamp_offset = 0.0, uptime = "102s"}',),
        )
    return Settings(STUDY, both)


def bbr_of_one_phase() -> str:
    """The kernel's tcp_bbr.c, which then draws nothing."""
    with lzma.open(SOURCE) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        for member in archive:
            if member.name == BBR and (file := archive.extractfile(member)):
                before, after = file.read().decode().split(PHASES)
                return f"{before}{PHASES}1{after[after.index(';') :]}"
    raise FileNotFoundError(f"{SOURCE} has no {BBR}")


def of_variant(variant: str, jobs: int | None) -> list[Agreement]:
    """Every scenario of `variant`."""
    kernel = KEPT / variant
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        given = settings(variant, folder)
        more = [*given.both, *given.kernel]
        api.run(given.study, out=kernel, backend="linux", set=more, jobs=jobs)
        simulated = folder / "sim"
        more = [*given.both, *given.simulator]
        api.run(given.study, out=simulated, backend="sim", set=more, jobs=jobs)
        ours = acknowledgements(simulated)
    theirs = acknowledgements(kernel)
    return [agreement(label, theirs[label], ours[label]) for label in theirs]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    print(f"Simulator of version {_core.CORE_VERSION}.\n")
    print("| variant | all scenarios | median | worst | identical | windows | before the first |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    told: list[str] = []
    for variant in options.variant or VARIANTS:
        scenarios = of_variant(variant, options.jobs)
        shares = [each.share for each in scenarios]
        whole = sum(share == 1.0 for share in shares)
        print(
            f"| {variant} | {statistics.mean(shares):.2%} | {statistics.median(shares):.2%} "
            f"| {min(shares):.2%} | {whole} of {len(shares)} "
            f"| {statistics.mean(each.windows for each in scenarios):.2%} "
            f"| {statistics.mean(each.before for each in scenarios):.2%} |",
            flush=True,
        )
        told += [f"- {variant}, {each.label}: {each.first}" for each in scenarios if each.first]
    if options.first:
        print("\nThe first disagreements:\n")
        print("\n".join(told))


if __name__ == "__main__":
    main()
