//! What probes did.

use cclab_trace::schema::{Echo, ProbeSummary};
use cclab_units::Time;

use crate::records::Run;
use crate::tally::FRAMING;

/// One row per probe. How many answers reached a kernel that gave them itself, it does not say.
pub fn summaries(run: &Run<'_>) -> Vec<ProbeSummary> {
    let probes = run.scenario.probes.iter().zip(&run.outcome.probes);
    let probes = probes.map(|(spec, outcome)| {
        let echoes = outcome.sent.iter().zip(&outcome.rtt);
        let echoes = echoes.map(|(&sent, rtt)| Echo {
            sent: Time::from_nanos(sent),
            rtt: rtt.map(Time::from_nanos),
        });
        ProbeSummary {
            name: spec.name.clone(),
            kind: spec.kind.name().to_owned(),
            interval: spec.interval,
            packet_bytes: spec.packet_bytes(FRAMING as u16).into(),
            sent_packets: None,
            received_packets: None,
            echoes: echoes.collect(),
        }
    });
    probes.collect()
}
