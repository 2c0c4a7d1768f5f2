//! What a run was made on: the host, the kernel's variants, the paths of cross traffic.

use super::{Evidence, joined};
use crate::foreseen;

pub(super) fn host_too_slow(evidence: &Evidence<'_>) -> Option<(String, String)> {
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

pub(super) fn variant_not_in_force(evidence: &Evidence<'_>) -> Option<(String, String)> {
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

pub(super) fn cross_traffic_without_rtt(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flow = evidence.metrics.flows.first()?;
    foreseen::without_rtt(&evidence.input.nearby, &flow.name)
}
