//! Orders of whole studies: their text, what holds for all of them, and what is refused.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use cclab_spec::{Overrides, Pace, Scenario, Study};
use cclab_testbed::orders::{Orders, Work};
use cclab_testbed::{Target, needs, orders, unsupported};
use cclab_units::Time;

const BOTTLENECK: &str = "duration = \"10s\"\n[network.bottleneck]\nrate = \"10Mbit\"\n\
    delay = \"20ms\"\nqueue = { kind = \"droptail\", limit = \"100p\" }\n";

fn scenarios(text: &str) -> Vec<Scenario> {
    scenarios_of(text, "study.toml")
}

/// The scenarios of a study in `file`, beside which are the files that it names.
fn scenarios_of(text: &str, file: &str) -> Vec<Scenario> {
    let study = Study::load(text, file).expect("a good study");
    let plan = study
        .plan(&Overrides::default(), &|_, _| "test".to_owned())
        .expect("a plan");
    plan.scenarios
        .into_iter()
        .map(|point| point.scenario)
        .collect()
}

/// The first scenario of the study that `rest` makes of a bottleneck.
fn scenario(rest: &str) -> Scenario {
    scenarios(&format!("{BOTTLENECK}{rest}")).swap_remove(0)
}

fn refusals(rest: &str, target: Target) -> Vec<String> {
    unsupported(&scenario(rest), target)
        .into_iter()
        .map(|refused| format!("{}: {}", refused.path, refused.what))
        .collect()
}

fn in_guest(scenario: &Scenario) -> Orders {
    assert_eq!(unsupported(scenario, Target::Guest), []);
    orders(scenario, 1, Target::Guest)
}

fn studies() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = |folder: PathBuf| {
        let entries = fs::read_dir(folder).expect("a folder of the repository");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect::<Vec<_>>()
    };
    let folders = files(root.join("studies"))
        .into_iter()
        .filter(|path| path.is_dir());
    let studies = folders.flat_map(files);
    let mut all: Vec<PathBuf> = files(root.join("examples"))
        .into_iter()
        .chain(studies)
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        // It says what the studies of its folder are to show.
        .filter(|path| !path.ends_with("reproduction.toml"))
        .collect();
    all.sort();
    all
}

#[test]
fn every_study_of_the_repository_gets_orders_or_reasons() {
    let (mut ordered, mut refused) = (0, 0);
    for path in studies() {
        let text = fs::read_to_string(&path).expect("a study");
        for scenario in scenarios_of(&text, &path.display().to_string()) {
            for target in [Target::Guest, Target::Host] {
                let reasons = unsupported(&scenario, target);
                if reasons.is_empty() {
                    is_sound(&scenario, &orders(&scenario, 1, target));
                    ordered += 1;
                } else {
                    assert!(
                        reasons
                            .iter()
                            .all(|r| !r.path.is_empty() && !r.what.is_empty())
                    );
                    refused += 1;
                }
            }
        }
    }
    // The quickstart and the forced drop run on a kernel, studies of other stacks do not.
    assert!(
        ordered >= 6 && refused >= 384,
        "{ordered} ordered, {refused} refused"
    );
}

const NETWORKS: &[&str] = &[
    "[[flow]]\ncount = 3\nrtt = \"100ms\"\n",
    "loss = [\"1%\", { rate = \"2%\", at = \"sender\" }, { rate = \"3%\", at = \"receiver\" }]\n\
     outage = [{ start = \"0s\", duration = \"1s\", at = \"receiver\" }, { start = \"2s\", duration = \"1s\" }]\n\
     jitter = \"1ms\"\nschedule = { at = \"5s\", rate = \"1Mbit\", delay = \"10ms\", loss = \"5%\" }\n\
     [network.access]\nrate = \"1Gbit\"\n[[flow]]\ndelay_at = \"sender\"\nrtt = \"100ms\"\n\
     [[flow]]\ndirection = \"reverse\"\nrtt = \"80ms\"\nrwnd = \"64kB\"\nmss = \"8948B\"\n",
    "[network]\ntopology = \"chain\"\n[[flow]]\ncount = 2\n[[flow]]\nrtt = \"90ms\"\n\
     [[flow]]\nrtt = \"90ms\"\ndirection = \"reverse\"\n",
    "[network]\ntopology = \"parking-lot\"\nbottlenecks = 4\n[[flow]]\n[[flow]]\ncrosses = [2, 3]\n\
     [[flow]]\ncrosses = [4, 4]\ndirection = \"reverse\"\n",
];

#[test]
fn orders_of_every_topology_are_sound() {
    for rest in NETWORKS {
        let scenario = scenario(rest);
        is_sound(&scenario, &in_guest(&scenario));
    }
}

/// What the agent relies on.
fn is_sound(scenario: &Scenario, orders: &Orders) {
    let names: Vec<&str> = orders.namespaces.iter().map(|n| n.name.as_str()).collect();
    let unique: BTreeSet<&&str> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "names of namespaces");

    // Every interface is made once, in a namespace there is, and brought up there.
    let mut made = BTreeSet::new();
    for line in &orders.links {
        let words: Vec<&str> = line.split(' ').collect();
        for at in words
            .iter()
            .enumerate()
            .filter(|(_, word)| **word == "netns")
            .map(|(i, _)| i)
        {
            let end = (words[at + 1].to_owned(), words[at - 1].to_owned());
            assert!(
                names.contains(&end.0.as_str()) && end.1.len() <= 15,
                "{line}"
            );
            assert!(made.insert(end), "{line}");
        }
    }
    let listed: BTreeSet<(String, String)> = orders
        .namespaces
        .iter()
        .flat_map(|n| n.interfaces.iter().map(|i| (n.name.clone(), i.clone())))
        .collect();
    assert_eq!(made, listed);
    for namespace in &orders.namespaces {
        for interface in &namespace.interfaces {
            assert!(namespace.ip.contains(&format!("link set {interface} up")));
        }
    }

    let handles: BTreeSet<u32> = orders.queues.iter().map(|queue| queue.handle).collect();
    assert_eq!(handles.len(), orders.queues.len(), "handles");
    let links: Vec<u32> = orders.queues.iter().map(|queue| queue.link).collect();
    assert_eq!(
        links,
        (0..2 * scenario.network.bottlenecks).collect::<Vec<_>>()
    );
    for queue in &orders.queues {
        let tc = &orders.namespaces[queue.namespace].tc;
        let root = format!(
            "dev {} root handle {:x}: ",
            queue.interface,
            queue.handle >> 16
        );
        let child = format!(" handle {:x}: ", queue.discipline >> 16);
        assert_eq!(
            tc.iter().filter(|line| line.contains(&root)).count(),
            1,
            "{root}"
        );
        assert_eq!(
            tc.iter().filter(|line| line.contains(&child)).count(),
            1,
            "{child}"
        );
    }

    for flow in &orders.flows {
        for (from, to) in [
            (flow.source, flow.destination),
            (flow.destination, flow.source),
        ] {
            routed(orders, from.to_string(), to.to_string());
        }
    }
    assert!(
        orders.changes.is_sorted_by_key(|change| change.at),
        "changes in order"
    );
    for line in orders
        .namespaces
        .iter()
        .flat_map(|n| n.tc.iter().chain(&n.ip))
    {
        assert!(!line.contains("  ") && line.trim() == line, "{line:?}");
    }
}

/// Follows the routes from the host with the address `from` to the one with `to`.
fn routed(orders: &Orders, from: String, to: String) {
    let has = |namespace: usize, address: &str| {
        let line = format!("addr add {address}/32 ");
        orders.namespaces[namespace]
            .ip
            .iter()
            .any(|l| l.starts_with(&line))
    };
    let mut at = (0..orders.namespaces.len())
        .find(|&n| has(n, &from))
        .expect("a source");
    let mut hops = 0;
    while !has(at, &to) {
        let prefix = format!("route add {to}/32 dev ");
        let namespace = &orders.namespaces[at];
        let mut routes = namespace
            .ip
            .iter()
            .filter_map(|line| line.strip_prefix(&prefix));
        let route = routes
            .next()
            .unwrap_or_else(|| panic!("no route to {to} in {}", namespace.name));
        assert!(
            routes.next().is_none(),
            "two routes to {to} in {}",
            namespace.name
        );
        let interface = route.split(' ').next().expect("an interface");
        at = neighbour(orders, &namespace.name, interface);
        hops += 1;
        assert!(hops <= 70, "a loop on the way to {to}");
    }
}

/// The namespace at the other end of the cable from `interface` of `namespace`.
fn neighbour(orders: &Orders, namespace: &str, interface: &str) -> usize {
    let peer = |namespace: &str, interface: &str| -> (String, String) {
        let own = format!("{interface} netns {namespace}");
        let cables = orders
            .links
            .iter()
            .filter(|line| line.contains(" type veth "));
        for line in cables {
            let (left, right) = line["link add ".len()..]
                .split_once(" type veth peer ")
                .expect("a pair");
            let name = |end: &str| -> (String, String) {
                let words: Vec<&str> = end.split(' ').collect();
                (words[2].to_owned(), words[0].to_owned())
            };
            if left.starts_with(&format!("{own} ")) {
                return name(right);
            }
            if right.starts_with(&format!("{own} ")) {
                return name(left);
            }
        }
        panic!("{own} has no other end")
    };
    let mut other = peer(namespace, interface);
    if other.0 == "wires" {
        let redirected = format!("filter add dev {} ingress ", other.1);
        let wires = orders
            .namespaces
            .iter()
            .find(|n| n.name == "wires")
            .expect("wires");
        let line = wires
            .tc
            .iter()
            .find(|line| line.starts_with(&redirected))
            .expect("a redirection");
        let way_out = line.rsplit(' ').next().expect("a device");
        other = peer("wires", way_out);
    }
    orders
        .namespaces
        .iter()
        .position(|n| n.name == other.0)
        .expect("a namespace")
}

#[test]
fn a_dumbbell_reads_as_expected() {
    let scenario = scenario(
        "loss = \"1%\"\noutage = { start = \"4s\", duration = \"100ms\", at = \"receiver\" }\n\
         [[flow]]\nname = \"a\"\ncc = \"bbr\"\nrtt = \"60ms\"\nrwnd = \"64kB\"\nstart = \"1s\"\n\
         ecn = true\ndelayed_ack = 1\nsysctl = { \"net.ipv4.tcp_sack\" = 0 }\n\
         [trace]\ncapture = [\"bottleneck\", \"a.receiver\"]\n",
    );
    let expected = include_str!("golden/dumbbell.txt");
    assert_eq!(readable(&in_guest(&scenario)), expected);
}

/// The lines of `tc` that set up the interface of the namespace called `name`.
fn lines_of(orders: &Orders, name: &str, interface: &str) -> Vec<String> {
    let namespace = orders
        .namespaces
        .iter()
        .find(|n| n.name == name)
        .expect("a namespace");
    let device = format!("qdisc add dev {interface} ");
    let lines = namespace
        .tc
        .iter()
        .filter_map(|line| line.strip_prefix(&device));
    lines.map(str::to_owned).collect()
}

#[test]
fn netem_does_what_it_does_as_the_study_means_it() {
    let of = |impairment: &str| {
        let orders = in_guest(&scenario(&format!(
            "{impairment}\n[[flow]]\nname = \"a\"\n"
        )));
        let first = |lines: Vec<String>| lines.into_iter().next().expect("a line");
        [
            first(lines_of(&orders, "r1", "next")),
            first(
                lines_of(&orders, "a.left", "eth0")
                    .into_iter()
                    .chain([String::new()])
                    .collect(),
            ),
        ]
    };
    let netem = "handle 100: netem limit 1000000";
    assert_eq!(
        of("loss = { p = \"1%\", r = \"30%\", good = \"0.1%\", bad = \"80%\" }")[0],
        format!("root {netem} loss gemodel 1% 30% 80% 0.1%")
    );
    assert_eq!(
        of("loss = { p = \"2%\", r = \"50%\", at = \"sender\" }")[1],
        "root handle 1: netem limit 1000000 loss gemodel 2% 50% 100% 0%"
    );
    assert_eq!(
        of("duplicate = \"0.5%\"")[0],
        format!("root {netem} duplicate 0.5%")
    );
    // Nothing in front of the shaper is set up for what happens behind the wire.
    assert!(of("reorder = { probability = \"1%\", delay = \"5ms\" }")[0].contains(" tbf "));
}

#[test]
fn the_sender_delays_as_many_packets_as_the_study_says() {
    let text = "outage = { start = \"1s\", duration = \"100ms\", at = \"sender\" }\n\
                [[flow]]\nname = \"a\"\nrtt = \"100ms\"\ndelay_at = \"sender\"\ndelay_limit = 1000\n\
                [[flow]]\nname = \"b\"\nrtt = \"100ms\"\ndelay_at = \"sender\"\n";
    let orders = in_guest(&scenario(text));
    let netem = |of| lines_of(&orders, of, "eth0")[0].clone();
    assert!(
        netem("a.left").contains("netem limit 1000 delay"),
        "{}",
        netem("a.left")
    );
    assert!(
        netem("b.left").contains("netem limit 1000000 delay"),
        "{}",
        netem("b.left")
    );
    // A netem begins anew when its losses change.
    let changes = orders.changes.iter().flat_map(|change| &change.tc);
    let of_a = changes
        .filter(|line| line.contains("limit 1000 delay"))
        .count();
    assert_eq!(of_a, 2, "{:?}", orders.changes);
    let fast = format!(
        "[network.access]\nrate = \"1Gbit\"\n{}",
        &text[text.find("[[flow]]").expect("a flow")..]
    );
    let orders = in_guest(&scenario(&fast));
    assert_eq!(
        lines_of(&orders, "a.left", "eth0"),
        ["root handle 1: netem limit 1000 delay 60000us rate 1000000000bit loss 0%"]
    );
    assert_eq!(lines_of(&orders, "b.left", "eth0").len(), 3);
    // So that its packets are segments.
    let host = orders.namespaces.iter().find(|n| n.name == "a.left");
    let line = "link set eth0 gso_max_segs 1".to_owned();
    assert!(host.expect("a host").ip.contains(&line));
}

#[test]
fn packets_overtake_behind_the_wire_and_on_the_way_there_alone() {
    let orders = in_guest(&scenario(
        "reorder = { probability = \"2%\", delay = \"5ms\" }\n\
         jitter = { max = \"2ms\", reorder = true }\n[[flow]]\n",
    ));
    let wire = "root handle 1: netem limit 1000000 delay 20000us rate 10000000bit";
    assert_eq!(
        lines_of(&orders, "wires", "r0"),
        [
            wire,
            "parent 1:1 handle 2: netem limit 1000000 delay 1000us 1000us",
            "parent 2:1 handle 3: netem limit 1000000 delay 5000us reorder 98%",
            "clsact",
        ]
    );
    assert_eq!(lines_of(&orders, "wires", "l0"), [wire, "clsact"]);
    // In real time the wire has no rate, by which netem would keep packets in order.
    let text = "jitter = { max = \"2ms\", reorder = true }\n[[flow]]\n";
    assert_eq!(refusals(text, Target::Host), [""; 0]);
    assert_eq!(
        refusals("jitter = \"2ms\"\n[[flow]]\n", Target::Host).len(),
        1
    );
}

#[test]
fn slots_are_those_of_a_netem_behind_the_wire() {
    let slots = "slots = { every = [\"0.8ms\", \"5ms\"], packets = 16, bytes = \"20kB\" }\n";
    let held = "reorder = { probability = \"2%\", delay = \"5ms\" }\n";
    let in_a_guest = in_guest(&scenario(&format!(
        "{slots}{held}jitter = \"2ms\"\n[[flow]]\n"
    )));
    assert_eq!(
        lines_of(&in_a_guest, "wires", "r0"),
        [
            "root handle 1: netem limit 1000000 delay 21000us 1000us rate 10000000bit",
            "parent 1:1 handle 2: netem limit 1000000 slot 800000ns 5000000ns packets 16 bytes 20000",
            "parent 2:1 handle 3: netem limit 1000000 delay 5000us reorder 98%",
            "clsact",
        ]
    );
    // Once a guest's clock runs: at the instant 0 netem takes that for no slots.
    let first = &in_a_guest.changes[0];
    assert_eq!(first.at, Time::from_nanos(1));
    assert_eq!(
        first.tc,
        [
            "qdisc change dev r0 parent 1:1 handle 2: netem limit 1000000 slot 800000ns 5000000ns \
          packets 16 bytes 20000"
        ]
    );
    // A wire that has slots alone is no plain pair of interfaces.
    let mut bare = scenario("slots = { every = \"3ms\" }\n[[flow]]\n");
    bare.network.bottleneck.delay = Time::ZERO;
    let on_host = orders(&bare, 1, Target::Host);
    let slot = "parent 1:1 handle 2: netem limit 1000000 slot 3000000ns 3000000ns";
    assert!(lines_of(&on_host, "wires", "r0").contains(&slot.to_owned()));
}

/// Orders as a person reads them.
fn readable(orders: &Orders) -> String {
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{words}").expect("a String takes everything");
    for setting in &orders.sysctl {
        line(format!("{} = {}", setting.name, setting.value));
    }
    for link in &orders.links {
        line(link.clone());
    }
    for namespace in &orders.namespaces {
        line(format!("\n[{}]", namespace.name));
        for setting in &namespace.sysctl {
            line(format!("{} = {}", setting.name, setting.value));
        }
        namespace
            .ip
            .iter()
            .for_each(|words| line(format!("ip {words}")));
        namespace
            .tc
            .iter()
            .for_each(|words| line(format!("tc {words}")));
        namespace
            .iptables
            .iter()
            .for_each(|words| line(format!("iptables {}", words.join(" "))));
    }
    line(String::new());
    for change in &orders.changes {
        let name = &orders.namespaces[change.namespace].name;
        change
            .tc
            .iter()
            .for_each(|words| line(format!("{} {name}: tc {words}", change.at)));
        let rules = change.iptables.iter();
        rules.for_each(|words| {
            line(format!(
                "{} {name}: iptables {}",
                change.at,
                words.join(" ")
            ))
        });
    }
    let at = |namespace: usize, interface: &str| {
        format!("{} of {}", interface, orders.namespaces[namespace].name)
    };
    for q in &orders.queues {
        let place = at(q.namespace, &q.interface);
        line(format!(
            "queue {} at {place}: {:#x} {:#x}",
            q.link, q.handle, q.discipline
        ));
    }
    for capture in &orders.captures {
        let place = at(capture.namespace, &capture.interface);
        line(format!(
            "capture {} at {place} of {:?}",
            capture.point, capture.flow
        ));
    }
    for flow in &orders.flows {
        line(format!(
            "flow {} {}:{} > {}:{} at {} rwnd {:?}: {:?}",
            flow.name,
            flow.source,
            flow.source_port,
            flow.destination,
            flow.destination_port,
            flow.start,
            flow.rwnd,
            flow.work
        ));
    }
    line(format!("marks {:?}", orders.marks));
    text
}

#[test]
fn flows_start_when_the_simulator_starts_them() {
    let scenario = scenario("[[flow]]\ncount = 4\n");
    for seed in [1, 2] {
        let orders = orders(&scenario, seed, Target::Guest);
        for (flow, spec) in orders.flows.iter().zip(&scenario.flows) {
            assert_eq!(flow.start, spec.start_time(seed));
            assert!(flow.start < Time::from_millis(100));
        }
    }
}

#[test]
fn programs_get_addresses_and_their_servers() {
    let scenario = scenario(
        "[[flow]]\nname = \"a\"\n\
         [[flow]]\ncommand = [\"iperf3\", \"-c\", \"{dst}\", \"-p\", \"{port}\", \"-t\", \"{duration}\"]\n\
         duration = \"2.5s\"\nstart = \"1s\"\n\
         [[flow]]\ncommand = [\"curl\", \"http://{dst}:{port}/{{x}}\"]\nserver = [\"serve\", \"{src}\"]\n",
    );
    let orders = in_guest(&scenario);
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        orders.flows[1].work,
        Work::Command {
            client: words(&["iperf3", "-c", "10.1.0.2", "-p", "5002", "-t", "2.5"]),
            server: Some(words(&[
                "iperf3", "-s", "-1", "-B", "10.1.0.2", "-p", "5002"
            ])),
            until: Some(Time::from_millis(3500)),
        }
    );
    assert_eq!(
        orders.flows[2].work,
        Work::Command {
            client: words(&["curl", "http://10.1.0.3:5003/{x}"]),
            server: Some(words(&["serve", "10.0.0.3"])),
            until: None,
        }
    );
    let programs: Vec<String> = needs(&orders).programs.into_iter().collect();
    assert_eq!(programs, ["curl", "iperf3", "serve"]);
}

#[test]
fn what_a_program_sends_by_udp_is_seen_before_it_can_wait_or_be_lost() {
    let text = "loss = { rate = \"1%\", at = \"sender\" }\n[network.access]\nrate = \"1Gbit\"\n\
                [[flow]]\nname = \"tcp\"\n[[flow]]\nname = \"program\"\ncommand = [\"quic\"]\n";
    let orders = in_guest(&scenario(text));
    is_sound(&scenario(text), &orders);
    assert_eq!(orders.flows[0].taps, None);
    let taps = orders.flows[1].taps.as_ref().expect("taps");
    assert_eq!([&taps.sender, &taps.receiver], ["udp-eth0", "udp-eth0"]);
    for host in ["program.left", "program.right"] {
        // The kernel passes packets to clsact before any other discipline.
        assert_eq!(
            lines_of(&orders, host, "eth0").last(),
            Some(&"clsact".to_owned())
        );
        let namespace = orders.namespaces.iter().find(|n| n.name == host);
        let namespace = namespace.expect("a host");
        let copies = "filter add dev eth0 egress protocol ip u32 match ip protocol 17 0xff \
                      action mirred egress mirror dev udp-eth0";
        assert_eq!(namespace.tc.last(), Some(&copies.to_owned()));
    }
    // Flows of a chain share their hosts, and with them what sees their datagrams.
    let chain = "[network]\ntopology = \"chain\"\n[[flow]]\ncommand = [\"a\"]\n\
                 [[flow]]\ncommand = [\"b\"]\n";
    let orders = in_guest(&scenario(chain));
    is_sound(&scenario(chain), &orders);
    let copies = orders.links.iter().filter(|line| line.contains(" ifb"));
    assert_eq!(copies.count(), 2, "{:?}", orders.links);
}

#[test]
fn a_flow_over_udp_is_its_source_and_has_no_variant() {
    let scenario = scenario(
        "[[flow]]\nname = \"call\"\ntransport = \"udp\"\nstart = \"1s\"\nduration = \"3s\"\n\
         application = { kind = \"constant-rate\", rate = \"1Mbit\" }\n",
    );
    let orders = in_guest(&scenario);
    is_sound(&scenario, &orders);
    let flow = &orders.flows[0];
    let Work::Datagrams {
        source,
        stop,
        transfer,
        dice,
    } = &flow.work
    else {
        panic!("{:?}", flow.work)
    };
    assert_eq!(Some(*source), scenario.flows[0].udp);
    assert_eq!(
        (*stop, *transfer),
        (Some(Time::from_secs(4)), None),
        "{flow:?}"
    );
    // The simulator's stream of that name.
    assert_eq!((dice.seed, dice.name.as_str()), (1, "application call"));
    assert!(flow.taps.is_some());
    let text = readable(&orders);
    assert!(!text.contains("congctl"), "{text}");
    assert!(needs(&orders).variants.is_empty());
    let parts: Vec<String> = needs(&orders).parts.into_iter().collect();
    assert!(
        ["clsact", "ifb", "mirred", "u32"]
            .iter()
            .all(|&part| parts.iter().any(|p| p == part))
    );
    let written = serde_json::to_string(&orders).expect("orders");
    assert_eq!(serde_json::from_str::<Orders>(&written).ok(), Some(orders));
}

#[test]
fn what_a_kernel_may_lack_is_named() {
    let needs = needs(&in_guest(&scenario(NETWORKS[1])));
    let words = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(words(needs.qdiscs), "bfifo netem pfifo tbf");
    assert_eq!(words(needs.parts), "clsact matchall mirred");
    assert_eq!(words(needs.variants), "cubic");
    assert!(needs.iptables && needs.programs.is_empty());
}

#[test]
fn a_link_without_delay_needs_no_wire_on_a_host() {
    let rest = "schedule = [{ at = \"1s\", rate = \"5Mbit\" }]\n[network.access]\n\
                rate = \"100Mbit\"\n[[flow]]\n";
    let still = scenarios(&format!("{}{rest}", BOTTLENECK.replace("20ms", "0s"))).swap_remove(0);
    let host = orders(&still, 1, Target::Host);
    is_sound(&still, &host);
    let qdiscs = |orders: &Orders| {
        needs(orders)
            .qdiscs
            .into_iter()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(qdiscs(&host), "bfifo pfifo tbf");
    assert_eq!(host.changes[0].at, Time::from_secs(1));
    assert!(host.changes[0].tc[0].contains(" tbf rate 5000000bit burst 2139 "));
    // A packet, and the millisecond that its timers may be late.
    let router = &host.namespaces[1].tc;
    assert!(router[0].contains(" tbf rate 10000000bit burst 2764 "));
    // In a guest packets take their time on it.
    assert!(qdiscs(&in_guest(&still)).contains("netem"));
    let far = orders(&scenario(rest), 1, Target::Host);
    assert!(qdiscs(&far).contains("netem"));
    let wires = &far.namespaces[0].tc;
    assert!(wires.iter().any(|line| line.contains(" delay ")));
    assert!(!wires.iter().any(|line| line.contains(" rate ")));
}

#[test]
fn nothing_of_the_machine_is_written_on_a_host() {
    let rest = "[[flow]]\nsysctl = { \"net.core.rmem_max\" = 1000000 }\n";
    let guest = in_guest(&scenario(rest));
    let asked = guest
        .sysctl
        .iter()
        .find(|setting| setting.name == "net.core.rmem_max");
    assert_eq!(asked.expect("the setting").value, "1000000");
    assert_eq!(
        refusals(rest, Target::Host),
        ["flow.flow1.sysctl: kernel setting net.core.rmem_max, which holds for the whole machine"]
    );
    let host = orders(&scenario("[[flow]]\n"), 1, Target::Host);
    assert_eq!(host.sysctl, []);
}

#[test]
fn the_agent_is_told_when_an_application_pauses() {
    let text = "[[flow]]\napplication = { kind = \"scheduled\", schedule = [\
                { at = \"3s\", rate = \"unlimited\" }, { at = \"1s\", rate = \"0\" }] }\n";
    let orders = orders(&scenario(text), 1, Target::Guest);
    let Work::Bulk { schedule, .. } = &orders.flows[0].work else {
        panic!("another kind of flow: {:?}", orders.flows[0].work);
    };
    let told: Vec<(Time, Pace)> = schedule
        .iter()
        .map(|change| (change.at, change.pace()))
        .collect();
    let expected = [
        (Time::from_secs(1), Pace::Paused),
        (Time::from_secs(3), Pace::Unlimited),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_a_kernel_does_not_do_is_refused_by_key() {
    let refused = |rest: &str| {
        let all = refusals(rest, Target::Guest);
        assert_eq!(all.len(), 1, "{rest}: {all:?}");
        all[0].clone()
    };
    for (rest, key) in [
        ("[[flow]]\ncc = \"tahoe\"\n", "flow.flow1.cc: variant tahoe"),
        (
            "[[flow]]\napplication = \"telnet\"\n",
            "flow.flow1.application: application telnet",
        ),
        (
            "[[flow]]\napplication = \"frames\"\n",
            "flow.flow1.application: application frames",
        ),
        ("[[flow]]\ndelayed_ack = 3\n", "flow.flow1.delayed_ack: "),
        ("[[flow]]\nmss = \"60B\"\n", "flow.flow1.mss: "),
        ("[[flow]]\nrwnd = \"1kB\"\n", "flow.flow1.rwnd: "),
        (
            "[[flow]]\nrwnd = \"9kB\"\ncommand = [\"x\"]\n",
            "flow.flow1.rwnd: ",
        ),
        (
            "[[flow]]\nsysctl = { \"kernel.panic\" = 0 }\n",
            "flow.flow1.sysctl: ",
        ),
        (
            "[[flow]]\nsysctl = { \"net.ipv4/../x\" = 0 }\n",
            "flow.flow1.sysctl: ",
        ),
        ("jitter = \"4s\"\n[[flow]]\n", "network.bottleneck.jitter: "),
        (
            "jitter = { max = \"1ms\", distribution = \"normal\" }\n[[flow]]\n",
            "network.bottleneck.jitter: ",
        ),
        (
            "jitter = { average = \"1ms\", distribution = \"wifi\" }\n[[flow]]\n",
            "network.bottleneck.jitter: ",
        ),
        (
            "jitter = \"1ms\"\nschedule = { at = \"1s\", jitter = \"2ms\" }\n[[flow]]\n",
            "network.bottleneck.schedule: ",
        ),
        (
            "slots = { every = \"1ms\", bytes = \"3GB\" }\n[[flow]]\n",
            "network.bottleneck.slots: ",
        ),
        (
            "loss = [\"1%\", { p = \"1%\", r = \"30%\" }]\n[[flow]]\n",
            "network.bottleneck.loss: losses in bursts beside ",
        ),
        (
            "loss = { p = \"1%\", r = \"30%\" }\noutage = { start = \"1s\", duration = \"1s\" }\n[[flow]]\n",
            "network.bottleneck.loss: losses in bursts beside ",
        ),
        (
            "loss = { p = \"1%\", r = \"30%\", at = \"receiver\" }\n[[flow]]\n",
            "network.bottleneck.loss: losses in bursts at the receiver",
        ),
        (
            "loss = { packets = [1] }\n[[flow]]\n",
            "network.bottleneck.loss: losses of listed packets",
        ),
        (
            "loss = { p = \"1%\", r = \"30%\", at = \"sender\" }\n[network]\ntopology = \"chain\"\n[[flow]]\n",
            "network.bottleneck.loss: losses in bursts at the sender of a chain",
        ),
        (
            "loss = \"1%\"\nduplicate = \"1%\"\n[[flow]]\n",
            "network.bottleneck.duplicate: ",
        ),
        (
            "corrupt = \"1%\"\n[[flow]]\n",
            "network.bottleneck.corrupt: ",
        ),
        (
            "[[traffic]]\nkind = \"ping-flood\"\n[[flow]]\n",
            "traffic.traffic1: ",
        ),
        (
            "[network]\ntopology = \"chain\"\naccess.rate = \"1Gbit\"\n[[flow]]\n[[flow]]\nrtt = \"90ms\"\n",
            "network.access.rate: ",
        ),
        (
            "[network]\ntopology = \"chain\"\n[[flow]]\nrtt = \"90ms\"\ndelay_at = \"sender\"\n\
             direction = \"reverse\"\n",
            "flow.flow1.delay_at: ",
        ),
        (
            "[network]\ntopology = \"chain\"\n[[flow]]\nrtt = \"90ms\"\ndelay_at = \"sender\"\n\
             delay_limit = 1000\n",
            "flow.flow1.delay_limit: ",
        ),
        (
            "[network]\ntopology = \"chain\"\n[[flow]]\nsysctl = { \"net.ipv4.tcp_sack\" = 0 }\n[[flow]]\n",
            "flow.flow2.sysctl: kernel setting net.ipv4.tcp_sack different",
        ),
        (
            "[[flow]]\nname = \"a\"\n[trace]\ncapture = [\"a.sender\", \"a.left.access\"]\n",
            "trace.capture.a.left.access: a capture at a.left.access (at the bottleneck and hosts alone)",
        ),
        (
            "[network]\ntopology = \"chain\"\n[[flow]]\nrwnd = \"9kB\"\n[[flow]]\n",
            "flow.flow2.rwnd: ",
        ),
        (
            "[[flow]]\nsysctl = { \"net.core.rmem_max\" = 1 }\n[[flow]]\nsysctl = { \"net.core.rmem_max\" = 2 }\n",
            "flow.flow2.sysctl: kernel setting net.core.rmem_max different",
        ),
    ] {
        assert!(refused(rest).starts_with(key), "{}", refused(rest));
    }
    let graph = "duration = \"1s\"\n[network]\ntopology = \"graph\"\n[[network.link]]\nfrom = \"a\"\n\
                 to = \"b\"\nrate = \"1Mbit\"\nbottleneck = true\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let graph = unsupported(&scenarios(graph)[0], Target::Guest);
    assert_eq!(graph[0].path, "network.topology");
    let text = format!("stack = \"rfc\"\n{BOTTLENECK}[[flow]]\n");
    let stack = unsupported(&scenarios(&text)[0], Target::Guest);
    assert_eq!(stack[0].path, "stack");
}

#[test]
fn what_a_router_of_a_packet_rate_gets_goes_through_its_one_processor() {
    let text = "[network]\nrouter_packet_rate = 12500\nrouter_backlog = 40\n[[flow]]\n";
    let orders = in_guest(&scenario(text));
    for (router, interfaces) in [("r1", ["next", "left0"]), ("r2", ["prev", "right0"])] {
        // A packet is one cell of 1514 bytes: 80 us of 151.4 Mbit/s. One more is in service.
        assert_eq!(
            lines_of(&orders, router, "processor"),
            ["root handle 1: netem limit 41 rate 151400000bit 0 1514"]
        );
        let namespace = orders.namespaces.iter().find(|n| n.name == router);
        let tc = &namespace.expect("a router").tc;
        let led = |line: &&String| line.ends_with("mirred egress redirect dev processor");
        assert_eq!(tc.iter().filter(led).count(), interfaces.len());
        for interface in interfaces {
            let filter = format!("filter add dev {interface} ingress matchall ");
            assert_eq!(tc.iter().filter(|l| l.starts_with(&filter)).count(), 1);
        }
    }
    let [refused] = <[_; 1]>::try_from(refusals(text, Target::Host)).expect("one reason");
    assert!(refused.starts_with("network.router_packet_rate: a router that forwards"));
}

#[test]
fn a_host_refuses_the_network_of_the_simulator() {
    let text = "[network]\nby = \"simulator\"\n[[flow]]\n";
    let [refused] = <[_; 1]>::try_from(refusals(text, Target::Host)).expect("one reason");
    assert!(
        refused.starts_with("network.by: the simulator's network "),
        "{refused}"
    );
    assert_eq!(refusals(text, Target::Wire), [""; 0]);
}

/// What Linux 6.12 and its networks lack is refused by name.
#[test]
fn counts_of_marks_and_changed_codepoints_are_refused() {
    let scenario = &scenarios(
        "duration = \"10s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"5ms\"\nremark = \"bleach\"\n\
         queue = { limit = \"100p\" }\n[[flow]]\nname = \"a\"\ncc = \"prague\"\n\
         [[flow]]\nname = \"b\"\necn = { sender = \"accecn\", receiver = true }\n",
    )[0];
    let told = |target| {
        let found = unsupported(scenario, target).into_iter();
        found
            .map(|it| format!("{}: {}", it.path, it.what))
            .collect::<Vec<_>>()
            .join("\n")
    };
    for target in [Target::Wire, Target::Guest, Target::Host] {
        let told = told(target);
        assert!(
            told.contains("flow.a.cc: variant prague (the kernel has: reno,"),
            "{told}"
        );
        assert!(
            told.contains("flow.b.ecn: ecn \"accecn\" (Linux counts marks from 6.18 on)"),
            "{told}"
        );
        assert!(told.contains("flow.b.ecn.receiver: "), "{told}");
        let changes =
            told.contains("network.bottleneck.remark: codepoints of ECN that are changed");
        assert_eq!(changes, target != Target::Wire, "{told}");
    }
}
