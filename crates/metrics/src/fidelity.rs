//! Whether a host kept up with a run in real time.

use cclab_trace::Trace;
use cclab_trace::schema::{Fidelity, QueueSample};
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::bottleneck::BOTTLENECK;
use crate::table::Quantity::{Count, Delay, List, Percentage, Text};
use crate::table::{measured, row};

/// A timer late by a tenth of the round trip moves an acknowledgement by as much as the queueing
/// that is to be measured; beyond a millisecond it does so at the delays of any wide-area path.
const LATE_SHARE: f64 = 0.1;
/// See [`LATE_SHARE`].
const LATE_SECONDS: f64 = 1e-3;

/// A host that is busier than this has no processor left for the next packet.
const SATURATED: f64 = 0.9;

/// A link with a backlog that sends less than this share of its rate has missed its instants.
const PACED: f64 = 0.98;
/// Between two samples with this share of the largest backlog there has been one throughout.
const WELL_FILLED: f64 = 0.25;
/// Seconds with a backlog that tell a link's rate from the burst of a single packet.
const ENOUGH_BACKLOG: f64 = 0.5;

/// Whether a host kept up with a run in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Nothing says that it did not.
    #[serde(rename = "kept up")]
    KeptUp,
    /// Something does.
    #[serde(rename = "too slow")]
    TooSlow,
}

/// A run in real time, and where its host did not keep up.
pub(crate) struct OfHost<'a> {
    host: Fidelity,
    rate_achieved: Option<f64>,
    reasons: &'a [String],
}

measured! {
    /// How well a host kept up with a run in real time.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct FidelityMetrics as "fidelity." of &OfHost<'_> {
        verdict: Verdict = verdict,
            "Whether the host kept up with real time, `kept up` or `too slow`; this and what follows only of runs in real time.",
            row(Text, "run", "host").shape("verdict");

        reasons: Vec<String> = |of| of.reasons.to_vec(),
            "Where it did not.",
            row(List, "run", "host").shape("reasons");

        timer_late_max_s: f64 = |of| of.host.timer_late_max_ns as f64 / 1e9,
            "How late the agent's timers were at worst.",
            row(Delay, "run", "host").of_one_run();

        timer_late_mean_s: f64 = |of| of.host.timer_late_mean_ns as f64 / 1e9,
            "How late they were on average.",
            row(Delay, "run", "host").of_one_run();

        cpu_busy: f64 = |of| of.host.cpu_busy,
            "Share of all processors' time that was used, by anyone.",
            row(Percentage, "run", "host").of_one_run();

        softirq_squeezed: u64 = |of| of.host.softirq_squeezed,
            "Times that the kernel put off receiving.",
            row(Count, "run", "host").of_one_run();

        softnet_dropped: u64 = |of| of.host.softnet_dropped,
            "Packets that the kernel dropped between interfaces.",
            row(Count, "run", "host").of_one_run();

        rate_achieved: Option<f64> = |of| of.rate_achieved,
            "Bits sent / (rate * time) between samples that both show at least a quarter of the largest backlog, before the rate first changes; null below 0.5 s of them.",
            // What was saved up beforehand leaves within the time.
            row(Percentage, "while well filled", "bottleneck's queue").within(0.0, f64::INFINITY).of_one_run();
    }
}

/// The verdict on the host of `trace`; `None` unless it ran in real time. The bottleneck's rate
/// first changes at `rate_changes`, if it does.
pub(crate) fn measure(trace: &Trace, rate_changes: Option<Time>) -> Option<FidelityMetrics> {
    let host = trace.summary.fidelity?;
    let rate_achieved = rate_achieved(trace, rate_changes);
    let reasons = &reasons(trace, &host, rate_achieved);
    Some(FidelityMetrics::measure(&OfHost {
        host,
        rate_achieved,
        reasons,
    }))
}

fn verdict(of: &OfHost<'_>) -> Verdict {
    match of.reasons.is_empty() {
        true => Verdict::KeptUp,
        false => Verdict::TooSlow,
    }
}

/// Where the host did not keep up.
fn reasons(trace: &Trace, host: &Fidelity, rate_achieved: Option<f64>) -> Vec<String> {
    let late = host.timer_late_max_ns as f64 / 1e9;
    let rtts = trace.summary.flows.iter().filter_map(|flow| flow.srtt_mean);
    let rtt = rtts.min().map_or(f64::INFINITY, |rtt| rtt.as_secs_f64());
    let percent = |share: f64| share * 100.0;
    let (squeezed, dropped) = (host.softirq_squeezed, host.softnet_dropped);
    let reasons = [
        (late > LATE_SECONDS.min(LATE_SHARE * rtt))
            .then(|| format!("timers up to {:.3} ms late", late * 1e3)),
        (host.cpu_busy > SATURATED).then(|| {
            let busy = percent(host.cpu_busy);
            format!("processors busy for {busy:.0}% of the run")
        }),
        (squeezed > 0).then(|| format!("receiving put off {squeezed} times")),
        (dropped > 0).then(|| format!("{dropped} packets dropped between interfaces")),
        rate_achieved.filter(|&rate| rate < PACED).map(|rate| {
            let rate = percent(rate);
            format!("the bottleneck sent at {rate:.1}% of its rate while packets waited")
        }),
    ];
    reasons.into_iter().flatten().collect()
}

/// The rate at which the bottleneck sent while it was well filled, as a share of its own; `None`
/// if it has none, or was not filled for long enough to tell.
fn rate_achieved(trace: &Trace, rate_changes: Option<Time>) -> Option<f64> {
    let rate = trace.summary.links.get(BOTTLENECK)?.rate?;
    let samples = trace.queue_samples.iter();
    let samples: Vec<&(Time, QueueSample)> = samples
        .filter(|(at, sample)| {
            sample.link as usize == BOTTLENECK && rate_changes.is_none_or(|change| *at <= change)
        })
        .collect();
    let largest = samples.iter().map(|(_, sample)| sample.backlog).max()?;
    let filled = |sample: &QueueSample| {
        sample.backlog > 0 && sample.backlog as f64 >= WELL_FILLED * largest as f64
    };
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for pair in samples.windows(2) {
        let [(from, before), (to, after)] = [pair[0], pair[1]];
        if filled(before) && filled(after) && from < to {
            bytes += after.tx_bytes as f64 - before.tx_bytes as f64;
            seconds += (*to - *from).as_secs_f64();
        }
    }
    (seconds >= ENOUGH_BACKLOG).then(|| bytes * 8.0 / (rate.bps() as f64 * seconds))
}
