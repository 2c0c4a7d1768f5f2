//! Doubts that a scenario raises before anything of it has run.

use cclab_layout::Layout;
use cclab_spec::Scenario;
use cclab_units::Time;

use crate::warning::Warning;
use crate::warnings::joined;

/// Of cross traffic whose path is not that of the flows it is to disturb.
pub(crate) const WITHOUT_RTT: &str = "cross-traffic-without-rtt";

/// A source is nearby whose base RTT is less than this part of the shortest of the flows.
const NEARBY: u64 = 100;

/// The warnings that every run of `scenario` will have, whatever it shows.
pub fn foreseen(scenario: &Scenario) -> Vec<Warning> {
    let first = scenario.flows.first();
    let raised = first.and_then(|flow| without_rtt(&nearby(scenario), &flow.name));
    let warning = raised.map(|(message, remedy)| Warning {
        code: WITHOUT_RTT.to_owned(),
        message,
        remedy,
    });
    warning.into_iter().collect()
}

/// Names of the sources of cross traffic that wait for answers, over a path with next to no delay
/// beside those of all flows.
pub(crate) fn nearby(scenario: &Scenario) -> Vec<String> {
    if scenario.traffic.is_empty() {
        return Vec::new();
    }
    let layout = Layout::of(scenario);
    let flows = layout.flows.iter().map(|flow| layout.base_rtt(flow));
    let shortest = flows.min().unwrap_or(Time::ZERO);
    // To datagrams that follow their own clock the way is nothing.
    let waits = |kind: &str| !["constant-rate", "on-off", "random"].contains(&kind);
    let sources = scenario.traffic.iter().zip(&layout.traffic);
    let nearby = sources.filter(|(source, journey)| {
        waits(&source.kind) && layout.base_rtt(journey) * NEARBY < shortest
    });
    nearby.map(|(source, _)| source.name.clone()).collect()
}

/// What is doubtful about the sources that are `nearby`, beside a flow such as `flow`, and what to
/// change.
pub(crate) fn without_rtt(nearby: &[String], flow: &str) -> Option<(String, String)> {
    let first = nearby.first()?;
    let named = joined(nearby.iter().cloned())?;
    // A sweep names the flows of a `count` together.
    let key = flow.split_once('.').map_or(flow, |(written, _)| written);
    Some((
        format!(
            "cross traffic runs over a path with next to no delay beside those of the flows: \
             {named}; its completion times and slowdowns are of that path"
        ),
        format!(
            "give it an `rtt`; where a sweep has the key flow.{key}.rtt, put traffic.{first}.rtt \
             beside it, and the two into `zip`"
        ),
    ))
}
