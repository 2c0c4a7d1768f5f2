//! Captures at links: what a point sees is what its link counts, and seeing it changes nothing.

mod common;

use cclab_packet::Packet;
use cclab_spec::{Overrides, Scenario, Study};
use cclab_trace::schema::LinkSummary;
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use common::{capture_everywhere, run, run_with};

/// Every packet of every capture point.
#[derive(Default)]
struct Packets(Vec<(u32, Time, Packet)>);

impl Probe for Packets {
    fn looks_at_queues(&self) -> bool {
        false
    }
    fn wants_packets(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        if let Event::Packet(point, packet) = event {
            self.0.push((point, now, *packet));
        }
    }
}

impl Packets {
    fn of(scenario: &Scenario) -> Packets {
        let mut packets = Packets::default();
        run_with(scenario, 1, &mut packets);
        packets
    }

    /// When packets passed the point called `name` of `scenario`, and which.
    fn at<'a>(
        &'a self,
        scenario: &Scenario,
        name: &str,
    ) -> impl Iterator<Item = (Time, Packet)> + use<'a> {
        let points = &scenario.trace.capture;
        let wanted = points.iter().position(|point| point == name);
        let wanted = wanted.unwrap_or_else(|| panic!("{name} is none of {points:?}")) as u32;
        let seen = self.0.iter().filter(move |(point, ..)| *point == wanted);
        seen.map(|&(_, at, packet)| (at, packet))
    }
}

fn scenario(text: &str) -> Scenario {
    let study = Study::load(text, "x.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let plan = study.plan(&Overrides::default(), &|_, _| "test".to_owned());
    let plan = plan.unwrap_or_else(|error| panic!("{error}\n{text}"));
    plan.runs[0].run.scenario.clone()
}

/// A study of each topology: two flows, cross traffic of both transports and a probe over links that
/// lose, copy and corrupt packets.
fn studies() -> [(&'static str, String); 4] {
    let rest = |place: &str, other: &str| {
        format!(
            "[[flow]]\nname = \"a\"\n{place}\n[[flow]]\nname = \"b\"\ncc = \"reno\"\ntransfer = \
             \"80kB\"\n{other}\n[[traffic]]\nname = \"transfers\"\nkind = \"poisson\"\nload = 0.1\nsizes = {{ kind = \"pareto\", mean = \"20kB\", shape = 1.5 }}\n{place}\n\
             [[traffic]]\nname = \"cbr\"\nkind = \"constant-rate\"\nrate = \"300kbit\"\n{other}\n\
             [[probe]]\nname = \"p\"\ninterval = \"20ms\"\n{place}\n"
        )
    };
    let link = "rate = \"4Mbit\"\ndelay = \"5ms\"\nloss = \"1%\"\nduplicate = \"1%\"\ncorrupt = \"1%\"\n\
                queue = { limit = \"10p\" }\n";
    let two_sided = |topology: &str, more: &str| {
        format!(
            "duration = \"3s\"\n[network]\ntopology = \"{topology}\"\n{more}[network.bottleneck]\n{link}\
             [network.access]\nrate = \"20Mbit\"\ndelay = \"1ms\"\n{}",
            rest("rtt = \"60ms\"", "direction = \"reverse\"")
        )
    };
    let edge = |from: &str, to: &str, more: &str| {
        format!("[[network.link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
    };
    let graph = [
        edge(
            "s",
            "m",
            "name = \"first\"\nrate = \"50Mbit\"\ndelay = \"1ms\"",
        ),
        edge(
            "m",
            "n",
            &format!("name = \"wan\"\nbottleneck = true\n{link}"),
        ),
        edge("n", "d", "delay = \"2ms\""),
        edge(
            "d",
            "m",
            "name = \"short\"\none_way = true\ndelay = \"1ms\"",
        ),
    ];
    let graph = format!(
        "duration = \"3s\"\n[network]\ntopology = \"graph\"\n{}{}",
        graph.concat(),
        rest("from = \"s\"\nto = \"d\"", "from = \"d\"\nto = \"s\"")
    );
    [
        ("dumbbell", two_sided("dumbbell", "")),
        ("chain", two_sided("chain", "")),
        ("parking-lot", two_sided("parking-lot", "bottlenecks = 3\n")),
        ("graph", graph),
    ]
}

/// What came off the wire of `link`.
fn arrived(link: &LinkSummary) -> u64 {
    link.delivered + link.corrupt_drops
}

#[test]
fn a_capture_at_a_link_has_what_the_link_counts() {
    for (topology, text) in studies() {
        let mut scenario = scenario(&text);
        capture_everywhere(&mut scenario);
        let mut packets = Packets::default();
        let summary = run_with(&scenario, 1, &mut packets);
        let mut crossed = 0;
        for link in &summary.links {
            if !scenario.trace.capture.contains(&link.name) {
                continue; // what makes up a base RTT
            }
            let other = match link.name.strip_suffix(".reverse") {
                Some(there) => there.to_owned(),
                None => format!("{}.reverse", link.name),
            };
            let back = summary.links.iter().find(|one| one.name == other);
            let seen = packets.at(&scenario, &link.name).count() as u64;
            let left = seen - back.map_or(0, arrived);
            let least = arrived(link);
            assert!(
                (least..=least + link.in_flight).contains(&left),
                "{topology}, {}: {left} left, {least} arrived, {} in flight",
                link.name,
                link.in_flight
            );
            crossed += u64::from(left > 0);
        }
        assert!(crossed >= 5, "{topology}: packets on {crossed} links");
    }
}

#[test]
fn what_is_captured_at_links_changes_nothing() {
    for (topology, text) in studies() {
        let mut scenario = scenario(&text);
        let mut unseen = run(&scenario, 1);
        capture_everywhere(&mut scenario);
        let mut seen = run_with(&scenario, 1, &mut Packets::default());
        // Looking on is an event of the simulator's.
        (unseen.events, seen.events) = (0, 0);
        assert_eq!(unseen, seen, "{topology}");
    }
}

/// A link that never makes packets wait takes them ahead of their time; its captures do not.
#[test]
fn a_capture_has_packets_when_they_begin_to_be_transmitted() {
    let text = "duration = \"1s\"\n[network.bottleneck]\nrate = \"8Mbit\"\ndelay = \"5ms\"\n\
                queue = { limit = \"100p\" }\n[network.access]\nrate = \"80Mbit\"\ndelay = \"1ms\"\n\
                [[flow]]\nname = \"a\"\nstart = \"0s\"\n[trace]\ncapture = [\"a.sender\", \"a.left.access\", \
                \"a.left.access.reverse\", \"bottleneck\", \"bottleneck.reverse\", \
                \"a.right.access\", \"a.right.access.reverse\", \"a.receiver\"]\n";
    let scenario = scenario(text);
    let packets = Packets::of(&scenario);
    // A full packet has 1514 bytes, which the access link sends in 151.4 us; a SYN has 74.
    let way = |first: fn(&Packet) -> bool| -> Vec<u64> {
        let at = |point: &String| {
            let mut seen = packets.at(&scenario, point);
            let found = seen.find(|(_, packet)| first(packet));
            found.expect("it passes").0.as_nanos()
        };
        scenario.trace.capture.iter().map(at).collect()
    };
    let syn = way(|packet| !packet.backward);
    // At the sender and its interface, over the link to the router, which sends it on, and so on.
    assert_eq!(
        syn,
        [
            0, 0, 1_007_400, 1_007_400, 6_081_400, 6_081_400, 7_088_800, 7_088_800
        ]
    );
    let syn_ack: Vec<u64> = way(|packet| packet.backward);
    let back: Vec<u64> = syn_ack.iter().rev().map(|at| at - 7_088_800).collect();
    assert_eq!(back, syn);
}

#[test]
fn the_link_under_study_of_a_graph_has_two_names() {
    let [.., (_, text)] = studies();
    let scenario = scenario(&format!(
        "{text}[trace]\ncapture = [\"wan\", \"bottleneck\", \"wan\"]\n"
    ));
    assert_eq!(scenario.trace.capture, ["wan", "bottleneck"]);
    let packets = Packets::of(&scenario);
    let [wan, bottleneck] = ["wan", "bottleneck"].map(|point| {
        packets
            .at(&scenario, point)
            .collect::<Vec<(Time, Packet)>>()
    });
    assert!(wan.len() > 500, "{}", wan.len());
    assert_eq!(wan, bottleneck);
}

#[test]
fn events_of_queues_are_those_of_bottlenecks_wherever_packets_are_captured() {
    let [(_, text), ..] = studies();
    let mut scenario = scenario(&text);
    let of_queues = |scenario: &Scenario| {
        let mut log = common::log::Log::of(scenario, 1);
        log.events.retain(|(_, event)| event.contains("QueueEvent"));
        log.events
    };
    let before = of_queues(&scenario);
    assert!(before.len() > 500);
    capture_everywhere(&mut scenario);
    assert!(before == of_queues(&scenario));
}
