//! What metrics need to know of a scenario.

use cclab_spec::{Flow, Rates, Scenario};
use cclab_units::{Rate, Time};

use crate::paths::Paths;

/// What metrics need beside the trace.
#[derive(Clone, Debug, Default)]
pub struct MeasureInput {
    /// Left out of steady metrics and of utilization.
    pub warmup: Time,
    /// When the bottleneck's rate first changes; absent if it does not.
    pub rate_changes: Option<Time>,
    /// The largest rate that the bottleneck has before the end; absent: that of its summary.
    pub largest_rate: Option<Rate>,
    /// Names of the flows that are programs, which may do without TCP.
    pub programs: Vec<String>,
    /// Names of the flows whose application is meant to limit them: one that is not bulk, or one
    /// with a rate of writes.
    pub meant_by_application: Vec<String>,
    /// Names of the flows that have a transfer, which have a completion time if it ends.
    pub finite: Vec<String>,
    /// The group of each flow, if it is in one.
    pub groups: Vec<Option<String>>,
    /// Who shares which link; absent: what depends on it is not measured.
    pub paths: Option<Paths>,
}

impl From<&Scenario> for MeasureInput {
    fn from(scenario: &Scenario) -> MeasureInput {
        MeasureInput {
            warmup: scenario.warmup,
            rate_changes: {
                let schedule = scenario.network.bottleneck.schedule.iter();
                let changes = schedule.filter(|change| change.rate.is_some());
                changes.map(|change| change.at).min()
            },
            largest_rate: {
                let link = &scenario.network.bottleneck;
                let end = scenario.duration.unwrap_or(Time::NEVER);
                Rates::new(link.rate, &link.schedule).largest(end)
            },
            programs: {
                let programs = scenario.flows.iter().filter(|flow| flow.command.is_some());
                programs.map(|flow| flow.name.clone()).collect()
            },
            meant_by_application: {
                let meant =
                    |flow: &&Flow| flow.application.is_some() || flow.writes_per_second.is_some();
                let flows = scenario.flows.iter().filter(meant);
                flows.map(|flow| flow.name.clone()).collect()
            },
            finite: {
                let finite = scenario.flows.iter().filter(|flow| flow.transfer.is_some());
                finite.map(|flow| flow.name.clone()).collect()
            },
            groups: {
                let group = |flow: &Flow| flow.group().map(str::to_owned);
                scenario.flows.iter().map(group).collect()
            },
            paths: Paths::of(scenario),
        }
    }
}
