//! Doubts that a scenario raises before anything of it has run.

use cclab_layout::Layout;
use cclab_spec::{Place, Scenario};
use cclab_units::{Rate, Time};

use crate::warning::Warning;
use crate::warnings::joined;

/// Of cross traffic whose path is not that of the flows it is to disturb.
pub(crate) const WITHOUT_RTT: &str = "cross-traffic-without-rtt";

/// Of slots that let less pass than comes to them.
pub(crate) const SLOWER_SLOTS: &str = "slots-slower-than-link";

/// Bytes of a full packet on Ethernet, by which slots are measured.
const FULL_PACKET: u64 = 1514;

/// A source is nearby whose base RTT is less than one part in so many of the shortest of the flows.
const NEARBY: u64 = 2;

/// A source of cross traffic that waits for answers, over a path much shorter than those of all flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby {
    /// The source's name.
    pub name: String,
    /// Its base RTT.
    pub base_rtt: Time,
    /// The shortest base RTT of the flows.
    pub of_flows: Time,
}

/// A link whose slots let less pass than its transmitter sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowerSlots {
    /// The link's name.
    pub link: String,
    /// What the slots let pass of full packets.
    pub slots: Rate,
    /// The link's own rate.
    pub rate: Rate,
}

/// The warnings that every run of `scenario` will have, whatever it shows.
pub fn foreseen(scenario: &Scenario) -> Vec<Warning> {
    let first = scenario.flows.first();
    let nearby = first.and_then(|flow| without_rtt(&nearby(scenario), &flow.name));
    let raised = [
        (WITHOUT_RTT, nearby),
        (SLOWER_SLOTS, slots_slower(&slower_slots(scenario))),
    ];
    let warnings = raised.into_iter().filter_map(|(code, raised)| {
        let (message, remedy) = raised?;
        Some(Warning {
            code: code.to_owned(),
            message,
            remedy,
        })
    });
    warnings.collect()
}

/// The links whose slots are the narrower part: no queue limits, drops or marks what waits for them.
pub(crate) fn slower_slots(scenario: &Scenario) -> Vec<SlowerSlots> {
    let layout = Layout::of(scenario);
    let wires = layout
        .impairments
        .iter()
        .filter(|it| it.place == Place::Router);
    let slower = wires.filter_map(|wire| {
        let line = &layout.lines[wire.line.index()];
        let slots = line.slots?.rate(FULL_PACKET)?;
        let rate = line.rate.filter(|rate| slots.bps() < rate.bps())?;
        Some(SlowerSlots {
            link: layout.link(wire.link).name.clone(),
            slots,
            rate,
        })
    });
    slower.collect()
}

/// What is doubtful about the links of `slower`, and what to change.
pub(crate) fn slots_slower(slower: &[SlowerSlots]) -> Option<(String, String)> {
    let told = |one: &SlowerSlots| format!("{} ({} of {})", one.link, one.slots, one.rate);
    let named = joined(slower.iter().map(told))?;
    Some((
        format!(
            "slots let less pass than their link sends, so that packets wait behind its queue, where \
             nothing limits, drops or marks them: {named}"
        ),
        "give `slots` more `packets` or `bytes`, or a shorter `every`; where slots are to be the \
         bottleneck, use a `trace`"
            .to_owned(),
    ))
}

/// The sources of cross traffic that a flow's `rtt` leaves behind: they wait for answers and have no
/// delay of their own, while all flows have much longer paths, the shortest by its `rtt`.
///
/// Paths that differ by the links that they cross are the study's topology, and nothing forgotten.
pub(crate) fn nearby(scenario: &Scenario) -> Vec<Nearby> {
    if scenario.traffic.is_empty() {
        return Vec::new();
    }
    let layout = Layout::of(scenario);
    let flows = scenario.flows.iter().zip(&layout.flows);
    let shortest = flows
        .map(|(flow, journey)| (layout.base_rtt(journey), flow.extra_delay))
        .min();
    let Some((of_flows, extra)) = shortest else {
        return Vec::new();
    };
    if extra == Time::ZERO {
        return Vec::new();
    }
    // To datagrams that follow their own clock the way is nothing.
    let waits = |kind: &str| !["constant-rate", "on-off", "random"].contains(&kind);
    let sources = scenario.traffic.iter().zip(&layout.traffic);
    let forgotten =
        sources.filter(|(source, _)| waits(&source.kind) && source.extra_delay == Time::ZERO);
    let all = forgotten.map(|(source, journey)| Nearby {
        name: source.name.clone(),
        base_rtt: layout.base_rtt(journey),
        of_flows,
    });
    all.filter(|source| source.base_rtt * NEARBY < of_flows)
        .collect()
}

/// What is doubtful about the sources that are `nearby`, beside a flow such as `flow`, and what to
/// change.
pub(crate) fn without_rtt(nearby: &[Nearby], flow: &str) -> Option<(String, String)> {
    let first = nearby.first()?;
    let told = |source: &Nearby| format!("{} over {}", source.name, source.base_rtt);
    let named = joined(nearby.iter().map(told))?;
    // A sweep names the flows of a `count` together.
    let key = flow.split_once('.').map_or(flow, |(written, _)| written);
    Some((
        format!(
            "cross traffic runs over a base RTT much shorter than those of the flows: {named}, where \
             the flows have {} or more; its load reacts faster than theirs, and its completion times \
             and slowdowns are of that path",
            first.of_flows
        ),
        format!(
            "give it an `rtt`; where a sweep has the key flow.{key}.rtt, put traffic.{}.rtt beside \
             it, and the two into `zip`",
            first.name
        ),
    ))
}
