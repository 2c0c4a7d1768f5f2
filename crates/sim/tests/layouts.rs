//! Laws of layouts, over the networks of studies that an author writes from random bytes.

use std::collections::BTreeSet;

use cclab_layout::{Journey, Layout, LinkId, LinkKind, NodeId};
use cclab_sim::fuzzing::{Author, first_run};
use cclab_units::{Stream, Time};

const STUDIES: u64 = 300;

/// Whether `way` leads from one node to another, link by link.
fn connects(layout: &Layout, way: &[LinkId], [from, to]: [NodeId; 2]) -> bool {
    let step = |at: Option<NodeId>, &id: &LinkId| {
        let link = layout.link(id);
        (at == Some(link.from)).then_some(link.to)
    };
    way.iter().fold(Some(from), step) == Some(to)
}

/// What the study writes of the links of `journey`, and what was added for it each way.
fn propagation_as_written(layout: &Layout, journey: &Journey) -> Time {
    let ways = journey.data.iter().chain(&journey.acks);
    let written: Time = ways
        .filter_map(|&link| Some(layout.line(link)?.delay))
        .sum();
    written + journey.extra * 2
}

#[test]
fn ways_connect_their_ends_and_base_rtts_are_what_lies_on_them() {
    let mut laid = 0;
    for seed in 0..STUDIES {
        let mut dice = Stream::new(seed, "layouts");
        let data: Vec<u8> = (0..150).flat_map(|_| dice.bits().to_le_bytes()).collect();
        let text = Author::new(&data).study();
        let Ok((scenario, _)) = first_run(&text) else {
            continue;
        };
        let layout = Layout::of(&scenario);
        laid += 1;
        assert_eq!(layout.flows.len(), scenario.flows.len(), "{text}");
        assert_eq!(layout.traffic.len(), scenario.traffic.len(), "{text}");
        assert_eq!(layout.probes.len(), scenario.probes.len(), "{text}");
        let names: BTreeSet<&str> = layout.links.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names.len(), layout.links.len(), "{text}");
        for (id, link) in layout.ids() {
            let Some(back) = link.back else { continue };
            let other = layout.link(back);
            assert_eq!(other.back, Some(id), "{text}");
            assert_eq!((other.from, other.to), (link.to, link.from), "{text}");
        }
        for (index, pair) in (0..).zip(&layout.bottlenecks) {
            assert_eq!(*pair, [LinkId(2 * index), LinkId(2 * index + 1)], "{text}");
        }
        for journey in layout.journeys() {
            let ends = [journey.sender, journey.receiver];
            assert!(connects(&layout, &journey.data, ends), "{text}");
            let [sender, receiver] = ends;
            assert!(
                connects(&layout, &journey.acks, [receiver, sender]),
                "{text}"
            );
            let written = propagation_as_written(&layout, journey);
            assert_eq!(layout.base_rtt(journey), written, "{text}");
        }
        for (id, link) in layout.ids() {
            let inside = !matches!(link.kind, LinkKind::Line { .. });
            assert_eq!(link.from == link.to, inside, "{} of\n{text}", link.name);
            assert!(link.from.index() < layout.nodes.len(), "{id:?} of\n{text}");
        }
    }
    assert!(laid >= STUDIES / 3, "{laid} of {STUDIES} were laid out");
}
