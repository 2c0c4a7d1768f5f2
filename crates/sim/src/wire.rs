//! What the flows of a scenario announce in their SYN, for packet captures.

use cclab_spec::Scenario;
use cclab_trace::WireOptions;

use crate::stack;

/// The options of each flow's SYN, in the scenario's order: what a recorder of captures needs.
///
/// # Panics
/// If the scenario names a stack that [`crate::unsupported`] refuses.
pub fn wire_options(scenario: &Scenario) -> Vec<WireOptions> {
    scenario
        .flows
        .iter()
        .map(|flow| {
            if flow.udp.is_some() {
                return WireOptions::default(); // datagrams announce nothing
            }
            let profile = stack::profile_of(scenario, flow);
            let recovery = stack::recovery_of(cclab_cc::find_simulated(&flow.cc), &profile);
            WireOptions {
                mss: flow
                    .mss
                    .unwrap_or(profile.wire.mss)
                    .try_into()
                    .unwrap_or(u16::MAX),
                sack_permitted: profile.wire.sack && recovery.uses_sack(),
            }
        })
        .collect()
}
