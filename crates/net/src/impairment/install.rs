//! From a layout to the impairments of its links.

use cclab_layout::{Impairment, Journey, Layout};
use cclab_spec::{Link as Spec, LossModel, Place};
use cclab_units::{Stream, Time};

use super::bursts::Bursts;
use super::chance::Chance;
use super::course::Course;
use super::gate::{Gate, Loss};
use super::jitter::ExtraDelay;
use super::listed::Listed;
use super::opportunities::Opportunities;
use super::random::{OnChange, RandomLoss};
use super::remark::Remark;
use super::schedule::Schedule;
use super::slots::Slots;
use crate::link::Link;

/// Puts impairments in their places.
pub struct Installer<'a> {
    /// Where they are.
    pub layout: &'a Layout,
    /// Seed of every stream.
    pub seed: u64,
    /// Bytes of framing that packets have.
    pub framing: u16,
    /// The links of the layout.
    pub links: &'a mut [Link],
}

impl Installer<'_> {
    /// Impairs every link that the layout says is impaired.
    pub fn install(&mut self) {
        for impairment in &self.layout.impairments {
            match impairment.place {
                Place::Router => self.link(impairment),
                Place::Sender | Place::Receiver => self.host(impairment),
            }
        }
    }

    /// Impairs a link: all but what happens at hosts.
    fn link(&mut self, impairment: &Impairment) {
        let (seed, framing) = (self.seed, self.framing);
        let spec = &self.layout.lines[impairment.line.index()];
        let flows = &self.layout.flows;
        let link = &mut self.links[impairment.link.index()];
        let name = &self.layout.link(impairment.link).name;
        let stream = |what: &str| Stream::new(seed, &format!("{what} {name}"));
        losses(
            &mut link.fit().entry,
            spec,
            Place::Router,
            |what, i| stream(&format!("{what} {i}")),
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
        let moves = spec.changes().any(|change| change.delay.is_some());
        let slotted = spec.slots.is_some() || spec.changes().any(|change| change.slots.is_some());
        if spec.jitter.is_some() || slotted || spec.reorder.is_some() || moves {
            let mut course = Course::in_order();
            if let Some(jitter) = spec.jitter {
                let sizes = spec.schedule.iter();
                let sizes = sizes.filter_map(|change| Some((change.at, change.jitter?)));
                let dice = stream("jitter");
                course.jitter(ExtraDelay::new(jitter, sizes.collect(), dice));
            }
            if slotted {
                let steps = spec.schedule.iter();
                let steps = steps.filter_map(|change| Some((change.at, change.slots?)));
                course.slots(Slots::new(spec.slots, steps.collect(), stream("slots")));
            }
            if let Some(reorder) = spec.reorder {
                course.reorder(reorder, stream("reorder"));
            }
            link.fit().course = Some(Box::new(course));
        }
        // What is yet to become known must find nothing foreseen.
        let waits = !spec.triggered.is_empty();
        if waits || moves || spec.schedule.iter().any(|change| change.rate.is_some()) {
            let extra = link.delay() - spec.delay;
            link.follow(Schedule::new(spec, extra));
        }
        if let Some(trace) = &spec.trace {
            link.send_at(Opportunities::new(trace.clone(), framing));
        }
    }

    /// Puts losses, outages and changes of codepoints where a host's first link begins, or its last one ends.
    fn host(&mut self, impairment: &Impairment) {
        let &Impairment { place, prefix, .. } = impairment;
        let seed = self.seed;
        let spec = &self.layout.lines[impairment.line.index()];
        let link = &mut self.links[impairment.link.index()];
        let name = &self.layout.link(impairment.link).name;
        let fittings = link.fit();
        let gate = match place {
            Place::Sender => &mut fittings.entry,
            Place::Router | Place::Receiver => &mut fittings.exit,
        };
        let dice = |what: &str, i| Stream::new(seed, &format!("{prefix}{what} {i} {name}"));
        losses(gate, spec, place, dice, &self.layout.flows);
    }
}

/// Adds the losses, outages and changes of codepoints of `spec` at `place` to `gate`; `dice` are those
/// of each.
fn losses(
    gate: &mut Option<Box<Gate>>,
    spec: &Spec,
    place: Place,
    dice: impl Fn(&str, usize) -> Stream,
    flows: &[Journey],
) {
    for (i, remark) in spec.remark.iter().enumerate() {
        if remark.at == place {
            let chance = Chance::new(remark.probability, dice("remark", i));
            let gate = gate.get_or_insert_default();
            gate.add_remark(Remark::new(remark, chance));
        }
    }
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
    let may_change = place == Place::Router && spec.changes().any(|change| change.loss.is_some());
    let on_change = match place {
        Place::Router => OnChange::Ends,
        Place::Sender | Place::Receiver => OnChange::Stays,
    };
    for (i, loss) in spec.loss.iter().enumerate() {
        if loss.at != place {
            continue;
        }
        let loss = match &loss.model {
            LossModel::Random(probability) => {
                // What is scheduled takes the place of all independent losses.
                let end = changes.first().map(|&(at, _)| (at, 0.0));
                let end = end.into_iter().collect();
                let loss = RandomLoss::new(*probability, end, dice("loss", i));
                Loss::Random(loss.on_change(on_change))
            }
            LossModel::GilbertElliott(model) => Loss::Bursts(Bursts::new(*model, dice("loss", i))),
            LossModel::Packets(list) => {
                let named = |name: &String| flows.iter().position(|flow| flow.name == *name);
                let flow = list.flow.as_ref().and_then(named);
                Loss::Listed(Listed::new(&list.packets, flow.map(|flow| flow as u32)))
            }
        };
        gate.get_or_insert_default().add_loss(loss);
    }
    if may_change {
        let scheduled = RandomLoss::new(0.0, changes, dice("loss", spec.loss.len()));
        let scheduled = scheduled.on_change(OnChange::Follows);
        gate.get_or_insert_default()
            .add_loss(Loss::Random(scheduled));
    }
}
