//! Orders for kernels: their text is all that this version does to one before a run.

use cclab_spec::Scenario;
use cclab_spec::kinds::{APPLICATIONS, IMPAIRMENTS, Kind, TOPOLOGIES};
use cclab_testbed::{Target, orders, unsupported};

use super::simulated::{DATAGRAMS, of_kind};
use super::{Case, How, scenario};
use crate::digest::Hash;

const PLAIN: &str = r#"
duration = "10s"
[network.bottleneck]
rate = "10Mbit"
delay = "20ms"
queue = { limit = "100p" }
[[flow]]
rtt = "80ms"
[[flow]]
start = "1s"
"#;

const FLOWS: &str = r#"
duration = "10s"
warmup = "2s"
[network.access]
rate = "100Mbit"
delay = "1ms"
queue = { limit = "200p" }
[network.bottleneck]
rate = "10Mbit"
delay = "20ms"
queue = { limit = "100p" }
[[flow]]
transfer = "1MB"
rwnd = "64kB"
mss = "1000B"
[[flow]]
write_size = "1kB"
writes_per_second = 100
ecn = true
[[flow]]
delayed_ack = 1
direction = "reverse"
[[flow]]
rtt = "90ms"
delay_at = "sender"
[[flow]]
command = ["iperf3", "-c", "{dst}", "-p", "{port}", "-t", "{duration}"]
[[flow]]
sysctl = { "net.ipv4.tcp_sack" = 0 }
[trace]
interval = "10ms"
events = ["ack", "queue", "drop"]
capture = ["bottleneck"]
"#;

pub(super) fn cases() -> Vec<Case> {
    let variants = cclab_cc::of_kernel().map(|variant| {
        let mut scenario = scenario(PLAIN);
        variant.name.clone_into(&mut scenario.flows[0].cc);
        scenario
    });
    let disciplines = cclab_qdisc::of_kernel().map(|(discipline, _)| {
        let mut scenario = scenario(PLAIN);
        discipline
            .name
            .clone_into(&mut scenario.network.bottleneck.queue.kind);
        scenario
    });
    let mut datagrams = scenario(DATAGRAMS);
    // Only the simulator has it.
    datagrams.traffic.clear();
    let of_kinds = |kinds: &[_]| kinds.iter().map(of_kind).collect();
    // The case of applications is older than those that keep to a schedule.
    let (scheduled, unscheduled): (Vec<Kind>, Vec<Kind>) = APPLICATIONS
        .iter()
        .partition(|kind| kind.name == "scheduled");
    let all = [
        ("orders: variants", variants.collect()),
        ("orders: disciplines", disciplines.collect()),
        ("orders: topologies", of_kinds(TOPOLOGIES)),
        ("orders: impairments", of_kinds(IMPAIRMENTS)),
        ("orders: applications", of_kinds(&unscheduled)),
        ("orders: scheduled applications", of_kinds(&scheduled)),
        ("orders: flows", vec![scenario(FLOWS)]),
        ("orders: datagrams and echoes", vec![datagrams]),
    ];
    let case = |(name, scenarios): (&str, Vec<Scenario>)| {
        let mut scenarios = scenarios;
        let is_done = |scenario: &Scenario| {
            let targets = [Target::Guest, Target::Host].into_iter();
            targets
                .into_iter()
                .any(|target| unsupported(scenario, target).is_empty())
        };
        scenarios.retain(is_done);
        assert!(!scenarios.is_empty(), "no kernel does anything of {name}");
        Case {
            subject: "testbed".to_owned(),
            name: name.to_owned(),
            scenarios,
            how: How::Ordered,
        }
    };
    all.into_iter().map(case).collect()
}

/// Takes in the orders of `scenario`, in a guest and on a host, where it can be done there.
pub(super) fn order(scenario: &Scenario, hash: &mut Hash) {
    for target in [Target::Guest, Target::Host] {
        if unsupported(scenario, target).is_empty() {
            hash.line(format_args!("{target:?}"));
            hash.json(&orders(scenario, 1, target));
        }
    }
}
