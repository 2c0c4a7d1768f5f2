//! The referee: where a run does not show what it seems to show.
//!
//! One function for each doubt, one list of them. A warning names the doubt, with numbers, and
//! the remedy, in words of the study file.

mod arrival;
mod congestion;
mod drift;
mod limits;
mod marks;
mod setting;
mod spans;

use cclab_trace::Trace;
use cclab_units::Time;

use crate::foreseen;
use crate::input::MeasureInput;
use crate::run_metrics::RunMetrics;
use crate::warning::Warning;
use crate::window::Window;

/// What warnings are raised from.
pub struct Evidence<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// Its metrics, without warnings.
    pub metrics: &'a RunMetrics,
    /// For each flow the instants at which the bytes that it received are known.
    pub received: &'a [Vec<(Time, u64)>],
    /// The steady window, if there is one.
    pub steady: Option<Window>,
    /// What is known beside the trace.
    pub input: &'a MeasureInput,
}

/// A doubt that may be raised about a run.
pub struct Rule {
    /// Stable name of the doubt.
    pub code: &'static str,
    /// When it is raised, for the documentation.
    pub when: &'static str,
    /// Message and remedy, if the evidence calls for it.
    check: fn(&Evidence<'_>) -> Option<(String, String)>,
}

/// Every doubt about a single run, in the order of printing.
pub const RULES: [Rule; 25] = [
    Rule {
        code: "host-too-slow",
        when: "in real time: timers more than 1 ms or a tenth of a flow's mean RTT late, processors busy for more than 90% of the run, packets put off or dropped between interfaces, or a bottleneck that sends at less than 98% of its rate while packets wait",
        check: setting::host_too_slow,
    },
    Rule {
        code: "variant-not-in-force",
        when: "the variant read back from a flow's socket is not the one asked for",
        check: setting::variant_not_in_force,
    },
    Rule {
        code: "kernel-not-modelled",
        when: "of a simulation: the study names a kernel, and the simulator models the TCP of its stack alone",
        check: setting::kernel_not_modelled,
    },
    Rule {
        code: "not-repeatable",
        when: "the code of a variant's file, in a run that was done twice, did not do the same: the first run of each such file is",
        check: setting::not_repeatable,
    },
    Rule {
        code: "trigger-never-met",
        when: "a change of a link waits for a state of a flow's variant that did not come about in the run",
        check: setting::trigger_never_met,
    },
    Rule {
        code: "never-started",
        when: "a flow's start lies after the end of the run",
        check: arrival::never_started,
    },
    Rule {
        code: "nothing-seen",
        when: "a program sent neither TCP nor UDP on its flow's path",
        check: arrival::nothing_seen,
    },
    Rule {
        code: "incomplete-transfer",
        when: "a flow gave up after too many timeouts, or delivered nothing",
        check: arrival::incomplete_transfer,
    },
    Rule {
        code: "data-goes-back",
        when: "over TCP the receiver of a program got less than a hundredth of the bytes that each link of its own carried back; not told where its hosts have none, in a chain, a graph, or on a network of the kernel's own",
        check: arrival::data_goes_back,
    },
    Rule {
        code: "flow-stalled",
        when: "nothing of a flow arrived in the last quarter of its measured time, though it had unacknowledged data",
        check: arrival::flow_stalled,
    },
    Rule {
        code: "goodput-above-rate",
        when: "a flow's goodput is above the largest rate of the slowest link on its own way: its bytes arrived in too few instants",
        check: arrival::goodput_above_rate,
    },
    Rule {
        code: "limited-by-rwnd",
        when: "the receiver's window held a flow back for more than half of its time",
        check: limits::limited_by_rwnd,
    },
    Rule {
        code: "limited-by-application",
        when: "a TCP flow without an end, or a program, had nothing to send for more than half of its time, though the study gives it no application or rate of writes that means it to, and `data-goes-back` is not told of it",
        check: limits::limited_by_application,
    },
    Rule {
        code: "limited-by-sndbuf",
        when: "the send buffer held a flow back for more than half of its time",
        check: limits::limited_by_sndbuf,
    },
    Rule {
        code: "partial-overlap",
        when: "the time in which all flows were active is less than 90% of some flow's own, the warm-up, flows that were over with it and programs that sent neither TCP nor UDP left out",
        check: spans::partial_overlap,
    },
    Rule {
        code: "no-congestion-signal",
        when: "data of a variant that obeys losses and marks alone arrived, and nothing was lost, marked or retransmitted anywhere",
        check: congestion::no_congestion_signal,
    },
    Rule {
        code: "without-marks",
        when: "a flow whose variant reacts to each mark lost packets and had none marked: it did what its variant does on losses",
        check: marks::without_marks,
    },
    Rule {
        code: "ecn-of-some",
        when: "of the flows that cross a link, one without ECN lost packets where those of another were marked",
        check: marks::ecn_of_some,
    },
    Rule {
        code: "bottleneck-not-full",
        when: "the utilization of the bottleneck of a TCP flow (see Bottlenecks; of several, each) in the steady window is below 90%, and none of the flows that cross it was limited by something else",
        check: congestion::bottleneck_not_full,
    },
    Rule {
        code: "too-few-round-trips",
        when: "a flow that did not end was measured for less than 30 of its mean round trips",
        check: spans::too_few_round_trips,
    },
    Rule {
        code: "too-few-loss-cycles",
        when: "a flow limited by cwnd that did not end saw less than 20 loss episodes, a window of ECN echoes counted as one, in a run that had some",
        check: congestion::too_few_loss_cycles,
    },
    Rule {
        code: "not-converged",
        when: "a flow's share of what the flows that cross its bottleneck received drifts: of twelve equal parts of the steady window, the last four are more than 0.05 from the first four, and Mann and Kendall's test finds a trend, beyond three standard deviations; untold where a part has less than 10 mean round trips or no sample of its own",
        check: drift::not_converged,
    },
    Rule {
        code: foreseen::WITHOUT_RTT,
        when: "the flows have an `rtt` and cross traffic that waits for answers has none, and its base RTT is less than half of each of theirs",
        check: setting::cross_traffic_without_rtt,
    },
    Rule {
        code: foreseen::SLOWER_SLOTS,
        when: "a link's `slots` let less pass of packets of 1514 bytes, on average, than its `rate`",
        check: setting::slots_slower_than_link,
    },
    Rule {
        code: "coarse-samples",
        when: "samples are further apart than 10 of the shortest round trips",
        check: spans::coarse_samples,
    },
];

/// The name of the doubt that [`identical_repeats`] raises.
pub const IDENTICAL_REPEATS: &str = "identical-repeats";

/// The doubts that only the runs of a sweep point together can raise, each with when it is raised:
/// this crate compares repeats, the package makes further runs and counts them.
pub const OF_POINTS: [(&str, &str); 3] = [
    (
        IDENTICAL_REPEATS,
        "two repeats of one sweep point gave the same numbers, within a millionth of them",
    ),
    (
        "phase-effects",
        "on the simulator, with several flows and nothing random: a start shifted by part of a round trip moves a flow's share by more than a tenth",
    ),
    (
        "ci-not-reached",
        "`repeat` is a rule, and a sweep point had all runs that it may have, or one of them failed, before its interval was narrow enough",
    ),
];

/// The names of all doubts.
pub fn codes() -> Vec<&'static str> {
    let of_points = OF_POINTS.iter().map(|(code, _)| *code);
    RULES
        .iter()
        .map(|rule| rule.code)
        .chain(of_points)
        .collect()
}

/// All warnings that `evidence` calls for.
pub(crate) fn raise(evidence: &Evidence<'_>) -> Vec<Warning> {
    let raised = |rule: &Rule| {
        (rule.check)(evidence).map(|(message, remedy)| warning(rule.code, message, remedy))
    };
    RULES.iter().filter_map(raised).collect()
}

/// A warning if some of the `repeats` of one sweep point gave the same numbers, but for what a clock
/// of nanoseconds makes of them.
pub fn identical_repeats(repeats: &[RunMetrics]) -> Option<Warning> {
    let told: Vec<Vec<Option<f64>>> = repeats.iter().map(told).collect();
    let distinct = (0..repeats.len())
        .filter(|&i| !told[..i].iter().any(|other| are_alike(other, &told[i])))
        .count();
    (distinct < repeats.len()).then(|| {
        warning(
            IDENTICAL_REPEATS,
            format!(
                "{} repeats gave only {distinct} different results: what depends on the seed moves \
                 nothing, and a confidence interval over them says nothing",
                repeats.len()
            ),
            "let something vary with the seed, such as the start of each flow by some round trips, \
             or set repeat = 1"
                .to_owned(),
        )
    })
}

/// Repeats whose numbers differ by less than this part of them are the same: a kernel's clock moves
/// an event by nanoseconds, and one packet more in a thousand is far above it.
const SAME: f64 = 1e-6;

/// The numbers of a run in which chance would show.
fn told(run: &RunMetrics) -> Vec<Option<f64>> {
    let flows = run.flows.iter().flat_map(|flow| {
        [
            Some(flow.bytes_received as f64),
            flow.goodput_bps,
            flow.throughput_bps,
            flow.fct_s,
            flow.srtt_mean_s,
            flow.retransmits.map(|count| count as f64),
            flow.rtos.map(|count| count as f64),
            flow.datagrams.as_ref().and_then(|d| d.delay_mean_s),
        ]
    });
    let traffic = run.traffic.iter().map(|source| source.sent_bps);
    let probes = run.probes.iter().map(|probe| probe.rtt_mean_s);
    let link = &run.bottleneck;
    let queue = [Some(link.drops as f64), link.queue_delay_mean_s];
    flows.chain(traffic).chain(probes).chain(queue).collect()
}

fn are_alike(a: &[Option<f64>], b: &[Option<f64>]) -> bool {
    let same = |pair: (&Option<f64>, &Option<f64>)| match pair {
        (Some(a), Some(b)) => (a - b).abs() <= SAME * a.abs().max(b.abs()),
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn warning(code: &str, message: String, remedy: String) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
        remedy,
    }
}

/// Flows that a message names; the rest it counts.
const NAMED: usize = 4;

pub(crate) fn joined(parts: impl Iterator<Item = String>) -> Option<String> {
    let mut parts: Vec<String> = parts.collect();
    let rest = parts.len().saturating_sub(NAMED);
    parts.truncate(NAMED);
    let named = (!parts.is_empty()).then(|| parts.join(", "))?;
    Some(match rest {
        0 => named,
        rest => format!("{named} and {rest} more"),
    })
}
