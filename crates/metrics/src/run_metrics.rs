//! The numbers of one run, as `--json` prints them; `None` is printed as null and means "not
//! measured".

use cclab_trace::Trace;
use cclab_trace::schema::Machine;
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::baselines::BesideOthers;
use crate::bottleneck::{self, BottleneckMetrics};
use crate::contest::Contest;
use crate::fairness::{jain, ratio};
use crate::fidelity::{self, FidelityMetrics};
use crate::flow::{FlowMetrics, SHARE};
use crate::group::{self as groups, GroupMetrics};
use crate::input::MeasureInput;
use crate::probe::{self, ProbeMetrics};
use crate::table::Quantity::{Duration, Index, List, Percentage};
use crate::table::{group, measured, row};
use crate::traffic::{self, TrafficMetrics};
use crate::warning::Warning;

/// A run of which the flows are measured.
pub(crate) struct OfRun<'a> {
    /// Its trace.
    pub trace: &'a Trace,
    /// What is known beside it.
    pub input: &'a MeasureInput,
    /// Its flows.
    pub flows: Vec<FlowMetrics>,
    /// What each flow weighs in indices of fairness, of either direction.
    pub shares: [Vec<f64>; 2],
    /// The same after the warm-up; empty without one.
    pub window_shares: [Vec<f64>; 2],
    /// Whether data of some flow go against the bottleneck.
    pub back: bool,
    /// How the flows shared the network over time.
    pub contest: &'a Contest,
}

measured! {
    /// The numbers of one run.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct RunMetrics as "" of &OfRun<'_> {
        flows: Vec<FlowMetrics> = |of| of.flows.clone(),
            "One per flow, in the scenario's order.",
            group(&[FlowMetrics::ROWS, BesideOthers::ROWS, SHARE]);

        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        groups: Vec<GroupMetrics> = |of| groups::measure(of.trace, &of.flows, &of.input.groups),
            "One per group of flows, in the order of their first flows; absent without any.",
            group(&[GroupMetrics::ROWS, groups::SHARE]);

        bottleneck: BottleneckMetrics = |of| bottleneck::measure(of.trace, of.input, of.back),
            "The link under study, in the direction of its queue, loss and outages.",
            group(&[BottleneckMetrics::ROWS]);

        jain: Option<f64> = |of| jain(&of.shares[0]),
            "(sum x)^2 / (n sum x^2) over goodput_bps of the n flows that started, where flows go both ways of those that go forward (see Directions): a flow that got nothing through counts as 0, one whose data all arrived at one instant is left out; 1 for one flow, null if all are 0.",
            row(Index, "first to last byte received", "receiver").higher().compared(170).queried().column("Jain", 3)
                .source("Jain, Chiu and Hawe, A Quantitative Measure of Fairness (DEC-TR-301, 1984)");

        jain_mean: Option<f64> = |of| of.contest.jain_mean(),
            "Mean of the index over buckets, of the bytes that each flow received in one; buckets in which nothing arrived are left out.",
            row(Index, "steady", "receiver").higher().source("the same; buckets as transperf has them");

        jain_min: Option<f64> = |of| of.contest.jain_min(),
            "Smallest of the same.",
            row(Index, "steady", "receiver").higher().source("the same; buckets as transperf has them");

        convergence_s: Option<f64> = |of| of.contest.convergence().map(Time::as_secs_f64),
            "From the last start to the beginning of the first 5 buckets in a row in each of which the index is at least 0.95; null if that never happens, and for one flow.",
            row(Duration, "from the last start on, warm-up included", "receiver").lower()
                .source("RFC 5166, section 2.3: of two flows, delta-fair convergence with delta = 0.23");

        throughput_ratio: Option<f64> = |of| ratio(&of.shares[0]),
            "Smallest / largest of the values that jain is taken over; null if all are 0.",
            row(Index, "first to last byte received", "receiver").higher()
                .source("RFC 5166, section 2.3 (epsilon-fair: at least 1 - epsilon)");

        window_jain: Option<f64> = |of| jain(&of.window_shares[0]),
            "jain over window_goodput_bps of the flows that were active after the warm-up; null without one.",
            row(Index, "flow's window", "receiver").higher();

        window_throughput_ratio: Option<f64> = |of| ratio(&of.window_shares[0]),
            "throughput_ratio of the values that window_jain is taken over.",
            row(Index, "flow's window", "receiver").higher();

        reverse_jain: Option<f64> = |of| jain(back(of)),
            "The index over the flows that go against the bottleneck, of window_goodput_bps if there is a warm-up, else of goodput_bps; null without such flows.",
            row(Index, "flow's window, or first to last byte received", "receiver").higher();

        smallest_share: Option<f64> = |of| over_flows(of, |flow| flow.least_share, f64::min),
            "Smallest flow.least_share.",
            row(Percentage, "steady", "receiver").higher();

        longest_starved_s: Option<f64> = |of| over_flows(of, |flow| flow.starved_s, f64::max),
            "Largest flow.starved_s.",
            row(Duration, "steady", "receiver").lower();

        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        traffic: Vec<TrafficMetrics> = |of| traffic::measure(of.trace, of.input.warmup),
            "One per source of cross traffic, in the scenario's order; absent without any.",
            group(&[TrafficMetrics::ROWS]);

        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        probes: Vec<ProbeMetrics> = |of| probe::measure(of.trace, of.input.warmup),
            "One per probe, in the scenario's order; absent without any.",
            group(&[ProbeMetrics::ROWS]);

        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        machines: Vec<MachineMetrics> = machines,
            "The machines that it ran on, each with its kernel; absent of a simulation.",
            group(&[]);

        #[serde(default, skip_serializing_if = "Option::is_none")]
        fidelity: Option<FidelityMetrics> = |of| fidelity::measure(of.trace, of.input.rate_changes),
            "Whether the host kept up; only of runs in real time.",
            group(&[FidelityMetrics::ROWS]);

        // They are raised over all that stands above.
        warnings: Vec<Warning> = |_| Vec::new(),
            "What makes the numbers doubtful: code, message and remedy of each.",
            row(List, "run", "").shape("warning");
    }
}

/// A machine: a kernel, and the flows whose hosts it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineMetrics {
    /// What the kernel is called where it was built; absent: it is the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// SHA-256 of its configuration; absent if it does not show it.
    pub config_sha256: Option<String>,
    /// The names of its flows.
    pub flows: Vec<String>,
}

fn machines(of: &OfRun<'_>) -> Vec<MachineMetrics> {
    let machines = of.trace.summary.machines.iter();
    let row = |machine: &Machine| MachineMetrics {
        kernel: machine.kernel.clone(),
        release: machine.release.clone(),
        version: machine.version.clone(),
        config_sha256: machine.config_sha256.clone(),
        flows: machine.flows.clone(),
    };
    machines.map(row).collect()
}

/// What the flows that go against the bottleneck weigh, after the warm-up if there is one.
fn back<'a>(of: &'a OfRun<'_>) -> &'a [f64] {
    let [_, whole] = &of.shares;
    let [_, window] = &of.window_shares;
    match of.input.warmup {
        Time::ZERO => whole,
        _ => window,
    }
}

/// What `choose` keeps of a value of the flows.
fn over_flows(
    of: &OfRun<'_>,
    value: fn(&FlowMetrics) -> Option<f64>,
    choose: fn(f64, f64) -> f64,
) -> Option<f64> {
    of.flows.iter().filter_map(value).reduce(choose)
}
