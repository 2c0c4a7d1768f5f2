//! Runs beside those of a study: what a flow would have had in other company.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Flow;
use crate::link::{Link, LossModel};
use crate::scenario::Scenario;

/// A company that a flow is put in, for comparison.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// The flow alone, with the cross traffic.
    Solo,
    /// The flow among flows of its own kind.
    #[serde(rename = "self")]
    Own,
}

impl Baseline {
    /// What the flow at `index` of `scenario` is compared with: the scenario with
    ///
    /// - [`Baseline::Solo`]: that flow alone. The cross traffic stays; captures at the hosts and
    ///   access links of the others and the listed losses of their packets go.
    /// - [`Baseline::Own`]: that flow's variant, parameters, application, windows and host settings in
    ///   every flow. Each keeps its name, path, start, end and transfer; but beside a program, which
    ///   decides itself what it sends, and beside datagrams, all end as the flow does. The scenario itself if they are of
    ///   one kind already.
    ///
    /// `None` if there is no such flow, or no other.
    pub fn of(self, scenario: &Scenario, index: usize) -> Option<Scenario> {
        let flow = scenario.flows.get(index)?;
        if scenario.flows.len() < 2 {
            return None;
        }
        let mut other = scenario.clone();
        match self {
            Baseline::Solo => leave_alone(flow, &mut other),
            Baseline::Own => {
                for one in &mut other.flows {
                    *one = in_place_of(flow, one);
                }
            }
        }
        other.drop_unused_variant_files();
        Some(other)
    }
}

/// Takes all flows but `flow` out of `scenario`, and what names them.
fn leave_alone(flow: &Flow, scenario: &mut Scenario) {
    let gone = |name: &str| name != flow.name && scenario.flows.iter().any(|one| one.name == name);
    let network = &mut scenario.network;
    let listed = network.graph.iter_mut().flat_map(|graph| &mut graph.links);
    let links = [&mut network.bottleneck, &mut network.access];
    for link in links.into_iter().chain(listed.map(|one| &mut one.link)) {
        leave_out(&gone, link);
    }
    scenario.flows = vec![flow.clone()];
    let points = scenario.points();
    scenario
        .trace
        .capture
        .retain(|point| points.contains(point));
}

/// Empties the lists of lost packets that count those of a flow that is `gone`: they stay in their
/// places, by which the dice of the others are told apart. What waits for its state never comes.
fn leave_out(gone: &dyn Fn(&str) -> bool, link: &mut Link) {
    for loss in &mut link.loss {
        if let LossModel::Packets(list) = &mut loss.model
            && list.flow.as_deref().is_some_and(gone)
        {
            list.packets.clear();
        }
    }
    link.triggered
        .retain(|triggered| !gone(&triggered.when.flow));
    if let Some(reverse) = &mut link.reverse {
        leave_out(gone, reverse);
    }
}

/// A flow like `flow` where and when `other` is.
fn in_place_of(flow: &Flow, other: &Flow) -> Flow {
    let alike =
        flow.command.is_some() == other.command.is_some() && flow.transport() == other.transport();
    let end = if alike { other } else { flow };
    flow.named(&other.name).with(|flow| {
        flow.extra_delay = other.extra_delay;
        flow.start = other.start;
        flow.transfer = end.transfer;
        flow.duration = end.duration;
        flow.direction = other.direction;
        flow.crosses = other.crosses;
        flow.from = other.from.clone();
        flow.to = other.to.clone();
        flow.delay_at = other.delay_at;
        flow.delay_limit = other.delay_limit;
    })
}
