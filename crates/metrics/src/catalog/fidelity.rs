//! What the numbers of a host in real time mean, and what else a run tells.

use super::{Metric, metric};

/// Of the host, in the order of `--json`.
pub(super) const FIDELITY: &[Metric] = &[
    metric(
        "fidelity.verdict",
        "text",
        "run",
        "host",
        "Whether the host kept up with real time, `kept up` or `too slow`; this and what follows only of runs in real time.",
    ),
    metric(
        "fidelity.reasons",
        "list",
        "run",
        "host",
        "Where it did not.",
    ),
    metric(
        "fidelity.timer_late_max_s",
        "s",
        "run",
        "host",
        "How late the agent's timers were at worst.",
    ),
    metric(
        "fidelity.timer_late_mean_s",
        "s",
        "run",
        "host",
        "How late they were on average.",
    ),
    metric(
        "fidelity.cpu_busy",
        "1",
        "run",
        "host",
        "Share of all processors' time that was used, by anyone.",
    ),
    metric(
        "fidelity.softirq_squeezed",
        "1",
        "run",
        "host",
        "Times that the kernel put off receiving.",
    ),
    metric(
        "fidelity.softnet_dropped",
        "1",
        "run",
        "host",
        "Packets that the kernel dropped between interfaces.",
    ),
    metric(
        "fidelity.rate_achieved",
        "1",
        "while well filled",
        "bottleneck's queue",
        "Bits sent / (rate * time) between samples that both show at least a quarter of the largest backlog, before the rate first changes; null below 0.5 s of them.",
    ),
    metric(
        "warnings",
        "list",
        "run",
        "",
        "What makes the numbers doubtful: code, message and remedy of each.",
    ),
];
