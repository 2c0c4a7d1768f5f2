//! Runs of the simulator: each variant on each stack, each discipline under contention, each stack,
//! and what the core does to packets, with whom, and over which networks.

use cclab_spec::kinds::{APPLICATIONS, IMPAIRMENTS, Kind, RECEIVERS, TOPOLOGIES};
use cclab_spec::{Ecn, Opportunities, Scenario, TRAFFIC_KINDS, TrafficKind};
use cclab_units::Time;

use super::{Case, How, scenario};

/// Runs end by then.
const END: Time = Time::from_secs(6);

/// What flows of cases that are not about variants have: another one each, by its name, so that a
/// change of one variant shows in few of them.
const MIXED: [&str; 7] = [
    "reno", "cubic", "bic", "vegas", "htcp", "illinois", "westwood",
];

pub(super) fn cases() -> Vec<Case> {
    let mut all = core();
    all.extend(stacks());
    all.extend(variants());
    all.extend(disciplines());
    all
}

fn case(subject: &str, name: impl Into<String>, scenarios: Vec<Scenario>) -> Case {
    let fit = |scenario: &Scenario| cclab_sim::unsupported(scenario).is_empty();
    assert!(scenarios.iter().all(fit), "{subject} is to be simulated");
    Case {
        subject: subject.to_owned(),
        name: name.into(),
        scenarios,
        how: How::Simulated,
    }
}

fn mixed(name: &str, place: usize) -> &'static str {
    let letters: usize = name.bytes().map(usize::from).sum();
    MIXED[(letters + place) % MIXED.len()]
}

fn variants() -> impl Iterator<Item = Case> {
    cclab_cc::simulated().flat_map(|variant| {
        let of = |mut scenario: Scenario, stack: &str| {
            scenario.stack = stack.to_owned();
            for flow in &mut scenario.flows {
                flow.cc = variant.name.to_owned();
            }
            scenario
        };
        let stacks = cclab_tcp::profile::PROFILES.iter();
        let each = stacks.map(move |stack| {
            let slow = of(narrow(), stack.name);
            case(variant.name, format!("on {}", stack.name), vec![slow])
        });
        let wide = [of(wide(), "linux-6.12"), of(marked(), "linux-6.12")];
        each.chain([case(variant.name, "wide, and marked", wide.into())])
    })
}

/// A full queue that drops, an outage, and times long enough for what probes every ten seconds.
fn narrow() -> Scenario {
    scenario(
        r#"
        duration = "12s"
        trace.interval = "100ms"
        [network.bottleneck]
        rate = "3Mbit"
        delay = "15ms"
        queue = { limit = "20p" }
        outage = { start = "7s", duration = "400ms" }
        [[flow]]
        [[flow]]
        start = "600ms"
        rtt = "80ms"
        "#,
    )
}

/// Windows of hundreds of packets.
fn wide() -> Scenario {
    scenario(
        r#"
        duration = "4s"
        trace.interval = "100ms"
        [network.bottleneck]
        rate = "60Mbit"
        delay = "30ms"
        queue = { limit = "150p" }
        loss = "0.01%"
        [[flow]]
        "#,
    )
}

/// A queue that marks instead of dropping.
fn marked() -> Scenario {
    let mut scenario = scenario(
        r#"
        duration = "5s"
        trace.interval = "100ms"
        [network.bottleneck]
        rate = "5Mbit"
        delay = "15ms"
        queue = { kind = "codel", limit = "100p" }
        [[flow]]
        ecn = true
        [[flow]]
        ecn = true
        start = "500ms"
        "#,
    );
    let queue = &mut scenario.network.bottleneck.queue;
    queue.params.insert("ecn".to_owned(), 1.0);
    scenario
}

fn disciplines() -> impl Iterator<Item = Case> {
    cclab_qdisc::simulated().map(|discipline| {
        let of = |ecn: bool| {
            let mut scenario = contest();
            // Packets never wait there; droptail would be in every case if it were not named.
            "random-drop".clone_into(&mut scenario.network.access.queue.kind);
            let queue = &mut scenario.network.bottleneck.queue;
            discipline.name.clone_into(&mut queue.kind);
            if discipline.params.iter().any(|known| known.name == "ecn") {
                queue
                    .params
                    .insert("ecn".to_owned(), f64::from(u8::from(ecn)));
            }
            for (place, flow) in scenario.flows.iter_mut().take(2).enumerate() {
                mixed(discipline.name, place).clone_into(&mut flow.cc);
                flow.ecn = if ecn { Ecn::Classic } else { Ecn::Off };
            }
            scenario
        };
        case(discipline.name, "contested", vec![of(false), of(true)])
    })
}

/// More than a link takes, of packets of several kinds.
fn contest() -> Scenario {
    scenario(
        r#"
        duration = "6s"
        trace.interval = "100ms"
        [network.bottleneck]
        rate = "5Mbit"
        delay = "10ms"
        queue = { limit = "60p" }
        [[flow]]
        [[flow]]
        start = "300ms"
        rtt = "60ms"
        [[flow]]
        cc = "dctcp"
        start = "2s"
        [[traffic]]
        kind = "constant-rate"
        rate = "1Mbit"
        [[traffic]]
        kind = "telnet"
        cc = "sack"
        clients = 5
        "#,
    )
}

fn stacks() -> impl Iterator<Item = Case> {
    cclab_tcp::profile::PROFILES.iter().flat_map(|stack| {
        ["lossy", "brief"].map(|name| {
            let mut scenario = scenario(if name == "lossy" { LOSSY } else { BRIEF });
            stack.name.clone_into(&mut scenario.stack);
            for (place, flow) in scenario.flows.iter_mut().enumerate() {
                mixed(stack.name, place).clone_into(&mut flow.cc);
            }
            case(stack.name, name, vec![scenario])
        })
    })
}

const LOSSY: &str = r#"
duration = "8s"
trace.interval = "100ms"
[network.bottleneck]
rate = "3Mbit"
delay = "20ms"
queue = { limit = "30p" }
loss = "2%"
reorder = { probability = "1%", delay = "15ms" }
outage = { start = "5s", duration = "700ms" }
[[flow]]
[[flow]]
delayed_ack = 1
start = "1s"
[[flow]]
rwnd = "8kB"
direction = "reverse"
"#;

/// Connections that begin, pause and end, some in an outage.
const BRIEF: &str = r#"
duration = "8s"
trace.interval = "100ms"
[network.bottleneck]
rate = "3Mbit"
delay = "20ms"
queue = { limit = "30p" }
outage = { start = "0s", duration = "150ms" }
[[flow]]
transfer = "200kB"
[[flow]]
start = "500ms"
duration = "3s"
write_size = "500B"
writes_per_second = 150
[[flow]]
application = { kind = "request-response", response = "30kB", think = "400ms" }
[[flow]]
application = { kind = "on-off", rate = "1Mbit", off = "1s" }
[[traffic]]
kind = "poisson"
flows_per_second = 4
transfer = "8kB"
cc = "reno"
"#;

/// What the core does: to packets, with whom, and over which networks.
fn core() -> Vec<Case> {
    let kinds = [
        ("impairment", IMPAIRMENTS),
        ("application", APPLICATIONS),
        ("topology", TOPOLOGIES),
        ("receiver", &RECEIVERS[1..]), // the first is as every other flow's
    ];
    let kinds = kinds
        .into_iter()
        .flat_map(|(what, kinds)| kinds.iter().map(move |kind| (what, kind)));
    let kinds = kinds.map(|(what, kind)| (format!("{what} {}", kind.name), of_kind(kind)));
    let traffic = TRAFFIC_KINDS.iter();
    let traffic = traffic.map(|kind| (format!("traffic {}", kind.name), with_traffic(kind)));
    let others = OTHERS.iter();
    let others = others.map(|&(name, text)| (name.to_owned(), scenario(text)));
    let all = kinds.chain(traffic).chain(others);
    all.map(|(name, mut scenario)| {
        scenario.duration = Some(scenario.duration.unwrap_or(END).min(END));
        scenario.trace.interval = Time::from_millis(100);
        // What waits for the state of a variant needs that variant.
        let any = scenario.whens().is_empty();
        for (place, flow) in scenario.flows.iter_mut().enumerate() {
            if flow.udp.is_none() && any {
                mixed(&name, place).clone_into(&mut flow.cc);
            }
        }
        case("core", name, vec![scenario])
    })
    .chain([case(
        "core",
        "flows that remember",
        vec![scenario(REMEMBERED)],
    )])
    .collect()
}

/// One jumps and is validated, one retreats, and one that models the path does each.
const REMEMBERED: &str = r#"
duration = "6s"
trace.interval = "100ms"
[network.bottleneck]
rate = "20Mbit"
delay = "50ms"
queue = { limit = "100ms" }
[[flow]]
remembered = { window = "125kB", rtt = "100ms" }
[[flow]]
cc = "bbr3"
start = "1s"
remembered = { window = "125kB", rtt = "100ms" }
[[flow]]
cc = "reno"
start = "2s"
remembered = { window = "2MB", rtt = "100ms" }
[[flow]]
cc = "bbr"
start = "3s"
remembered = { window = "2MB", rtt = "100ms" }
"#;

/// A scenario that has `kind`.
pub(super) fn of_kind(kind: &Kind) -> Scenario {
    if kind.name != "trace" {
        return scenario(&kind.example.study());
    }
    // Its example names a file that nobody has.
    let mut scenario = scenario(&APPLICATIONS[0].example.study());
    scenario.network.bottleneck.trace = Opportunities::parse("1\n2\n5\n5\n9\n").ok();
    scenario
}

/// A scenario that has cross traffic of `kind`.
fn with_traffic(kind: &TrafficKind) -> Scenario {
    let bulk = APPLICATIONS[0].example.study();
    let takes_load = kind.params.iter().any(|parameter| parameter.name == "load");
    let load = if takes_load { "load = 0.3\n" } else { "" };
    let size = if kind.sized {
        "transfer = \"30kB\"\n"
    } else {
        ""
    };
    let cc = if kind.tcp {
        format!("cc = \"{}\"\n", mixed(kind.name, 3))
    } else {
        String::new()
    };
    let name = kind.name;
    scenario(&format!(
        "{bulk}[[traffic]]\nkind = \"{name}\"\n{load}{size}{cc}"
    ))
}

/// Datagrams of every kind of source and echoes of both, there and back, beside TCP and cross traffic.
pub(super) const DATAGRAMS: &str = r#"
duration = "6s"
warmup = "1s"
[network.access]
delay = "1ms"
[network.bottleneck]
rate = "4Mbit"
delay = "12ms"
queue = { kind = "codel", limit = "30p" }
loss = "0.3%"
[network.bottleneck.reverse]
rate = "2Mbit"
queue = { limit = "20p" }
[[flow]]
name = "bulk"
[[flow]]
name = "call"
transport = "udp"
application = { kind = "constant-rate", rate = "500kbit", payload = "200B" }
count = 2
[[flow]]
name = "bursts"
transport = "udp"
application = { kind = "on-off", rate = "3Mbit", on = "300ms", off = "400ms" }
start = "500ms"
rtt = "70ms"
duration = "4s"
[[flow]]
name = "talks"
transport = "udp"
application = { kind = "video", frame_rate = 25, i_frame = "20kB", p_frame = "4kB", group = 10 }
[[flow]]
name = "watches"
transport = "udp"
application = { kind = "video", i_frame = "30kB", p_frame = "5kB", deadline = "80ms" }
direction = "reverse"
[[flow]]
name = "steady"
transport = "udp"
application = { kind = "on-off", rate = "600kbit", constant = true }
direction = "reverse"
[[flow]]
name = "sent"
transport = "udp"
application = { kind = "constant-rate", rate = "1Mbit" }
transfer = "100kB"
[[probe]]
interval = "50ms"
[[probe]]
kind = "udp"
interval = "70ms"
payload = "400B"
direction = "reverse"
rtt = "90ms"
start = "1s"
stop = "5s"
[[traffic]]
kind = "poisson"
load = 0.1
transfer = "10kB"
"#;

const OTHERS: &[(&str, &str)] = &[
    ("datagrams and echoes", DATAGRAMS),
    (
        "datagrams in a graph",
        r#"
        duration = "5s"
        [network]
        topology = "graph"
        [[network.link]]
        bottleneck = true
        from = "a"
        to = "r"
        rate = "3Mbit"
        delay = "6ms"
        queue = { limit = "20p" }
        [[network.link]]
        from = "r"
        to = "b"
        delay = "2ms"
        [[network.link]]
        from = "b"
        to = "a"
        one_way = true
        rate = "20Mbit"
        delay = "3ms"
        queue = { limit = "100p" }
        [[flow]]
        from = "a"
        to = "b"
        [[flow]]
        transport = "udp"
        application = { kind = "on-off", rate = "2Mbit" }
        from = "a"
        to = "b"
        [[flow]]
        transport = "udp"
        application = { kind = "video" }
        from = "a"
        to = "b"
        direction = "reverse"
        [[probe]]
        from = "a"
        to = "b"
        rtt = "50ms"
        [[probe]]
        kind = "udp"
        from = "b"
        to = "r"
        "#,
    ),
    (
        "datagrams in a parking lot",
        r#"
        duration = "5s"
        [network]
        topology = "parking-lot"
        bottlenecks = 2
        [network.bottleneck]
        rate = "2Mbit"
        delay = "5ms"
        queue = { limit = "20p" }
        [[flow]]
        [[flow]]
        transport = "udp"
        application = { kind = "constant-rate", rate = "1Mbit" }
        crosses = [2, 2]
        [[flow]]
        transport = "udp"
        application = { kind = "on-off", rate = "1Mbit" }
        crosses = [1, 1]
        direction = "reverse"
        [[probe]]
        [[probe]]
        crosses = [2, 2]
        "#,
    ),
    (
        "several links",
        r#"
        duration = "5s"
        [network]
        topology = "parking-lot"
        bottlenecks = 3
        [network.access]
        rate = "20Mbit"
        delay = "1ms"
        queue = { limit = "40p" }
        [network.bottleneck]
        rate = "4Mbit"
        delay = "5ms"
        queue = { limit = "20p" }
        [[flow]]
        [[flow]]
        crosses = [1, 1]
        start = { at = "100ms", spread = "200ms" }
        [[flow]]
        crosses = [2, 3]
        direction = "reverse"
        "#,
    ),
    (
        "graph with a way back",
        r#"
        duration = "5s"
        [network]
        topology = "graph"
        [[network.link]]
        name = "under-study"
        bottleneck = true
        from = "a"
        to = "r"
        rate = "4Mbit"
        delay = "9ms"
        queue = { limit = "20p" }
        [[network.link]]
        name = "last"
        from = "r"
        to = "b"
        delay = "1ms"
        loss = "0.5%"
        [[network.link]]
        name = "shortcut"
        from = "b"
        to = "a"
        one_way = true
        rate = "20Mbit"
        delay = "2ms"
        queue = { limit = "100p" }
        [[flow]]
        from = "a"
        to = "b"
        [[flow]]
        from = "b"
        to = "a"
        rtt = "60ms"
        "#,
    ),
    (
        "packet rates",
        r#"
        duration = "4s"
        [network]
        topology = "dumbbell"
        router_packet_rate = 900
        [network.bottleneck]
        rate = "10Mbit"
        delay = "10ms"
        queue = { limit = "50p" }
        [[flow]]
        packet_rate = 500
        [[flow]]
        "#,
    ),
    (
        "marks that are counted",
        r#"
        duration = "6s"
        [network.bottleneck]
        rate = "20Mbit"
        delay = "5ms"
        queue = { kind = "dualpi2", limit = "200p" }
        remark = { ect1 = "ect0", probability = "5%" }
        reverse = { loss = "30%" }
        [[flow]]
        cc = "prague"
        [[flow]]
        ecn = "accecn"
        [[flow]]
        cc = "prague"
        rtt = "30ms"
        ecn = { receiver = true }
        [[flow]]
        cc = "dctcp"
        ecn = { sender = "accecn", receiver = true }
        "#,
    ),
    (
        "routes that change",
        r#"
        duration = "6s"
        [network]
        topology = "graph"
        reroute = [{ at = "2s", without = ["short"] }, { at = "4s" }]
        [[network.link]]
        name = "short"
        from = "a"
        to = "b"
        rate = "6Mbit"
        delay = "5ms"
        queue = { limit = "40p" }
        bottleneck = true
        [[network.link]]
        name = "long"
        from = "a"
        to = "b"
        rate = "3Mbit"
        delay = "40ms"
        queue = { limit = "40p" }
        [[network.link]]
        from = "b"
        to = "c"
        delay = "1ms"
        [[flow]]
        from = "a"
        to = "c"
        [[flow]]
        from = "c"
        to = "a"
        cc = "reno"
        [[traffic]]
        kind = "poisson"
        from = "a"
        to = "b"
        load = 0.1
        transfer = "20kB"
        [[probe]]
        from = "a"
        to = "c"
        "#,
    ),
    (
        "ways of equal cost",
        r#"
        duration = "6s"
        [network]
        topology = "graph"
        routing = "ecmp"
        reroute = [{ at = "3s", without = ["one", "up-2"] }, { at = "5s" }]
        [[network.link]]
        name = "one"
        from = "a"
        to = "b"
        rate = "6Mbit"
        delay = "5ms"
        queue = { limit = "40p" }
        bottleneck = true
        [[network.link]]
        name = "other"
        from = "b"
        to = "a"
        rate = "6Mbit"
        delay = "5ms"
        queue = { limit = "40p" }
        [[network.link]]
        name = "up-1"
        from = "b"
        to = "c"
        rate = "5Mbit"
        delay = "1ms"
        queue = { limit = "40p" }
        [[network.link]]
        name = "up-2"
        from = "b"
        to = "c"
        delay = "1ms"
        one_way = true
        [[flow]]
        count = 8
        from = "a"
        to = "c"
        [[flow]]
        from = "c"
        to = "a"
        cc = "reno"
        rtt = "30ms"
        [[traffic]]
        kind = "poisson"
        from = "a"
        to = "b"
        load = 0.1
        transfer = "20kB"
        [[probe]]
        from = "a"
        to = "c"
        "#,
    ),
    (
        "everything at once",
        r#"
        duration = "6s"
        [network]
        topology = "chain"
        [network.access]
        rate = "30Mbit"
        delay = "1ms"
        queue = { limit = "60p" }
        [network.bottleneck]
        rate = "6Mbit"
        delay = "10ms"
        queue = { limit = "40p" }
        loss = { kind = "gilbert-elliott", p = "0.2%", r = "20%", at = "receiver" }
        jitter = { max = "5ms", distribution = "normal", reorder = true }
        duplicate = "0.5%"
        corrupt = "0.2%"
        schedule = [{ at = "2s", rate = "3Mbit", delay = "20ms" }, { at = "4s", rate = "6Mbit", loss = "1%" }]
        [[flow]]
        rtt = "70ms"
        [[flow]]
        direction = "reverse"
        [[traffic]]
        kind = "poisson"
        load = 0.2
        sizes = { kind = "lognormal", mean = "20kB", sigma = 1.5 }
        cc = "reno"
        [[traffic]]
        kind = "poisson"
        load = 0.1
        sizes = { kind = "pareto", mean = "20kB", shape = 1.3 }
        cc = "cubic"
        direction = "reverse"
        "#,
    ),
];
