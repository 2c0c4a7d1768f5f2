//! The referee: where a run does not show what it seems to show.
//!
//! One function for each doubt, one list of them. A warning names the doubt, with numbers, and
//! the remedy, in words of the study file.

use std::collections::BTreeMap;

use cclab_cc::Signal;
use cclab_trace::Trace;
use cclab_trace::schema::FlowSummary;
use cclab_units::Time;

use crate::bottleneck::{BOTTLENECK, REVERSE, utilization};
use crate::flow::{FlowMetrics, LimitedShares, is_seen, is_tcp, is_udp};
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

/// More than half of its time: then the limit, not congestion control, sets a flow's mean rate.
const MOST_OF_THE_TIME: f64 = 0.5;

/// A flow that spent a tenth of its life without the others has a mean rate that can be wrong by
/// about as much as the differences usually reported.
const ENOUGH_OVERLAP: f64 = 0.9;

/// A loss-based variant fills a queue of one bandwidth-delay product always, and without any
/// queue still averages 3/4 (reno) to 0.85 (cubic); below 90% the study's bottleneck is often
/// not what limits.
const FULL: f64 = 0.9;

/// "Some tens": slow start and the first loss take about ten round trips, and should not weigh
/// more than a third.
const ENOUGH_ROUND_TRIPS: f64 = 30.0;

/// Rates within a loss cycle vary by about half of their mean, so the mean of 20 cycles still
/// has a standard error near 10%.
const ENOUGH_LOSS_CYCLES: u64 = 20;

/// A flow that was silent for a quarter of its time has a mean rate over the whole of it that is a
/// third below the one it had, and goodput, which ends with the last byte, does not show it.
const STALLED: f64 = 0.25;

/// A window may grow tenfold and fall again within some tens of round trips: what lies a hundred of
/// them apart is not a course.
const MOST_ROUND_TRIPS_UNSEEN: f64 = 100.0;

/// Every doubt about a single run, in the order of printing.
pub const RULES: [Rule; 17] = [
    Rule {
        code: "host-too-slow",
        when: "in real time: timers more than 1 ms or a tenth of a flow's mean RTT late, processors busy for more than 90% of the run, packets put off or dropped between interfaces, or a bottleneck that sends at less than 98% of its rate while packets wait",
        check: host_too_slow,
    },
    Rule {
        code: "variant-not-in-force",
        when: "the variant read back from a flow's socket is not the one asked for",
        check: variant_not_in_force,
    },
    Rule {
        code: "never-started",
        when: "a flow's start lies after the end of the run",
        check: never_started,
    },
    Rule {
        code: "nothing-seen",
        when: "a program sent neither TCP nor UDP on its flow's path",
        check: nothing_seen,
    },
    Rule {
        code: "incomplete-transfer",
        when: "a flow gave up after too many timeouts, or delivered nothing",
        check: incomplete_transfer,
    },
    Rule {
        code: "flow-stalled",
        when: "nothing of a flow arrived in the last quarter of its measured time, though it had unacknowledged data",
        check: flow_stalled,
    },
    Rule {
        code: "goodput-above-rate",
        when: "a flow's goodput is above the largest rate of the slowest link on its own way: its bytes arrived in too few instants",
        check: goodput_above_rate,
    },
    Rule {
        code: "limited-by-rwnd",
        when: "the receiver's window held a flow back for more than half of its time",
        check: limited_by_rwnd,
    },
    Rule {
        code: "limited-by-application",
        when: "a TCP flow without an end, or a program, had nothing to send for more than half of its time, though the study gives it no application or rate of writes that means it to",
        check: limited_by_application,
    },
    Rule {
        code: "limited-by-sndbuf",
        when: "the send buffer held a flow back for more than half of its time",
        check: limited_by_sndbuf,
    },
    Rule {
        code: "partial-overlap",
        when: "the time in which all flows were active is less than 90% of some flow's own, the warm-up and flows that were over with it left out",
        check: partial_overlap,
    },
    Rule {
        code: "no-congestion-signal",
        when: "data of a variant that obeys losses and marks alone arrived, and nothing was lost, marked or retransmitted anywhere",
        check: no_congestion_signal,
    },
    Rule {
        code: "bottleneck-not-full",
        when: "the utilization of the bottleneck of a TCP flow (see Bottlenecks; of several, each) in the steady window is below 90%, and none of the flows that cross it was limited by something else",
        check: bottleneck_not_full,
    },
    Rule {
        code: "too-few-round-trips",
        when: "a flow that did not end was measured for less than 30 of its mean round trips",
        check: too_few_round_trips,
    },
    Rule {
        code: "too-few-loss-cycles",
        when: "a flow limited by cwnd that did not end saw less than 20 loss episodes, a window of ECN echoes counted as one, in a run that had some",
        check: too_few_loss_cycles,
    },
    Rule {
        code: "cross-traffic-without-rtt",
        when: "cross traffic that waits for answers has less than a hundredth of the base RTT of every flow",
        check: cross_traffic_without_rtt,
    },
    Rule {
        code: "coarse-samples",
        when: "samples are further apart than 100 of the shortest round trips",
        check: coarse_samples,
    },
];

/// The name of the doubt that [`identical_repeats`] raises.
pub const IDENTICAL_REPEATS: &str = "identical-repeats";

/// All warnings that `evidence` calls for.
pub(crate) fn raise(evidence: &Evidence<'_>) -> Vec<Warning> {
    let raised = |rule: &Rule| {
        (rule.check)(evidence).map(|(message, remedy)| warning(rule.code, message, remedy))
    };
    RULES.iter().filter_map(raised).collect()
}

/// A warning if some of the `repeats` of one sweep point gave the same numbers.
pub fn identical_repeats(repeats: &[RunMetrics]) -> Option<Warning> {
    let distinct = (0..repeats.len())
        .filter(|&i| !repeats[..i].contains(&repeats[i]))
        .count();
    (distinct < repeats.len()).then(|| {
        warning(
            IDENTICAL_REPEATS,
            format!(
                "{} repeats gave only {distinct} different results: nothing in them depends on \
                 the seed, and a confidence interval over them says nothing",
                repeats.len()
            ),
            "let something vary with the seed, such as the start of each flow, or set repeat = 1"
                .to_owned(),
        )
    })
}

fn warning(code: &str, message: String, remedy: String) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
        remedy,
    }
}

/// "a (80% of its time), b (60% of its time)" for flows above the limit; `None` if there is none.
fn mostly_limited(evidence: &Evidence<'_>, share: fn(&LimitedShares) -> f64) -> Option<String> {
    mostly_limited_among(evidence, share, |_| true)
}

/// The same of the flows whose names are among those asked for.
fn mostly_limited_among(
    evidence: &Evidence<'_>,
    share: fn(&LimitedShares) -> f64,
    among: impl Fn(&str) -> bool,
) -> Option<String> {
    let flows = evidence.metrics.flows.iter();
    let above = flows.filter(|flow| among(&flow.name)).filter_map(|flow| {
        let share = share(flow.limited.as_ref()?);
        let text = format!("{} ({:.0}% of its time)", flow.name, share * 100.0);
        (share > MOST_OF_THE_TIME).then_some(text)
    });
    joined(above)
}

/// Flows that a message names; the rest it counts.
const NAMED: usize = 4;

fn joined(parts: impl Iterator<Item = String>) -> Option<String> {
    let mut parts: Vec<String> = parts.collect();
    let rest = parts.len().saturating_sub(NAMED);
    parts.truncate(NAMED);
    let named = (!parts.is_empty()).then(|| parts.join(", "))?;
    Some(match rest {
        0 => named,
        rest => format!("{named} and {rest} more"),
    })
}

fn host_too_slow(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let host = evidence.metrics.fidelity.as_ref()?;
    joined(host.reasons.iter().cloned()).map(|faults| {
        (
            format!("the host did not keep up with real time: {faults}"),
            "use backend = \"linux\", whose time waits for the host, or lower the bottleneck's `rate`, \
             and leave the host to the run alone"
                .to_owned(),
        )
    })
}

fn variant_not_in_force(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = evidence.trace.summary.flows.iter();
    // A flow that never connected has none in force.
    let others = flows.filter(|f| !f.cc_in_force.is_empty() && f.cc_in_force != f.cc);
    joined(others.map(|f| format!("{} ({}, asked for {})", f.name, f.cc_in_force, f.cc))).map(
        |flows| {
            (
                format!("another variant than the one asked for was in force: {flows}"),
                "check that the kernel has what `cc` asks for, and that the program does not choose \
                 one itself"
                    .to_owned(),
            )
        },
    )
}

fn never_started(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = evidence.trace.summary.flows.iter();
    let late = flows.filter(|flow| flow.started.is_none());
    joined(late.map(|flow| flow.name.clone())).map(|flows| {
        (
            format!("the run ended before the start of {flows}: nothing here is about them"),
            "give them an earlier `start` or the run a longer `duration`".to_owned(),
        )
    })
}

/// Whether `flow` has no connection of which anything could arrive: its datagrams have none, nor has
/// a program such as ping.
fn is_without_tcp(evidence: &Evidence<'_>, flow: &FlowSummary) -> bool {
    !is_tcp(flow) || flow.cc_in_force.is_empty() && evidence.input.programs.contains(&flow.name)
}

fn nothing_seen(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = evidence.trace.summary.flows.iter();
    let unseen = flows.filter(|flow| flow.started.is_some() && !is_seen(flow));
    joined(unseen.map(|flow| flow.name.clone())).map(|flows| {
        (
            format!(
                "no TCP and no UDP was seen of {flows}: nothing is measured there, and no share or \
                 index counts them"
            ),
            "check what the program of `command` printed, and that it talks to {dst} from {src}"
                .to_owned(),
        )
    })
}

fn incomplete_transfer(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = evidence.trace.summary.flows.iter();
    let failed = flows
        .filter(|flow| is_udp(flow) || !is_without_tcp(evidence, flow))
        .filter_map(|flow| {
            let received = flow.bytes_received;
            match (flow.aborted, received) {
                (true, _) => Some(format!("{} (gave up after {received} bytes)", flow.name)),
                (false, 0) if flow.started.is_some() => {
                    Some(format!("{} (nothing arrived)", flow.name))
                }
                _ => None,
            }
        });
    joined(failed).map(|flows| {
        (
            format!("the network did not carry {flows}: rates and fairness leave them out"),
            "check `loss`, `outage` and the queue's `limit` against one packet, or raise `duration`"
                .to_owned(),
        )
    })
}

fn flow_stalled(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let unacknowledged = |name: &str| {
        let flows = &evidence.trace.summary.flows;
        let index = flows.iter().position(|flow| flow.name == name);
        let mut samples = evidence.trace.flow_samples.iter().rev();
        let last = samples.find(|(_, sample)| Some(sample.flow as usize) == index);
        last.is_some_and(|(_, sample)| sample.snd_una < sample.snd_nxt)
    };
    // What datagrams leave out nobody sends again, and a source may be silent.
    let connected = unended(evidence).filter(|(flow, ..)| is_tcp(flow));
    let stalled = connected.filter_map(|(flow, _, window)| {
        let heard = flow.last_byte.filter(|_| !flow.aborted)?;
        let silent = Window::new(heard.max(window.from), window.to)?.seconds();
        let text = format!("{} (the last {silent:.3} s)", flow.name);
        let long = silent > STALLED * window.seconds();
        (long && unacknowledged(&flow.name)).then_some(text)
    });
    joined(stalled).map(|flows| {
        (
            format!(
                "nothing arrived at the end of {flows}, though there was data to send: goodput \
                 and the mean RTT are of the time before"
            ),
            "check `outage`, `loss` and `rwnd`; compare steady_goodput_bps, or raise `duration` until \
             the flow recovers"
                .to_owned(),
        )
    })
}

fn goodput_above_rate(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let bottleneck = || evidence.trace.summary.links.first()?.rate;
    let largest = &evidence.input.largest_rates;
    let flows = evidence.metrics.flows.iter().enumerate();
    let above = flows.filter(|&(index, flow)| {
        let rate = largest.get(index).map_or_else(bottleneck, |rate| *rate);
        flow.goodput_bps
            .zip(rate)
            .is_some_and(|(goodput, rate)| goodput > rate.bps() as f64)
    });
    joined(above.map(|(_, flow)| flow.name.clone())).map(|flows| {
        (
            format!(
                "so few deliveries that bytes / (last - first byte) is above the rate of a link on \
                 the way: {flows}; goodput and jain say nothing there"
            ),
            "use throughput_bps, or a larger `transfer`".to_owned(),
        )
    })
}

fn limited_by_rwnd(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = mostly_limited(evidence, |limited| limited.rwnd)?;
    Some((
        format!("the receiver's window, not congestion control, limited {flows}"),
        "raise the flow's `rwnd` above the bandwidth-delay product plus the queue".to_owned(),
    ))
}

fn limited_by_application(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let input = evidence.input;
    let of_program = |name: &str| input.programs.iter().any(|program| program == name);
    // A program without a connection, such as ping, has no congestion control to be limited by.
    let flows = evidence.trace.summary.flows.iter();
    let without_tcp: Vec<&str> = flows
        .filter(|flow| is_without_tcp(evidence, flow))
        .map(|flow| flow.name.as_str())
        .collect();
    // The sender of a transfer has handed over all of it long before the last of it arrives.
    let handed_over = |name: &str| input.finite.iter().any(|one| one == name) && !of_program(name);
    let flows = mostly_limited_among(
        evidence,
        |limited| limited.application,
        |name| {
            let meant = input.meant_by_application.iter().any(|one| one == name);
            !meant && !without_tcp.contains(&name) && !handed_over(name)
        },
    )?;
    Some((
        format!("the application, not congestion control, limited {flows}"),
        "let the program, or writes of `write_size` bytes, keep up with the network, or say what \
         is meant by `writes_per_second` or an `application`"
            .to_owned(),
    ))
}

fn limited_by_sndbuf(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = mostly_limited(evidence, |limited| limited.sndbuf)?;
    let is_held = |flow: &&FlowMetrics| flow.limited.is_some_and(|l| l.sndbuf > MOST_OF_THE_TIME);
    let mut held = evidence.metrics.flows.iter().filter(is_held);
    // A program decides on its socket itself, within what the kernel allows.
    let keys = match held.any(|flow| evidence.input.programs.contains(&flow.name)) {
        true => {
            "of a program the third number of `sysctl = { \"net.ipv4.tcp_wmem\" = .. }`, of \
                 another flow its `sndbuf`"
        }
        false => "the flow's `sndbuf`",
    };
    Some((
        format!("the send buffer, not congestion control, limited {flows}"),
        format!("raise {keys} above twice the bandwidth-delay product plus the queue"),
    ))
}

fn partial_overlap(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let run = &evidence.trace.summary;
    // What is told is told of the time after the warm-up.
    let warmup = evidence.input.warmup;
    let active: Vec<(&FlowSummary, Window)> = run
        .flows
        .iter()
        .filter_map(|flow| {
            let active = Window::active(flow, run.end)?;
            // One that was over by then is in none of it.
            Some((flow, active.after(warmup)?))
        })
        .collect();
    let from = active.iter().map(|(_, window)| window.from).max()?;
    let to = active.iter().map(|(_, window)| window.to).min()?;
    let common = Window::new(from, to).map_or(0.0, Window::seconds);
    let (flow, window) = active
        .iter()
        .max_by(|a, b| a.1.seconds().total_cmp(&b.1.seconds()))?;
    (common / window.seconds() < ENOUGH_OVERLAP).then(|| {
        (
            format!(
                "all flows were active together for {common:.3} s only, of the {:.3} s of {}: \
                 goodput, throughput and jain compare different times",
                window.seconds(),
                flow.name
            ),
            "let `warmup` last until the last start, compare steady_goodput_bps, or give all flows \
             one `start` and one `duration`"
                .to_owned(),
        )
    })
}

/// Whether anything that a sender takes for congestion happened.
fn has_congestion_signal(evidence: &Evidence<'_>) -> bool {
    let run = &evidence.trace.summary;
    let at_links = run.links.iter().any(|link| link.drops() + link.marks > 0);
    at_links
        || run
            .flows
            .iter()
            .any(|flow| flow.retransmits + flow.ecn_echoes > 0)
}

/// Whether the variant of `flow` waits for losses and marks; of an unknown one that is taken for
/// granted.
fn obeys_losses(flow: &FlowSummary) -> bool {
    let name = match flow.cc_in_force.as_str() {
        "" => &flow.cc,
        in_force => in_force,
    };
    is_tcp(flow) && cclab_cc::find(name).is_none_or(|variant| variant.signal == Signal::Losses)
}

fn no_congestion_signal(evidence: &Evidence<'_>) -> Option<(String, String)> {
    if has_congestion_signal(evidence) {
        return None;
    }
    let flows = evidence.trace.summary.flows.iter();
    let waiting = flows.filter(|flow| flow.bytes_received > 0 && obeys_losses(flow));
    let named = waiting.map(|flow| format!("{} ({})", flow.name, flow.cc));
    joined(named).map(|flows| {
        (
            format!(
                "no packet was lost or ECN-marked anywhere, and nothing else tells these to slow \
                 down: {flows}"
            ),
            "raise `duration`, lower the `limit` of the queue or the `rate` of the bottleneck, or \
             raise what limits the flows, such as `rwnd`"
                .to_owned(),
        )
    })
}

fn cross_traffic_without_rtt(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let sources = &evidence.input.nearby;
    let first = sources.first()?;
    let named = joined(sources.iter().cloned())?;
    let flow = evidence.metrics.flows.first()?;
    Some((
        format!(
            "cross traffic runs over a path with next to no delay beside those of the flows: {named}; \
             its completion times and slowdowns are of that path"
        ),
        format!(
            "give it an `rtt`; where a sweep has the key flow.{}.rtt, put traffic.{first}.rtt beside \
             it, and the two into `zip`",
            flow.name
        ),
    ))
}

fn coarse_samples(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let every = evidence.input.sampled_every.as_secs_f64();
    let flows = evidence.metrics.flows.iter();
    let shortest = flows
        .filter_map(|flow| flow.rtt_min_s)
        .filter(|&rtt| rtt > 0.0)
        .reduce(f64::min)?;
    let longest = shortest * MOST_ROUND_TRIPS_UNSEEN;
    (every > longest).then(|| {
        let [every, rtt, longest] = [every, shortest, longest].map(Time::from_secs_f64);
        (
            format!(
                "samples are {every} apart and round trips take {rtt}: figures over time show \
                 neither windows nor queues as they were"
            ),
            format!(
                "set trace.interval to {longest} or less, and `duration` so that not too many \
                 samples come of it"
            ),
        )
    })
}

/// The links that TCP flows have for their bottleneck and did not fill in the `steady` window, with
/// the part that was used. Of several links a flow fills one.
fn not_full(evidence: &Evidence<'_>, steady: Window) -> BTreeMap<usize, f64> {
    let (input, trace) = (evidence.input, evidence.trace);
    let mut known: BTreeMap<usize, Option<f64>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    // A source of datagrams fills what it is meant to, whatever there is room for.
    let flows = trace.summary.flows.iter().enumerate();
    for (index, _) in flows.filter(|(_, row)| is_tcp(row)) {
        let used = input.bottlenecks(index).iter().filter_map(|&link| {
            let used = known.entry(link);
            let used = used.or_insert_with(|| utilization(trace, steady, link));
            Some((link, (*used)?))
        });
        let fullest = used.max_by(|a, b| a.1.total_cmp(&b.1));
        found.extend(fullest.filter(|(_, used)| *used < FULL));
    }
    found
}

/// Whether one of the TCP flows that cross the link at `link` was held back by something else for
/// most of its time.
fn is_held_back(evidence: &Evidence<'_>, link: usize) -> bool {
    let flows = evidence.metrics.flows.iter().enumerate();
    let mut crossing = flows.filter(|(index, _)| evidence.input.crosses(*index, link));
    crossing.any(|(_, flow)| {
        flow.limited
            .is_some_and(|l| l.rwnd + l.application + l.sndbuf > MOST_OF_THE_TIME)
    })
}

/// What messages call the link at `link`.
fn called(evidence: &Evidence<'_>, link: usize) -> String {
    let count = evidence.trace.summary.flows.len();
    let several = (0..count).any(|flow| {
        evidence
            .input
            .bottlenecks(flow)
            .iter()
            .any(|&l| l > REVERSE)
    });
    match link {
        _ if several => format!("the link {}", evidence.input.link_name(link)),
        BOTTLENECK => "the bottleneck".to_owned(),
        _ => "the bottleneck's way back".to_owned(),
    }
}

fn bottleneck_not_full(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let idle = not_full(evidence, evidence.steady?).into_iter();
    let idle = idle.filter(|(link, _)| !is_held_back(evidence, *link));
    let idle = idle.map(|(link, used)| {
        let name = called(evidence, link);
        format!("{name} was used to {:.1}% only", used * 100.0)
    });
    joined(idle).map(|idle| {
        (
            format!("{idle} in the steady window: it may not be what limits the flows"),
            "check `rate` of [network.access], `packet_rate` and `router_packet_rate`, the `limit` \
             of the queue against the bandwidth-delay product, `loss` and `outage`; lengthen \
             `warmup` if flows were still starting"
                .to_owned(),
        )
    })
}

/// Flows that ran until the run's end, with the time for which they count. Finite transfers that
/// were completed are as long as the study wants them.
fn unended<'a>(
    evidence: &'a Evidence<'_>,
) -> impl Iterator<Item = (&'a FlowSummary, &'a FlowMetrics, Window)> {
    let run = &evidence.trace.summary;
    let warm = evidence.steady.map(|steady| steady.from);
    run.flows
        .iter()
        .zip(&evidence.metrics.flows)
        .filter_map(move |(flow, metrics)| {
            let active = Window::active(flow, run.end)?;
            let window = Window::new(active.from.max(warm.unwrap_or(active.from)), active.to)?;
            flow.ended.is_none().then_some((flow, metrics, window))
        })
}

fn too_few_round_trips(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let short = unended(evidence).filter_map(|(_, flow, window)| {
        let round_trips = window.seconds() / flow.srtt_mean_s.filter(|&rtt| rtt > 0.0)?;
        let text = format!("{} ({round_trips:.0})", flow.name);
        (round_trips < ENOUGH_ROUND_TRIPS).then_some(text)
    });
    joined(short).map(|flows| {
        (
            format!("too few round trips were measured for a stable mean: {flows}"),
            format!("raise `duration` to at least {ENOUGH_ROUND_TRIPS} round trips after `warmup`"),
        )
    })
}

/// Cycles that ended with ECN marks, counted low: a window is reduced once for the echoes of a
/// round trip, and these are no more than its segments.
fn cycles_of_marks(flow: &FlowSummary) -> u64 {
    let segments = flow.cwnd_mean / f64::from(flow.mss.max(1));
    (flow.ecn_echoes as f64 / segments.max(1.0)) as u64
}

fn too_few_loss_cycles(evidence: &Evidence<'_>) -> Option<(String, String)> {
    if !has_congestion_signal(evidence) {
        return None;
    }
    let short = unended(evidence).filter_map(|(flow, metrics, _)| {
        let cycles = flow.fast_recoveries + flow.rtos + cycles_of_marks(flow);
        let by_cwnd = metrics
            .limited
            .is_some_and(|limited| limited.cwnd > MOST_OF_THE_TIME);
        let text = format!("{} ({cycles})", flow.name);
        (by_cwnd && cycles < ENOUGH_LOSS_CYCLES).then_some(text)
    });
    joined(short).map(|flows| {
        (
            format!("too few loss cycles were seen for a stable mean: {flows}"),
            format!(
                "raise `duration` until each flow has seen {ENOUGH_LOSS_CYCLES} of them, or \
                 `repeat`"
            ),
        )
    })
}
