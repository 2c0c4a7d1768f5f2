//! What metrics need to know of a scenario.

use cclab_spec::{Direction, Flow, Scenario, Start};
use cclab_units::{Rate, Time};

use crate::bottleneck::BOTTLENECK;
use crate::foreseen::{Nearby, SlowerSlots, nearby, slower_slots};
use crate::paths::Paths;

/// What metrics need beside the trace.
#[derive(Clone, Debug, Default)]
pub struct MeasureInput {
    /// Left out of steady metrics and of utilization.
    pub warmup: Time,
    /// When the bottleneck's rate first changes; absent if it does not.
    pub rate_changes: Option<Time>,
    /// When routes of a graph first change; absent if they do not.
    pub routes_change: Option<Time>,
    /// For each flow the largest rate that the slowest link on its way has before the end; absent
    /// if none has any, and of all flows where paths are not known: then it is the bottleneck's.
    pub largest_rates: Vec<Option<Rate>>,
    /// What lies between two samples; zero: only the edges of what is measured are sampled.
    pub sampled_every: Time,
    /// Whether each flow negotiates ECN, as the study has it; of none where that is not known.
    pub ecn: Vec<bool>,
    /// Names of the flows that are programs, which may do without TCP.
    pub programs: Vec<String>,
    /// Names of the flows whose application is meant to limit them: one that is not bulk, or one
    /// with a rate of writes.
    pub meant_by_application: Vec<String>,
    /// Names of the flows that have a transfer, which have a completion time if it ends.
    pub finite: Vec<String>,
    /// The sources of cross traffic that wait for answers, over paths much shorter than those of all
    /// flows.
    pub nearby: Vec<Nearby>,
    /// The links whose slots let less pass than they send.
    pub slower_slots: Vec<SlowerSlots>,
    /// When each flow was to start; of none where that is not known.
    pub starts: Vec<Start>,
    /// What changes of links wait for and did not come about.
    pub never_met: Vec<String>,
    /// The kernels that the study names.
    pub kernels: Vec<String>,
    /// The labels of the files of variants: what those react to is not known.
    pub variant_files: Vec<String>,
    /// The group of each flow, if it is in one.
    pub groups: Vec<Option<String>>,
    /// The files of the trace that were others when the run was done a second time.
    pub differs: Vec<String>,
    /// Who shares which link; absent: what depends on it is not measured.
    pub paths: Option<Paths>,
}

impl MeasureInput {
    /// Whether the data of the flow at `index` go with the bottleneck or against it.
    pub(crate) fn direction(&self, index: usize) -> Direction {
        let paths = self.paths.as_ref();
        paths.map_or(Direction::Forward, |paths| paths.direction(index))
    }

    /// The places among a run's links of those that are the bottleneck of the flow at `index`.
    pub(crate) fn bottlenecks(&self, index: usize) -> &[usize] {
        let paths = self.paths.as_ref();
        paths.map_or(&[BOTTLENECK], |paths| paths.bottlenecks(index))
    }

    /// The places among a run's links of those that acknowledgements of the flow at `index` cross.
    pub(crate) fn way_back(&self, index: usize) -> &[usize] {
        let paths = self.paths.as_ref();
        paths.map_or(&[], |paths| paths.way_back(index))
    }

    /// What the study calls the link at `link`.
    pub(crate) fn link_name(&self, link: usize) -> &str {
        let paths = self.paths.as_ref();
        paths.and_then(|paths| paths.name(link)).unwrap_or_default()
    }

    /// Whether data of the flow at `index` cross the link at `link`.
    pub(crate) fn crosses(&self, index: usize, link: usize) -> bool {
        let paths = self.paths.as_ref();
        paths.map_or(link == BOTTLENECK, |paths| paths.crosses(index, link))
    }
}

impl MeasureInput {
    /// What is known of a run of `scenario`, in which what changes of links wait for came at the instants
    /// `met`.
    pub fn of_run(scenario: &Scenario, met: &[Option<Time>]) -> MeasureInput {
        let whens = scenario.whens().into_iter().zip(met);
        let never = whens.filter(|(_, met)| met.is_none());
        MeasureInput {
            never_met: never.map(|(when, _)| when.to_string()).collect(),
            ..MeasureInput::from(&scenario.as_it_went(met))
        }
    }
}

impl From<&Scenario> for MeasureInput {
    fn from(scenario: &Scenario) -> MeasureInput {
        let paths = Paths::of(scenario);
        MeasureInput {
            warmup: scenario.warmup,
            rate_changes: {
                let schedule = scenario.network.bottleneck.schedule.iter();
                let changes = schedule.filter(|change| change.rate.is_some());
                changes.map(|change| change.at).min()
            },
            routes_change: {
                let graph = scenario.network.graph.as_ref();
                graph.and_then(|graph| graph.reroutes.first().map(|change| change.at))
            },
            largest_rates: paths.as_ref().map_or_else(Vec::new, |paths| {
                paths.largest_rates(scenario.duration.unwrap_or(Time::NEVER))
            }),
            sampled_every: scenario.trace.interval,
            ecn: scenario.flows.iter().map(|flow| flow.ecn.is_on()).collect(),
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
            nearby: nearby(scenario),
            slower_slots: slower_slots(scenario),
            starts: scenario.flows.iter().map(|flow| flow.start).collect(),
            never_met: Vec::new(),
            kernels: {
                let named = scenario.kernels().into_iter().flatten();
                named.map(str::to_owned).collect()
            },
            variant_files: {
                let files = scenario.variant_files.iter();
                files.map(|file| file.label.clone()).collect()
            },
            groups: {
                let group = |flow: &Flow| flow.group().map(str::to_owned);
                scenario.flows.iter().map(group).collect()
            },
            differs: Vec::new(),
            paths,
        }
    }
}
