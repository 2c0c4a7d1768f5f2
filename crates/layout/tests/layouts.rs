//! Small networks against their layouts as drawn by hand.

use std::collections::BTreeSet;

use cclab_layout::{Journey, Layout, LinkId, LinkKind, Role};
use cclab_spec::{Overrides, Place, Scenario, Study};
use cclab_units::{Rate, Time};

/// The layout of a bottleneck of 10 Mbit/s and 20 ms, without the queue's rest, and `rest`.
fn layout(rest: &str) -> Layout {
    layout_of(&format!(
        "duration = \"10s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"20ms\"\n\
         queue = {{ limit = \"100p\" }}\n{rest}"
    ))
}

fn layout_of(text: &str) -> Layout {
    Layout::of(&scenario_of(text))
}

fn scenario_of(text: &str) -> Scenario {
    let study = Study::load(text, "study.toml").expect("a good study");
    let plan = study.plan(&Overrides::default(), &|_, _| "test".to_owned());
    plan.expect("a plan").runs[0].run.scenario.clone()
}

fn names(layout: &Layout) -> Vec<&str> {
    layout.links.iter().map(|link| link.name.as_str()).collect()
}

fn along<'a>(layout: &'a Layout, way: &[LinkId]) -> Vec<&'a str> {
    way.iter()
        .map(|&link| layout.link(link).name.as_str())
        .collect()
}

fn ends<'a>(layout: &'a Layout, journey: &Journey) -> [&'a str; 2] {
    [journey.sender, journey.receiver].map(|node| layout.node(node).name.as_str())
}

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

#[test]
fn a_dumbbell_gives_each_flow_hosts_and_access_links_of_its_own() {
    let found = layout(
        "[network.access]\nrate = \"1Gbit\"\ndelay = \"1ms\"\n\
         [[flow]]\nname = \"a\"\nrtt = \"100ms\"\n\
         [[flow]]\nname = \"b\"\ndirection = \"reverse\"\nrtt = \"60ms\"\n",
    );
    let nodes: Vec<&str> = found.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(
        nodes,
        ["r1", "r2", "a.left", "a.right", "b.left", "b.right"]
    );
    assert_eq!(
        names(&found),
        [
            "bottleneck",
            "bottleneck.reverse",
            "a.left.access",
            "a.left.access.reverse",
            "a.right.access",
            "a.right.access.reverse",
            "b.left.access",
            "b.left.access.reverse",
            "b.right.access",
            "b.right.access.reverse",
        ]
    );
    let [a, b] = &found.flows[..] else {
        panic!("two flows");
    };
    let route = ["a.left.access", "bottleneck", "a.right.access"];
    assert_eq!(along(&found, &a.data), route);
    assert_eq!(
        along(&found, &b.data),
        [
            "b.right.access.reverse",
            "bottleneck.reverse",
            "b.left.access.reverse"
        ]
    );
    assert_eq!(
        along(&found, &b.acks),
        ["b.left.access", "bottleneck", "b.right.access"]
    );
    assert_eq!(ends(&found, a), ["a.left", "a.right"]);
    assert_eq!(ends(&found, b), ["b.right", "b.left"]);
    // The path's own is 2 (1 + 20 + 1) ms; the rest is added half each way, at the sender.
    assert_eq!([found.base_rtt(a), found.base_rtt(b)], [ms(100), ms(60)]);
    assert_eq!(found.delay(a.data[0]), ms(1 + 28));
    assert_eq!(found.delay(a.data[2]), ms(1));
    assert_eq!(found.delay(b.data[0]), ms(1 + 8));
    assert_eq!(found.rate(a.data[0]), Rate::from_bps(1_000_000_000));
    // The link that carries b's data out of its sender is the way back of its access link.
    let [sender, receiver] = b.access.expect("access links");
    assert_eq!(
        along(&found, &sender),
        ["b.right.access.reverse", "b.right.access"]
    );
    assert_eq!(
        along(&found, &receiver),
        ["b.left.access.reverse", "b.left.access"]
    );
    assert_eq!(b.sides(), [&b.acks[..], &b.data[..]]);
}

#[test]
fn a_parking_lot_numbers_its_bottlenecks_and_routers() {
    let found = layout(
        "[network]\ntopology = \"parking-lot\"\nbottlenecks = 3\nrouter_packet_rate = 1000\n\
         [[flow]]\nname = \"long\"\n\
         [[flow]]\nname = \"short\"\ncrosses = [2, 3]\ndirection = \"reverse\"\n",
    );
    assert_eq!(
        names(&found)[..10],
        [
            "bottleneck",
            "bottleneck.reverse",
            "bottleneck2",
            "bottleneck2.reverse",
            "bottleneck3",
            "bottleneck3.reverse",
            "r1",
            "r2",
            "r3",
            "r4",
        ]
    );
    let [long, short] = &found.flows[..] else {
        panic!("two flows");
    };
    // Every router on the way is passed once.
    assert_eq!(
        along(&found, &long.data),
        [
            "long.left.access",
            "r1",
            "bottleneck",
            "r2",
            "bottleneck2",
            "r3",
            "bottleneck3",
            "r4",
            "long.right.access"
        ]
    );
    assert_eq!(
        along(&found, &short.data),
        [
            "short.right.access.reverse",
            "r4",
            "bottleneck3.reverse",
            "r3",
            "bottleneck2.reverse",
            "r2",
            "short.left.access.reverse"
        ]
    );
    assert_eq!(
        along(&found, &short.acks),
        [
            "short.left.access",
            "r2",
            "bottleneck2",
            "r3",
            "bottleneck3",
            "r4",
            "short.right.access"
        ]
    );
    assert_eq!(
        [found.base_rtt(long), found.base_rtt(short)],
        [ms(120), ms(80)]
    );
    let kind = found.link(LinkId(7)).kind;
    let is_processor = |kind| {
        matches!(
            kind,
            LinkKind::Processor {
                packet_rate: 1000,
                ..
            }
        )
    };
    assert!(is_processor(kind), "{kind:?}");
    assert_eq!(found.nodes[1].processor, Some(LinkId(7)));
}

#[test]
fn in_a_chain_hosts_are_shared_and_what_a_base_rtt_lacks_is_a_flows_own() {
    let found = layout(
        "[network]\ntopology = \"chain\"\n[[flow]]\nname = \"a\"\n\
         [[flow]]\nname = \"b\"\nrtt = \"50ms\"\npacket_rate = 500\n",
    );
    let [a, b] = &found.flows[..] else {
        panic!("two flows");
    };
    assert_eq!(
        along(&found, &a.data),
        ["source.access", "bottleneck", "sink.access"]
    );
    assert_eq!(
        along(&found, &b.data),
        [
            "b.sender",
            "b.delay",
            "source.access",
            "bottleneck",
            "sink.access",
            "b.receiver"
        ]
    );
    assert_eq!(
        along(&found, &b.acks),
        [
            "b.receiver",
            "sink.access.reverse",
            "bottleneck.reverse",
            "source.access.reverse",
            "b.delay.reverse",
            "b.sender"
        ]
    );
    assert_eq!([found.base_rtt(a), found.base_rtt(b)], [ms(40), ms(50)]);
    assert_eq!((a.sender, a.receiver), (b.sender, b.receiver));
    assert_eq!(found.node(a.sender).role, Role::SharedHost);
}

#[test]
fn a_graph_begins_with_the_link_under_study_and_routes_over_the_least_delay() {
    let found = layout_of(
        "duration = \"10s\"\n[network]\ntopology = \"graph\"\n\
         [[network.link]]\nname = \"in\"\nfrom = \"a\"\nto = \"r\"\ndelay = \"1ms\"\n\
         [[network.link]]\nname = \"there\"\nfrom = \"r\"\nto = \"b\"\nrate = \"10Mbit\"\n\
         delay = \"5ms\"\nqueue = { limit = \"100p\" }\nbottleneck = true\n\
         [[network.link]]\nname = \"sat\"\nfrom = \"b\"\nto = \"r\"\ndelay = \"2ms\"\n\
         one_way = true\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n",
    );
    assert_eq!(
        names(&found),
        ["there", "there.reverse", "in", "in.reverse", "sat"]
    );
    let nodes: Vec<&str> = found.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["a", "r", "b"]);
    let flow = &found.flows[0];
    assert_eq!(along(&found, &flow.data), ["in", "there"]);
    assert_eq!(along(&found, &flow.acks), ["sat", "in.reverse"]);
    assert_eq!(found.base_rtt(flow), ms(1 + 5 + 2 + 1));
    assert_eq!(found.link(LinkId(4)).back, None);
    assert_eq!(flow.access, None);
}

/// The impairments of `layout`: place, link, and prefix of the dice.
fn places(layout: &Layout) -> Vec<(Place, &str, &str)> {
    let place = |impairment: &cclab_layout::Impairment| {
        let link = layout.link(impairment.link).name.as_str();
        (impairment.place, link, impairment.prefix)
    };
    layout.impairments.iter().map(place).collect()
}

#[test]
fn losses_act_at_the_link_and_where_data_leave_and_reach_hosts() {
    let found = layout(
        "loss = [\"1%\", { rate = \"2%\", at = \"sender\" }, { rate = \"3%\", at = \"receiver\" }]\n\
         [network.access]\nloss = \"1%\"\n\
         [[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\ndirection = \"reverse\"\n",
    );
    assert_eq!(
        places(&found),
        [
            (Place::Router, "bottleneck", ""),
            (Place::Sender, "a.left.access", ""),
            (Place::Sender, "b.right.access.reverse", ""),
            (Place::Receiver, "a.right.access", ""),
            (Place::Receiver, "b.left.access.reverse", ""),
            (Place::Router, "a.left.access", ""),
            (Place::Router, "a.right.access", ""),
            (Place::Router, "b.right.access.reverse", ""),
            (Place::Router, "b.left.access.reverse", ""),
        ]
    );
}

/// Processors of nodes and what makes up a base RTT are no links that anybody has drawn.
fn drawn(layout: &Layout) -> BTreeSet<&str> {
    let lines = layout.links.iter();
    let lines = lines.filter(|link| matches!(link.kind, LinkKind::Line { .. }));
    lines.map(|link| link.name.as_str()).collect()
}

#[test]
fn the_links_of_every_topology_are_points_of_capture() {
    let rest = "[[flow]]\nname = \"a\"\nrtt = \"90ms\"\n[[flow]]\nname = \"b\"\ncount = 2\n\
                [[traffic]]\nkind = \"random\"\n[[probe]]\n";
    let bottleneck = "[network.bottleneck]\nrate = \"10Mbit\"\nqueue = { limit = \"100p\" }\n";
    let mut studies: Vec<String> = ["dumbbell", "chain", "parking-lot"]
        .map(|topology| {
            format!(
                "duration = \"1s\"\n[network]\ntopology = \"{topology}\"\n\
                 router_packet_rate = 9000\n{bottleneck}{rest}"
            )
        })
        .to_vec();
    studies.push(
        "duration = \"1s\"\n[network]\ntopology = \"graph\"\n\
         [[network.link]]\nfrom = \"a\"\nto = \"r\"\n\
         [[network.link]]\nname = \"sat\"\nfrom = \"b\"\nto = \"r\"\none_way = true\n\
         [[network.link]]\nname = \"there\"\nfrom = \"r\"\nto = \"b\"\nrate = \"10Mbit\"\n\
         bottleneck = true\none_way = true\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nrtt = \"30ms\"\n"
            .to_owned(),
    );
    for text in studies {
        let scenario = scenario_of(&text);
        let layout = Layout::of(&scenario);
        let points = scenario.points();
        let hosts = ["sender", "receiver"];
        let others = points.iter().map(String::as_str).filter(|point| {
            let end = point.rsplit_once('.').map_or("", |(_, end)| end);
            !hosts.contains(&end)
        });
        let mut links: BTreeSet<&str> = others.collect();
        assert!(links.contains("bottleneck"));
        if scenario.network.graph.is_some() {
            links.remove("bottleneck"); // another name of the link under study
        }
        assert_eq!(links, drawn(&layout), "{text}");
        let unique: BTreeSet<&String> = points.iter().collect();
        assert_eq!(unique.len(), points.len());
    }
}

/// The study of a fat tree of switches of four ports, in which each host has a flow to each of another
/// pod: 16 hosts, 48 links and 4 core switches.
fn fat_tree(routing: &str) -> String {
    let mut text =
        format!("duration = \"1s\"\n[network]\ntopology = \"graph\"\nrouting = \"{routing}\"\n");
    let mut link = |from: String, to: String, extra: &str| {
        text += &format!(
            "[[network.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1Gbit\"\n\
             delay = \"10us\"\n{extra}"
        );
    };
    let twice = |[a, b]: [usize; 2]| (0..a).flat_map(move |x| (0..b).map(move |y| [x, y]));
    for [pod, switch] in twice([4, 2]) {
        for port in 0..2 {
            let first = pod + switch + port == 0;
            let edge = format!("p{pod}e{switch}");
            link(
                format!("h{pod}{switch}{port}"),
                edge.clone(),
                if first { "bottleneck = true\n" } else { "" },
            );
            link(edge, format!("p{pod}u{port}"), "");
            link(
                format!("p{pod}u{switch}"),
                format!("core{switch}{port}"),
                "",
            );
        }
    }
    let hosts: Vec<String> = twice([4, 4])
        .map(|[pod, host]| format!("h{pod}{}{}", host / 2, host % 2))
        .collect();
    for from in &hosts {
        for to in hosts.iter().filter(|to| to[..2] != from[..2]) {
            text += &format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
        }
    }
    text
}

#[test]
fn flows_of_a_fat_tree_use_every_core_switch_if_ways_of_equal_cost_are_shared() {
    let cores = |routing: &str| -> Vec<usize> {
        let found = layout_of(&fat_tree(routing));
        assert_eq!(found.flows.len(), 16 * 12);
        let mut crossed = std::collections::BTreeMap::new();
        for journey in &found.flows {
            assert_eq!(found.base_rtt(journey), Time::from_micros(120));
            for way in [&journey.data, &journey.acks] {
                // Up to the core and down again, and nothing else is as short.
                assert_eq!(way.len(), 6);
                let name = &found.node(found.link(way[2]).to).name;
                assert!(name.starts_with("core"), "{name}");
                *crossed.entry(name.clone()).or_insert(0) += 1;
            }
        }
        crossed.into_values().collect()
    };
    assert_eq!(cores("shortest"), [2 * 16 * 12]);
    let shared = cores("ecmp");
    // 384 ways over four: 96 each, with a standard deviation of 8.5.
    assert_eq!(shared.len(), 4);
    assert!(
        shared.iter().all(|count| (55..=137).contains(count)),
        "{shared:?}"
    );
}
