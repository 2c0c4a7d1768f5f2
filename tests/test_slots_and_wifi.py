"""Slots beside the kernel's netem, and Wi-Fi's jitter beside numpy's draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cclab

if TYPE_CHECKING:
    from pathlib import Path

LINK = 'rate = "100Mbit"\ndelay = "2ms"\nqueue = { limit = "1000p" }\n'
ON_LINKS_S = 2 * 98 * 8 / 100e6
"""Of an echo: its transmissions there and back."""


def echoes(folder: Path, backend: str, link: str, duration: str, interval: str) -> np.ndarray:
    """The round trips over a link with the keys `link`, in seconds."""
    file = folder / "study.toml"
    file.write_text(
        f'duration = "{duration}"\n[network]\nby = "kernel"\n[network.bottleneck]\n{LINK}{link}\n'
        f'[[probe]]\nname = "p"\nkind = "udp"\ninterval = "{interval}"\nstart = "1ms"\n'
    )
    results = cclab.run(file, backend=backend, out=folder / backend)
    return results.samples(0, "probe_samples").drop_nulls("rtt_s")["rtt_s"].to_numpy()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("slots", "interval"),
    [
        ('{ every = "3ms", packets = 4 }', "800us"),
        ('{ every = "3ms", bytes = "500B" }', "700us"),
        ('{ every = "2ms" }', "700us"),
        ('{ every = "3ms", packets = 4, bytes = "1kB" }', "5ms"),
    ],
)
def test_slots_are_those_of_netem_to_the_nanosecond(
    tmp_path: Path, slots: str, interval: str
) -> None:
    ours = echoes(tmp_path, "sim", f"slots = {slots}", "1s", interval)
    netems = echoes(tmp_path, "linux", f"slots = {slots}", "1s", interval)
    count = min(len(ours), len(netems))
    assert count > 150
    assert ours[:count] == pytest.approx(netems[:count], abs=1e-9)
    assert ours.max() > 0.006, "none waited"


@pytest.mark.usefixtures("kernel")
def test_slots_at_random_wait_as_long_as_those_of_netem(tmp_path: Path) -> None:
    slots = 'slots = { every = ["0.8ms", "5ms"], packets = 16 }'
    waits = [
        echoes(tmp_path, backend, slots, "20s", "6ms") - 0.004 - ON_LINKS_S
        for backend in ("sim", "linux")
    ]
    for wait in waits:
        # Each waits alone, uniformly between the two.
        assert 0.0008 - 1e-9 <= wait.min() < 0.00082
        assert 0.00498 < wait.max() < 0.005 + 1e-9
        deviation = 0.0042 / 12**0.5
        assert wait.mean() == pytest.approx(0.0029, abs=4 * deviation / len(wait) ** 0.5)


def wifi(rng: np.random.Generator, average_ms: float, count: int) -> np.ndarray:
    """Latencies in milliseconds, as draft-huitema-ccwg-c4-test-04 has them."""
    x = min(max((average_ms - 1) / 90, 0), 1)
    first = rng.poisson(1, count)
    second = np.where(rng.random(count) < x, rng.poisson(12, count), 0)
    return first + 7.5 * second - np.where(first >= 1, rng.random(count), 0)


@pytest.mark.parametrize("average_ms", [1, 7, 12, 91])
def test_jitter_of_wifi_is_distributed_as_numpy_draws_it(tmp_path: Path, average_ms: int) -> None:
    jitter = f'jitter = {{ distribution = "wifi", average = "{average_ms}ms" }}'
    # So far apart that none waits for the one before.
    rtts = echoes(tmp_path, "sim", jitter, "10000s", "500ms")
    ours = np.sort((rtts - 0.004 - ON_LINKS_S) * 1e3)
    assert len(ours) > 19_990
    drawn = np.sort(wifi(np.random.default_rng(1), average_ms, 400_000))
    # Latencies of exactly 0 are a step, which rounding must not split.
    ours, drawn = np.round(ours, 5), np.round(drawn, 5)
    at = np.union1d(ours, drawn)
    gap = np.abs(
        np.searchsorted(ours, at, "right") / len(ours)
        - np.searchsorted(drawn, at, "right") / len(drawn)
    ).max()
    # Kolmogorov and Smirnov, at a level of 0.1%.
    assert gap < 1.95 * (1 / len(ours) + 1 / len(drawn)) ** 0.5
