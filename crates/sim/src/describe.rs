//! What a scenario is before it is simulated.

use cclab_layout::Description;
use cclab_spec::Scenario;

use crate::{SimError, Unsupported, unsupported_but_files};

/// Describes `scenario`. A variant that only the kernel has changes nothing of the network.
///
/// # Errors
/// What [`crate::unsupported`] names first but for variants: such a network is not simulated.
pub fn describe(scenario: &Scenario) -> Result<Description, SimError> {
    match unsupported_but_files(&with_variants_of_its_own(scenario), &|_| true)
        .into_iter()
        .next()
    {
        Some(Unsupported { path, what }) => Err(SimError::Unsupported { path, what }),
        None => Ok(cclab_layout::describe(scenario).expect("unknown stacks are refused")),
    }
}

/// `scenario` with Reno for the variants of flows that the simulator does not have.
fn with_variants_of_its_own(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    for flow in &mut scenario.flows {
        if flow.udp.is_none() && cclab_cc::find_simulated(&flow.cc).is_none() {
            flow.cc = "reno".to_owned();
            flow.cc_params.clear();
        }
    }
    scenario
}
