//! What a kernel is told of probes, and of ways back that differ.

use std::net::Ipv4Addr;

use cclab_spec::{Overrides, ProbeKind, Scenario, Study};
use cclab_testbed::{Orders, Target, orders, unsupported};
use cclab_units::Time;

const BOTTLENECK: &str = "duration = \"10s\"\n[network.bottleneck]\nrate = \"10Mbit\"\n\
                          delay = \"20ms\"\nqueue = { limit = \"100p\" }\n";

fn scenario(rest: &str) -> Scenario {
    let study = Study::load(&format!("{BOTTLENECK}{rest}"), "study.toml").expect("a good study");
    let plan = study.plan(&Overrides::default(), &|_, _| "test".to_owned());
    plan.expect("a plan").scenarios.swap_remove(0).scenario
}

fn told(rest: &str) -> Orders {
    let scenario = scenario(rest);
    assert_eq!(unsupported(&scenario, Target::Guest), [], "{rest}");
    orders(&scenario, 1, Target::Guest)
}

/// The lines of `tc` and `ip` of the namespace called `name`.
fn lines<'a>(orders: &'a Orders, name: &str) -> Vec<&'a str> {
    let namespace = orders.namespaces.iter().find(|one| one.name == name);
    let namespace = namespace.unwrap_or_else(|| panic!("no namespace {name}"));
    let all = namespace.ip.iter().chain(&namespace.tc);
    all.map(String::as_str).collect()
}

#[test]
fn a_probe_has_hosts_addresses_and_routes_as_a_flow_has() {
    let told = told(
        "[[flow]]\n[[probe]]\nname = \"p\"\nkind = \"udp\"\ninterval = \"50ms\"\npayload = \"100B\"\n\
         rtt = \"60ms\"\nstart = \"1s\"\ndirection = \"reverse\"\n",
    );
    assert_eq!(told.flows.len(), 1);
    let [probe] = &told.probes[..] else {
        panic!("{:?}", told.probes)
    };
    assert_eq!((probe.kind, probe.payload), (ProbeKind::Udp, 100));
    assert_eq!(
        (probe.interval, probe.start, probe.stop),
        (
            Time::from_millis(50),
            Time::from_secs(1),
            Time::from_secs(10)
        )
    );
    // Requests that go back come from the right.
    assert_eq!(told.namespaces[probe.sender].name, "p.right");
    assert_eq!(told.namespaces[probe.receiver].name, "p.left");
    assert_eq!(probe.source, Ipv4Addr::new(10, 0, 0, 2));
    assert_eq!(probe.destination, Ipv4Addr::new(10, 1, 0, 2));
    let route = |line: &&str| line.starts_with("route add 10.1.0.2/32 dev eth0");
    assert!(lines(&told, "p.right").iter().any(route));
    // 20 ms more than the path has, half each way, on the wire beside the sender.
    let wires = lines(&told, "wires");
    assert!(
        wires
            .iter()
            .any(|line| line.ends_with("netem limit 1000000 delay 10000us"))
    );
}

#[test]
fn a_probe_changes_no_order_of_others() {
    let rest = "[[flow]]\nmss = \"536B\"\nrtt = \"100ms\"\n[[flow]]\ndirection = \"reverse\"\n";
    let without = told(rest);
    let with = told(&format!("{rest}[[probe]]\npayload = \"1000B\"\n"));
    assert_eq!(without.flows, with.flows);
    for namespace in without
        .namespaces
        .iter()
        .filter(|one| one.name.starts_with("flow"))
    {
        let same = with
            .namespaces
            .iter()
            .find(|one| one.name == namespace.name);
        assert_eq!(same, Some(namespace));
    }
    let queue = |orders: &Orders| {
        let all = lines(orders, "r1").into_iter();
        all.filter(|line| line.starts_with("qdisc") && line.contains("dev next"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(queue(&without), queue(&with));
}

#[test]
fn probes_share_the_hosts_of_a_chain() {
    let rest = "[network]\ntopology = \"chain\"\n[[flow]]\nrwnd = \"64kB\"\n[[probe]]\n[[probe]]\n";
    let told = told(rest);
    let [first, second] = &told.probes[..] else {
        panic!("{:?}", told.probes)
    };
    assert_eq!(
        (first.sender, first.receiver),
        (told.flows[0].sender, told.flows[0].receiver)
    );
    assert_eq!(first.sender, second.sender);
    assert_ne!(first.source, second.source);
}

#[test]
fn a_way_back_has_its_own_shaper_queue_and_wire() {
    let told = told(
        "reverse = { rate = \"2Mbit\", delay = \"5ms\", queue = { kind = \"codel\", limit = \"50p\" } }\n\
         schedule = { at = \"3s\", rate = \"5Mbit\" }\n[[flow]]\n",
    );
    let has = |name: &str, start: &str, words: &str| {
        let found = lines(&told, name);
        let fits = |line: &&&str| line.starts_with(start) && line.contains(words);
        assert!(
            found.iter().any(|line| fits(&line)),
            "{start} ... {words} of {found:#?}"
        );
    };
    has("r1", "qdisc add dev next", "tbf rate 10000000bit");
    has("r2", "qdisc add dev prev", "tbf rate 2000000bit");
    has("r2", "qdisc add dev prev", "codel limit 50");
    // What leaves by the right interface came from the left.
    has(
        "wires",
        "qdisc add dev r0",
        "delay 20000us rate 10000000bit",
    );
    has("wires", "qdisc add dev l0", "delay 5000us rate 2000000bit");
    let changes: Vec<&str> = told
        .changes
        .iter()
        .flat_map(|c| &c.tc)
        .map(String::as_str)
        .collect();
    assert_eq!(changes.len(), 2, "{changes:#?}");
    assert!(
        changes.iter().all(|line| line.contains("5000000bit")),
        "{changes:#?}"
    );
}

#[test]
fn a_way_back_that_disturbs_packets_is_refused() {
    let scenario = scenario("reverse = { rate = \"2Mbit\", loss = \"1%\" }\n[[flow]]\n");
    let refused = unsupported(&scenario, Target::Guest);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].path, "network.bottleneck.reverse");
}
