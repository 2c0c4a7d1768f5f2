//! Where what a study writes of links happens to packets.

use std::collections::BTreeSet;

use cclab_spec::{Link as Line, Place};

use crate::builder::{Builder, Reach};
use crate::layout::{Impairment, LineId, LinkId};

impl Builder<'_> {
    /// Puts the impairments of bottlenecks and access links in their places, behind those of a
    /// graph's links.
    pub(crate) fn impair(&mut self, journeys: &[Reach]) {
        let [bottleneck, back] = self.bottleneck_lines;
        for [forward, reverse] in self.layout.bottlenecks.clone() {
            self.impair_link(forward, bottleneck);
            self.impair_link(reverse, back);
        }
        let data: Vec<[LinkId; 2]> = journeys.iter().map(|ends| ends.data).collect();
        let acks: Vec<[LinkId; 2]> = journeys.iter().map(|ends| ends.acks).collect();
        self.impair_hosts(bottleneck, "", &data);
        self.impair_hosts(back, "reverse ", &acks);
        let Some([access, back]) = self.access_lines else {
            return;
        };
        if self.scenario.network.access.is_plain() {
            return;
        }
        let pairs: Vec<[[LinkId; 2]; 2]> = journeys.iter().filter_map(|ends| ends.access).collect();
        let mut done = BTreeSet::new();
        for &[forward, reverse] in pairs.iter().flatten() {
            if done.insert(forward) {
                self.impair_link(forward, access);
            }
            if done.insert(reverse) {
                self.impair_link(reverse, back);
            }
        }
        let ends: Vec<[LinkId; 2]> = pairs
            .iter()
            .map(|[sender, receiver]| [sender[0], receiver[0]])
            .collect();
        self.impair_hosts(access, "access ", &ends);
    }

    /// All that `line` does to packets on `link`, but for what happens at hosts.
    pub(crate) fn impair_link(&mut self, link: LinkId, line: LineId) {
        if !self.layout.lines[line.index()].is_plain() {
            self.layout.impairments.push(Impairment {
                link,
                line,
                place: Place::Router,
                prefix: "",
            });
        }
    }

    /// The losses, outages and changes of codepoints of `line` at hosts, where the ways from first to last link begin and
    /// end; journeys that share a host share them.
    fn impair_hosts(&mut self, line: LineId, prefix: &'static str, ways: &[[LinkId; 2]]) {
        for (place, end) in [(Place::Sender, 0), (Place::Receiver, 1)] {
            if !acts_at(&self.layout.lines[line.index()], place) {
                continue;
            }
            let links: BTreeSet<LinkId> = ways.iter().map(|way| way[end]).collect();
            let impairment = |link| Impairment {
                link,
                line,
                place,
                prefix,
            };
            self.layout
                .impairments
                .extend(links.into_iter().map(impairment));
        }
    }
}

/// Whether `line` loses or changes packets at `place`, a host.
fn acts_at(line: &Line, place: Place) -> bool {
    line.loss.iter().any(|loss| loss.at == place)
        || line.outage.iter().any(|outage| outage.at == place)
        || line.remark.iter().any(|remark| remark.at == place)
}
