//! From a scenario to the impairments of its links.

use std::collections::BTreeSet;

use cclab_spec::{Link as Spec, LossModel, Place, Scenario};
use cclab_units::{Stream, Time};

use super::bursts::Bursts;
use super::chance::Chance;
use super::course::Course;
use super::gate::{Gate, Loss};
use super::listed::Listed;
use super::opportunities::Opportunities;
use super::random::RandomLoss;
use super::schedule::Schedule;
use crate::link::Link;

/// Where a flow's packets enter and leave the network, and its hosts' access links.
#[derive(Clone, Debug)]
pub struct Ends {
    /// First and last link of the data.
    pub data: [u32; 2],
    /// First and last link of the acknowledgements.
    pub acks: [u32; 2],
    /// Access links of the sending and of the receiving host: the one that carries data, and its
    /// way back.
    pub access: Vec<[u32; 2]>,
}

/// Puts impairments in their places.
pub struct Installer<'a> {
    /// What is asked for.
    pub scenario: &'a Scenario,
    /// Seed of every stream.
    pub seed: u64,
    /// Bytes of framing that packets have.
    pub framing: u16,
    /// The links.
    pub links: &'a mut [Link],
}

impl Installer<'_> {
    /// Impairs bottlenecks, the first two links of each pair in `bottlenecks`, the way of the
    /// flows with these `ends`, and their access links.
    pub fn install(&mut self, bottlenecks: &[[u32; 2]], ends: &[Ends]) {
        let network = &self.scenario.network;
        let back = network.bottleneck.way_back();
        for &[forward, reverse] in bottlenecks {
            self.link(forward, &network.bottleneck);
            self.link(reverse, &back);
        }
        let data: Vec<[u32; 2]> = ends.iter().map(|ends| ends.data).collect();
        let acks: Vec<[u32; 2]> = ends.iter().map(|ends| ends.acks).collect();
        self.hosts(&network.bottleneck, "", &data);
        self.hosts(&back, "reverse ", &acks);
        if network.access.is_plain() {
            return;
        }
        let back = network.access.way_back();
        let mut done = BTreeSet::new();
        for [forward, reverse] in ends.iter().flat_map(|ends| ends.access.iter().copied()) {
            if done.insert(forward) {
                self.link(forward, &network.access);
            }
            if done.insert(reverse) {
                self.link(reverse, &back);
            }
        }
        let access: Vec<[u32; 2]> = ends
            .iter()
            .filter_map(|ends| Some([ends.access.first()?[0], ends.access.last()?[0]]))
            .collect();
        self.hosts(&network.access, "access ", &access);
    }

    /// Impairs the link `index` as `spec` says: all but what happens at hosts.
    pub fn link(&mut self, index: u32, spec: &Spec) {
        let seed = self.seed;
        let framing = self.framing;
        let flows = &self.scenario.flows;
        let link = &mut self.links[index as usize];
        let name = link.name.clone();
        let stream = |what: &str| Stream::new(seed, &format!("{what} {name}"));
        losses(
            &mut link.fit().entry,
            spec,
            Place::Router,
            |i| stream(&format!("loss {i}")),
            flows,
        );
        if let Some(probability) = spec.duplicate {
            let chance = Chance::new(probability, stream("duplicate"));
            link.fit().entry.get_or_insert_default().duplicate(chance);
        }
        if let Some(probability) = spec.corrupt {
            let chance = Chance::new(probability, stream("corrupt"));
            link.fit().entry.get_or_insert_default().corrupt(chance);
        }
        let moves = spec.schedule.iter().any(|change| change.delay.is_some());
        if spec.jitter.is_some() || spec.reorder.is_some() || moves {
            let mut course = Course::in_order();
            if let Some(jitter) = spec.jitter {
                course.jitter(jitter, stream("jitter"));
            }
            if let Some(reorder) = spec.reorder {
                course.reorder(reorder, stream("reorder"));
            }
            link.fit().course = Some(Box::new(course));
        }
        if moves || spec.schedule.iter().any(|change| change.rate.is_some()) {
            let extra = link.delay() - spec.delay;
            let schedule = Schedule::new(spec.rate, &spec.schedule, extra);
            link.follow(schedule);
        }
        if let Some(trace) = &spec.trace {
            link.send_at(Opportunities::new(trace.clone(), framing));
        }
    }

    /// Puts the losses and outages of `spec` at hosts where the ways from first to last link
    /// begin and end; flows that share a host share them.
    fn hosts(&mut self, spec: &Spec, prefix: &str, ways: &[[u32; 2]]) {
        let (seed, flows) = (self.seed, &self.scenario.flows);
        for (place, end) in [(Place::Sender, 0), (Place::Receiver, 1)] {
            let links: BTreeSet<u32> = ways.iter().map(|way| way[end]).collect();
            for index in links {
                let link = &mut self.links[index as usize];
                let name = link.name.clone();
                let fittings = link.fit();
                let gate = match place {
                    Place::Sender => &mut fittings.entry,
                    Place::Router | Place::Receiver => &mut fittings.exit,
                };
                let dice = |i| Stream::new(seed, &format!("{prefix}loss {i} {name}"));
                losses(gate, spec, place, dice, flows);
            }
        }
    }
}

/// Adds the losses and outages of `spec` at `place` to `gate`; `dice` are those of each loss.
fn losses(
    gate: &mut Option<Box<Gate>>,
    spec: &Spec,
    place: Place,
    dice: impl Fn(usize) -> Stream,
    flows: &[cclab_spec::Flow],
) {
    for outage in spec.outage.iter().filter(|outage| outage.at == place) {
        let gate = gate.get_or_insert_default();
        gate.add_outage(outage.start, outage.duration);
    }
    let changes: Vec<(Time, f64)> = match place {
        Place::Router => spec
            .schedule
            .iter()
            .filter_map(|change| Some((change.at, change.loss?)))
            .collect(),
        Place::Sender | Place::Receiver => Vec::new(),
    };
    for (i, loss) in spec.loss.iter().enumerate() {
        if loss.at != place {
            continue;
        }
        let loss = match &loss.model {
            LossModel::Random(probability) => {
                // What is scheduled takes the place of all independent losses.
                let end = changes.first().map(|&(at, _)| (at, 0.0));
                Loss::Random(RandomLoss::new(
                    *probability,
                    end.into_iter().collect(),
                    dice(i),
                ))
            }
            LossModel::GilbertElliott(model) => Loss::Bursts(Bursts::new(*model, dice(i))),
            LossModel::Packets(list) => {
                let named = |name: &String| flows.iter().position(|flow| flow.name == *name);
                let flow = list.flow.as_ref().and_then(named);
                Loss::Listed(Listed::new(&list.packets, flow.map(|flow| flow as u32)))
            }
        };
        gate.get_or_insert_default().add_loss(loss);
    }
    if !changes.is_empty() {
        let scheduled = RandomLoss::new(0.0, changes, dice(spec.loss.len()));
        gate.get_or_insert_default()
            .add_loss(Loss::Random(scheduled));
    }
}
