//! What flows share where they meet: parking lots and graphs, by hand.

use cclab_metrics::{FlowMetrics, MeasureInput, RunMetrics, measure};
use cclab_spec::{Overrides, Study};
use cclab_trace::Trace;
use cclab_trace::schema::{FlowSummary, LinkSummary, QueueSample, RunSummary};
use cclab_units::{Rate, Time};

fn input(text: &str) -> MeasureInput {
    let study = Study::load(text, "study.toml").expect("a good study");
    let plan = study
        .plan(&Overrides::default(), &|_, _| String::new())
        .expect("a plan");
    MeasureInput::from(&plan.runs[0].run.scenario)
}

/// A run of 10 s of the study in `text` in which its flows got so many Mbit/s, and its first links,
/// each of 10 Mbit/s, were used to such parts.
fn measured(text: &str, goodputs: &[u64], used: &[f64]) -> RunMetrics {
    let end = Time::from_secs(10);
    let flows = goodputs.iter().zip('a'..).map(|(mbit, name)| FlowSummary {
        name: name.to_string(),
        cc: "reno".into(),
        cc_in_force: "reno".into(),
        started: Some(Time::ZERO),
        first_byte: Some(Time::ZERO),
        last_byte: Some(end),
        bytes_received: mbit * 1_250_000,
        retransmits: 1,
        ..FlowSummary::default()
    });
    let links = (0..used.len()).map(|link| LinkSummary {
        name: format!("link {link}"),
        rate: Rate::from_bps(10_000_000),
        ..LinkSummary::default()
    });
    let sample = |at: Time, link: usize, tx_bytes: u64| {
        let sample = QueueSample {
            link: link as u32,
            tx_bytes,
            ..QueueSample::default()
        };
        (at, sample)
    };
    let sent = |link: usize| (used[link] * 12_500_000.0) as u64;
    let all = 0..used.len();
    let samples = all.clone().map(|link| sample(Time::ZERO, link, 0));
    let samples = samples.chain(all.map(|link| sample(end, link, sent(link))));
    let trace = Trace {
        summary: RunSummary {
            end,
            flows: flows.collect(),
            links: links.collect(),
            ..RunSummary::default()
        },
        queue_samples: samples.collect(),
        ..Trace::default()
    };
    measure(&trace, &input(text))
}

fn close(value: Option<f64>, expected: f64) {
    let value = value.expect("a measured value");
    assert!((value / expected - 1.0).abs() < 1e-9, "{value}, {expected}");
}

fn share(flow: &FlowMetrics) -> f64 {
    flow.goodput_bps.expect("it got some") / flow.bottleneck_goodput_bps.expect("it has one")
}

/// `a` crosses three links, `b` the first, `c` the second, `d` and `e` the third.
const LOT: &str = r#"
duration = "10s"
[network]
topology = "parking-lot"
bottlenecks = 3
[network.bottleneck]
rate = "10Mbit"
delay = "5ms"
queue = { limit = "50p" }
[[flow]]
name = "a"
[[flow]]
name = "b"
crosses = [1, 1]
[[flow]]
name = "c"
crosses = [2, 2]
[[flow]]
name = "d"
crosses = [3, 3]
[[flow]]
name = "e"
crosses = [3, 3]
"#;

#[test]
fn in_a_parking_lot_flows_share_the_links_that_they_cross() {
    // Links are 0, 2 and 4; their ways back lie between.
    let used = [0.95, 0.0, 0.6, 0.0, 0.9, 0.0];
    let found = measured(LOT, &[2, 7, 4, 3, 4], &used);
    let [a, b, c, d, e] = &found.flows[..] else {
        panic!("five flows")
    };
    // 2 + 7 and 2 + 3 + 4: the first of equals.
    assert_eq!(a.bottleneck.as_deref(), Some("link 0"));
    close(a.bottleneck_goodput_bps, 9e6);
    close(Some(share(b)), 7.0 / 9.0);
    close(Some(share(c)), 4.0 / 6.0);
    close(Some(share(d)), 3.0 / 9.0);
    close(e.bottleneck_utilization, 0.9);
    close(c.bottleneck_utilization, 0.6);
    assert_eq!(e.bottleneck.as_deref(), Some("link 4"));
    // 6^2 / (2 (4 + 16)) and 9^2 / (3 (4 + 9 + 16)).
    close(c.bottleneck_jain, 36.0 / 40.0);
    close(d.bottleneck_jain, 81.0 / 87.0);
    // The run's own is of all that go forward.
    close(found.jain, 400.0 / (5.0 * 94.0));
    // `a` fills one of its links, `c` does not fill its only one.
    let warning = found.warnings.iter();
    let mut warning = warning.filter(|one| one.code == "bottleneck-not-full");
    let told = &warning.next().expect("the second link is not full").message;
    assert!(told.contains("60.0%") && !told.contains("95"), "{told}");
}

#[test]
fn where_all_flows_meet_nothing_is_told_apart() {
    let dumbbell = LOT
        .replace("topology = \"parking-lot\"\nbottlenecks = 3\n", "")
        .replace("crosses = [1, 1]\n", "direction = \"reverse\"\n")
        .replace("crosses = [2, 2]\n", "")
        .replace("crosses = [3, 3]\n", "");
    let found = measured(&dumbbell, &[2, 7, 4, 3, 1], &[1.0, 0.7]);
    for (flow, of) in found.flows.iter().zip([10e6, 7e6, 10e6, 10e6, 10e6]) {
        close(flow.bottleneck_goodput_bps, of);
        assert_eq!(
            (flow.bottleneck_jain, flow.bottleneck_utilization),
            (None, None)
        );
    }
}

/// `a` and `b` cross the link under study, `b` and `c` the slower one behind it, `d` that alone which
/// is as fast as it.
const GRAPH: &str = r#"
duration = "10s"
[network]
topology = "graph"
[[network.link]]
name = "study"
from = "n1"
to = "n2"
rate = "10Mbit"
delay = "5ms"
queue = { limit = "50p" }
bottleneck = true
[[network.link]]
name = "slow"
from = "n2"
to = "n3"
rate = "5Mbit"
delay = "5ms"
queue = { limit = "50p" }
[[network.link]]
name = "wide"
from = "n3"
to = "n4"
rate = "50Mbit"
delay = "5ms"
queue = { limit = "50p" }
[[flow]]
name = "a"
from = "n1"
to = "n2"
[[flow]]
name = "b"
from = "n1"
to = "n3"
[[flow]]
name = "c"
from = "n2"
to = "n4"
[[flow]]
name = "d"
from = "n3"
to = "n4"
"#;

#[test]
fn in_a_graph_a_flow_beside_the_link_under_study_has_the_slowest_of_its_way() {
    let found = measured(GRAPH, &[6, 2, 3, 40], &[0.9, 0.0]);
    let [a, b, c, d] = &found.flows[..] else {
        panic!("four flows")
    };
    close(Some(share(a)), 6.0 / 8.0);
    close(Some(share(b)), 2.0 / 8.0);
    assert_eq!(c.bottleneck.as_deref(), Some("slow"));
    close(Some(share(c)), 3.0 / 5.0);
    close(c.bottleneck_jain, 25.0 / 26.0);
    close(Some(share(d)), 40.0 / 43.0);
    // Of links that are not under study nobody samples the queue.
    close(a.bottleneck_utilization, 0.9);
    assert_eq!(c.bottleneck_utilization, None);
}
