//! A link under study: its queues are sampled, and all that the study writes of it happens here.

use cclab_layout::{Layout, Link, LinkId};
use cclab_spec::{Jitter, Link as Line, Place};
use cclab_units::Time;

use crate::cable::{End, Front, Majors, Shaper, Way, Wire};
use crate::impairment::{self, Impairment};
use crate::network::{Network, namespace_of};
use crate::orders::Queue;
use crate::own::{Added, Own};

/// Major numbers of the qdiscs of the sampled queue `link`.
fn majors(link: LinkId) -> Majors {
    let LinkId(link) = link;
    Majors {
        root: 0x100 + link,
        shaper: 0x1100 + link,
        discipline: 0x2100 + link,
    }
}

impl Network<'_> {
    /// The bottleneck `pair` and its way back, between two routers.
    pub(crate) fn bottleneck(&mut self, layout: &Layout, pair: [LinkId; 2]) {
        let link = &self.scenario.network.bottleneck;
        let back = link.way_back();
        let lines = [link, &back];
        let changes = lines.iter().flat_map(|line| &line.schedule);
        let mut changes =
            changes.map(|c| c.delay.is_some() || (c.rate.is_some() && self.serialises()));
        let wire = Wire {
            ways: lines.map(|line| Way {
                delay: line.delay,
                rate: line.rate,
            }),
            jitter: link.jitter.filter(|j| !j.reorders()).map(Jitter::size),
            overtaking: link.jitter.filter(|j| j.reorders()).map(Jitter::size),
            slots: link.slots,
            held: link.reorder,
            changes: changes.any(|changes| changes),
            serialises: self.serialises(),
        };
        let Link { from, to, .. } = layout.link(pair[0]);
        let ends = [(from, "next"), (to, "prev")]
            .map(|(&node, interface)| End::of(namespace_of(node), interface.to_owned()));
        let between = self.cable(&ends, &wire);
        if let (Some([_, right]), Some(netem)) = (&between, wire.slotted()) {
            // One that is set up at the instant 0 of a guest takes that for no slots.
            let line = format!("qdisc change dev {right} parent 1:1 handle 2: {netem}");
            self.change(Time::from_nanos(1), self.wires, vec![line], vec![]);
        }
        let losses = Impairment::of(link, Place::Router);
        let front = Front {
            delay: Time::ZERO,
            limit: None,
            rate: None,
            loss: losses.initial,
            bursts: impairment::bursts(link, Place::Router),
            duplicate: link.duplicate,
        };
        let idle = losses.is_none() && front == Front::default();
        let netems = [(!idle).then(|| front.netem()), None];
        let mut shapers = Vec::new();
        for (((id, end), netem), line) in pair.into_iter().zip(&ends).zip(netems).zip(lines) {
            let majors = majors(id);
            shapers.push(self.egress(end, line, netem, majors));
            if line.rate.is_some() {
                self.queues.push(Queue {
                    link: id.0,
                    namespace: end.namespace,
                    interface: end.interface.clone(),
                    handle: majors.root << 16,
                    discipline: majors.discipline << 16,
                });
            }
        }
        self.lose(&ends[0], majors(pair[0]).root, Own::default(), &losses);
        self.schedule(lines, &ends, between.as_ref(), &shapers, wire);
        let cables = self.cables.entry(pair[0]).or_default();
        cables.push((Added::default(), ends));
    }

    /// Changes of rate and delay of the `lines` of both ways.
    fn schedule(
        &mut self,
        lines: [&Line; 2],
        ends: &[End; 2],
        between: Option<&[String; 2]>,
        shapers: &[Option<Shaper>],
        mut wire: Wire,
    ) {
        for (index, line) in lines.into_iter().enumerate() {
            for change in &line.schedule {
                let way = &mut wire.ways[index];
                way.delay = change.delay.unwrap_or(way.delay);
                way.rate = change.rate.or(way.rate);
                let changed = change.rate.and(way.rate);
                if let (Some(rate), Some(shaper)) = (changed, &shapers[index]) {
                    let lines = vec![shaper.line("change", rate)];
                    self.change(change.at, ends[index].namespace, lines, vec![]);
                }
                let bends = change.delay.is_some() || (change.rate.is_some() && wire.serialises);
                if let Some([left, right]) = between.filter(|_| bends) {
                    // What leaves by the right interface came from the left.
                    let (interface, netem) = match index {
                        0 => (right, wire.rightward()),
                        _ => (left, wire.leftward()),
                    };
                    let line = format!("qdisc change dev {interface} root handle 1: {netem}");
                    self.change(change.at, self.wires, vec![line], vec![]);
                }
            }
        }
    }
}
