//! Flows that something else than congestion control held back.

use super::arrival::{is_received_by_sender, is_without_tcp};
use super::{Evidence, joined};
use crate::flow::{FlowMetrics, LimitedShares};

/// More than half of its time: then the limit, not congestion control, sets a flow's mean rate.
pub(super) const MOST_OF_THE_TIME: f64 = 0.5;

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

pub(super) fn limited_by_rwnd(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = mostly_limited(evidence, |limited| limited.rwnd)?;
    Some((
        format!("the receiver's window, not congestion control, limited {flows}"),
        "raise the flow's `rwnd` above the bandwidth-delay product plus the queue".to_owned(),
    ))
}

pub(super) fn limited_by_application(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let input = evidence.input;
    let of_program = |name: &str| input.programs.iter().any(|program| program == name);
    // A program without a connection, such as ping, has no congestion control to be limited by.
    let flows = evidence.trace.summary.flows.iter();
    // One that fetches has nothing to send because it asks for it.
    let held_by_nothing: Vec<&str> = flows
        .enumerate()
        .filter(|&(index, flow)| {
            is_without_tcp(evidence, flow) || is_received_by_sender(evidence, index)
        })
        .map(|(_, flow)| flow.name.as_str())
        .collect();
    // The sender of a transfer has handed over all of it long before the last of it arrives.
    let handed_over = |name: &str| input.finite.iter().any(|one| one == name) && !of_program(name);
    let flows = mostly_limited_among(
        evidence,
        |limited| limited.application,
        |name| {
            let meant = input.meant_by_application.iter().any(|one| one == name);
            !meant && !held_by_nothing.contains(&name) && !handed_over(name)
        },
    )?;
    Some((
        format!("the application, not congestion control, limited {flows}"),
        "let the program, or writes of `write_size` bytes, keep up with the network, or say what \
         is meant by `writes_per_second` or an `application`"
            .to_owned(),
    ))
}

pub(super) fn limited_by_sndbuf(evidence: &Evidence<'_>) -> Option<(String, String)> {
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
