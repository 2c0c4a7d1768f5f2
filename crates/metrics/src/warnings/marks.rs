//! Marks of ECN that a variant waits for, or that only some of the flows get.

use super::congestion::in_force;
use super::{Evidence, joined};
use crate::flow::is_tcp;
use cclab_cc::EcnFeedback;
use cclab_trace::schema::FlowSummary;

/// Whether the variant of `flow` reacts to how many packets are marked.
fn counts_marks(flow: &FlowSummary) -> bool {
    is_tcp(flow) && cclab_cc::find(in_force(flow)).is_some_and(|v| v.ecn != EcnFeedback::Classic)
}

/// Whether the flow at `index` negotiates ECN: the study lets it, a program decides itself, and who
/// counts marks always does (RFC 8257 section 3).
fn asks_for_ecn(evidence: &Evidence<'_>, index: usize) -> bool {
    let flow = &evidence.trace.summary.flows[index];
    let name = &flow.name;
    let asks = evidence.input.ecn.get(index).is_none_or(|&ecn| ecn);
    asks || counts_marks(flow) || evidence.input.programs.contains(name)
}

pub(super) fn without_marks(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flows = evidence.trace.summary.flows.iter();
    let unmarked =
        flows.filter(|flow| counts_marks(flow) && flow.ecn_echoes == 0 && flow.retransmits > 0);
    let named = joined(unmarked.map(|flow| format!("{} ({})", flow.name, flow.cc)))?;
    Some((
        format!(
            "no mark of ECN reached a variant that counts them, and packets were lost: without marks \
             it is Reno: {named}"
        ),
        "choose a queue that marks before it drops: `kind = \"red\"` with `ecn = true`, one with \
         `ce_threshold`, or `dualpi2`"
            .to_owned(),
    ))
}

pub(super) fn ecn_of_some(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let run = &evidence.trace.summary;
    let flows = || {
        run.flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| is_tcp(flow))
    };
    let meets_marked = |index: usize| {
        let marked = flows().filter(|(_, flow)| flow.ecn_echoes > 0);
        let mut links = evidence.input.bottlenecks(index).iter();
        let marked: Vec<usize> = marked.map(|(other, _)| other).collect();
        links.any(|&link| {
            run.links.get(link).is_some_and(|row| row.marks > 0)
                && marked
                    .iter()
                    .any(|&other| evidence.input.crosses(other, link))
        })
    };
    let dropped = flows().filter(|&(index, flow)| {
        !asks_for_ecn(evidence, index) && flow.retransmits > 0 && meets_marked(index)
    });
    let named = joined(dropped.map(|(_, flow)| flow.name.clone()))?;
    Some((
        format!(
            "where packets of others were marked, those of flows without ECN were dropped: {named}"
        ),
        "give all flows the same `ecn`, unless a network where only some have it is the question"
            .to_owned(),
    ))
}
