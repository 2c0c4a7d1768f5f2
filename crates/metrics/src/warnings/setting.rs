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

pub(super) fn kernel_not_modelled(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let simulated = evidence.trace.summary.machines.is_empty();
    let named = evidence.input.kernels.iter().filter(|_| simulated);
    joined(named.cloned()).map(|kernels| {
        (
            format!(
                "the study names kernels, and these hosts are simulated: all have the TCP of the \
                 study's `stack`, and nothing is of {kernels}"
            ),
            "use backend = \"linux\", whose hosts have the kernels that the study names".to_owned(),
        )
    })
}

pub(super) fn not_repeatable(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let files = joined(evidence.input.differs.iter().cloned())?;
    let variants = joined(evidence.input.variant_files.iter().cloned())?;
    Some((
        format!("done a second time, the run was another one: {files} differ by what {variants} did"),
        "have the variant take its time and its random numbers from the connection (of a Python class: \
         self.now, self.random), and keep nothing between runs"
            .to_owned(),
    ))
}

pub(super) fn trigger_never_met(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let never = joined(evidence.input.never_met.iter().cloned())?;
    Some((
        format!(
            "changes of links wait for what did not come about, and the network stayed as it was: \
             {never}"
        ),
        "look with events = [\"state\"] at the states that the variant comes to, and correct the `when`, \
         or give the run a longer `duration`"
            .to_owned(),
    ))
}

pub(super) fn cross_traffic_without_rtt(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let flow = evidence.metrics.flows.first()?;
    foreseen::without_rtt(&evidence.input.nearby, &flow.name)
}

pub(super) fn slots_slower_than_link(evidence: &Evidence<'_>) -> Option<(String, String)> {
    foreseen::slots_slower(&evidence.input.slower_slots)
}
