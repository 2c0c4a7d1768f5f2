//! Flows of which nothing, or too little, arrived.

use super::spans::unended;
use super::{Evidence, joined};
use crate::flow::{is_seen, is_tcp, is_udp};
use crate::window::Window;
use cclab_spec::Start;
use cclab_trace::schema::FlowSummary;
use cclab_units::Time;

/// A flow that was silent for a quarter of its time has a mean rate over the whole of it that is a
/// third below the one it had, and goodput, which ends with the last byte, does not show it.
const STALLED: f64 = 0.25;

pub(super) fn never_started(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let summary = &evidence.trace.summary;
    let flows = summary.flows.iter().enumerate();
    let late = flows.filter(|(_, flow)| flow.started.is_none());
    let named = late.map(|(index, flow)| match evidence.input.starts.get(index) {
        Some(start) => format!("{} ({})", flow.name, when(*start)),
        None => flow.name.clone(),
    });
    joined(named).map(|flows| {
        let end = summary.end;
        (
            format!(
                "the run ended at {end}, before the start of {flows}: nothing here is about them"
            ),
            "give them an earlier `start` or the run a longer `duration`".to_owned(),
        )
    })
}

/// When something starts, in words.
fn when(start: Start) -> String {
    match start.spread {
        Time::ZERO => format!("at {}", start.at),
        spread => format!("from {} to {}", start.at, start.at + spread),
    }
}

/// Whether `flow` has no connection of which anything could arrive: its datagrams have none, nor has
/// a program such as ping.
pub(super) fn is_without_tcp(evidence: &Evidence<'_>, flow: &FlowSummary) -> bool {
    !is_tcp(flow) || flow.cc_in_force.is_empty() && evidence.input.programs.contains(&flow.name)
}

pub(super) fn nothing_seen(evidence: &Evidence<'_>) -> Option<(String, String)> {
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

pub(super) fn incomplete_transfer(evidence: &Evidence<'_>) -> Option<(String, String)> {
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

/// An acknowledgement has some 66 bytes on a link. Where a hundred went back for each that arrived,
/// they were no acknowledgements, were it of single bytes.
const OF_THE_WAY_BACK: u64 = 100;

/// Whether next to nothing arrived of the program at `index`, while the links of its own carried
/// something back. What others send back as well tells nothing of it: on a chain, in a graph, and on a
/// network of the kernel's own nobody knows.
pub(super) fn is_received_by_sender(evidence: &Evidence<'_>, index: usize) -> bool {
    let run = &evidence.trace.summary;
    let of_program = |flow: &&FlowSummary| {
        evidence.input.programs.contains(&flow.name) && !is_without_tcp(evidence, flow)
    };
    let Some(flow) = run.flows.get(index).filter(of_program) else {
        return false;
    };
    let is_own = |name: &str| {
        name.strip_prefix(&flow.name)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    let links = evidence.input.way_back(index).iter();
    let own = links.filter_map(|&link| run.links.get(link).filter(|link| is_own(&link.name)));
    let back = own.map(|link| link.tx_bytes).min().unwrap_or(0);
    let received = flow.bytes_received;
    !flow.aborted && received > 0 && received < back / OF_THE_WAY_BACK
}

pub(super) fn data_goes_back(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = evidence.trace.summary.flows.iter().enumerate();
    let back = flows
        .filter(|&(index, _)| is_received_by_sender(evidence, index))
        .map(|(_, flow)| format!("{} ({} bytes)", flow.name, flow.bytes_received));
    joined(back).map(|flows| {
        (
            format!(
                "the receiver got next to nothing of {flows}: what a program fetches, as iperf3 -R \
                 does, goes from receiver to sender and is in no number of its flow"
            ),
            "turn the flow round, by `direction = \"reverse\"` or in a graph by another `from` and \
             `to`, and let its program send to {dst}: iperf3 without -R"
                .to_owned(),
        )
    })
}

pub(super) fn flow_stalled(evidence: &Evidence<'_>) -> Option<(String, String)> {
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

pub(super) fn goodput_above_rate(evidence: &Evidence<'_>) -> Option<(String, String)> {
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
