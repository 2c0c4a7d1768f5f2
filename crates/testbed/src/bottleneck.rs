//! A link under study: its queues are sampled, and all that the study writes of it happens here.

use cclab_layout::{Layout, Link, LinkId};
use cclab_spec::Place;
use cclab_units::Time;

use crate::cable::{End, Front, Majors, Shaper, Wire};
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
        let wire = Wire {
            delay: link.delay,
            rate: link.rate,
            jitter: link.jitter.filter(|jitter| !jitter.reorder).map(|j| j.max),
            overtaking: link.jitter.filter(|jitter| jitter.reorder).map(|j| j.max),
            held: link.reorder,
            changes: link
                .schedule
                .iter()
                .any(|c| c.delay.is_some() || (c.rate.is_some() && self.serialises())),
            serialises: self.serialises(),
        };
        let Link { from, to, .. } = layout.link(pair[0]);
        let ends = [(from, "next"), (to, "prev")]
            .map(|(&node, interface)| End::of(namespace_of(node), interface.to_owned()));
        let between = self.cable(&ends, &wire);
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
        for ((id, end), netem) in pair.into_iter().zip(&ends).zip(netems) {
            let majors = majors(id);
            shapers.push(self.egress(end, link, netem, majors));
            if link.rate.is_some() {
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
        self.schedule(&ends, between.as_ref(), &shapers, wire);
        let cables = self.cables.entry(pair[0]).or_default();
        cables.push((Added::default(), ends));
    }

    /// Changes of rate and delay, both ways.
    fn schedule(
        &mut self,
        ends: &[End; 2],
        between: Option<&[String; 2]>,
        shapers: &[Option<Shaper>],
        mut wire: Wire,
    ) {
        let scenario = self.scenario;
        for change in &scenario.network.bottleneck.schedule {
            wire.delay = change.delay.unwrap_or(wire.delay);
            wire.rate = change.rate.or(wire.rate);
            if let (Some(_), Some(rate)) = (change.rate, wire.rate) {
                for (end, shaper) in ends.iter().zip(shapers) {
                    let lines = shaper
                        .iter()
                        .map(|shaper| shaper.line("change", rate))
                        .collect();
                    self.change(change.at, end.namespace, lines, vec![]);
                }
            }
            if let Some([left, right]) = between
                .filter(|_| change.delay.is_some() || (change.rate.is_some() && wire.serialises))
            {
                let line = |interface: &str, netem| {
                    format!("qdisc change dev {interface} root handle 1: {netem}")
                };
                let lines = vec![line(right, wire.rightward()), line(left, wire.leftward())];
                self.change(change.at, self.wires, lines, vec![]);
            }
        }
    }
}
