//! Runs beside a study's own: which there are, and what is in them.

use std::collections::BTreeSet;

use cclab_spec::{Baseline, LossModel, Names, Overrides, Plan, Scenario, Study, run_id};

const PAIR: &str = r#"
duration = "10s"
[network.bottleneck]
rate = "10Mbit"
delay = "10ms"
queue = { limit = "1bdp" }
loss = [{ packets = [7], flow = "b" }, "1%"]
reverse = { loss = { packets = [3], flow = "a" } }
schedule = [
    { when = { flow = "a", column = "phase", is = "x" }, delay = "7ms" },
    { when = { flow = "b", column = "phase", is = "x" }, delay = "8ms" },
]
[[flow]]
name = "a"
cc = "vegas"
rwnd = "64kB"
transfer = "1MB"
[[flow]]
name = "b"
start = "2s"
rtt = "80ms"
[[traffic]]
kind = "constant-rate"
rate = "1Mbit"
[trace]
capture = ["bottleneck", "a.sender", "b.sender", "b.receiver", "a.left.access", "b.right.access",
           "traffic1.left.access.reverse"]
"#;

fn plan(text: &str, set: &[&str]) -> Plan {
    let overrides = Overrides {
        set: set.iter().map(|&text| text.to_owned()).collect(),
        ..Overrides::default()
    };
    let mut names = Names::default();
    for (metric, baseline) in [
        ("goodput_bps", None),
        ("harm_delay", Some(Baseline::Solo)),
        ("friendliness", Some(Baseline::Own)),
    ] {
        names.metrics.register("flow", metric, baseline);
    }
    let study = Study::load_knowing(text, "study.toml", names).expect("a good study");
    study
        .plan(&overrides, &|_, _| "1".to_owned())
        .expect("a good study")
}

fn scenario() -> Scenario {
    plan(PAIR, &[]).scenarios[0].scenario.clone()
}

fn ids(scenarios: impl IntoIterator<Item = Scenario>) -> BTreeSet<String> {
    let each = scenarios.into_iter();
    each.map(|one| run_id(&one, 1, "sim", "1")).collect()
}

#[test]
fn a_flow_alone_keeps_its_network_and_the_cross_traffic() {
    let pair = scenario();
    let mut expected = pair.clone();
    expected.flows.remove(0);
    expected.trace.capture = [
        "bottleneck",
        "b.sender",
        "b.receiver",
        "b.right.access",
        "traffic1.left.access.reverse",
    ]
    .map(str::to_owned)
    .to_vec();
    // What was listed to be lost of `a` must not be lost of `b`.
    let reverse = expected.network.bottleneck.reverse.as_mut();
    let LossModel::Packets(list) = &mut reverse.expect("written").loss[0].model else {
        panic!("a list is written");
    };
    list.packets.clear();
    // What waits for a state of `a` never comes, either way.
    let bottleneck = &mut expected.network.bottleneck;
    assert_eq!(bottleneck.triggered.remove(0).when.flow, "a");
    let reverse = bottleneck.reverse.as_mut().expect("written");
    assert_eq!(reverse.triggered.remove(0).when.flow, "a");
    assert_eq!(Baseline::Solo.of(&pair, 1), Some(expected));
}

#[test]
fn among_its_own_kind_a_flow_has_others_in_their_places() {
    let pair = scenario();
    let own = Baseline::Own.of(&pair, 0).expect("two flows");
    assert_eq!(own.flows[0], pair.flows[0]);
    let (other, before) = (&own.flows[1], &pair.flows[1]);
    assert_eq!((other.cc.as_str(), other.rwnd), ("vegas", Some(64_000)));
    assert_eq!(
        (&other.name, other.start, other.extra_delay, other.transfer),
        (&before.name, before.start, before.extra_delay, None)
    );
    let alike = plan(PAIR, &["flow.b.cc=vegas", "flow.b.rwnd=64kB"]);
    assert_eq!(own, alike.scenarios[0].scenario);
    // Of one kind already: the run itself.
    assert_eq!(Baseline::Own.of(&own, 1), Some(own));
}

#[test]
fn beside_a_program_all_end_as_the_flow_does() {
    let program = plan(
        PAIR,
        &["flow.b.command=[\"send\"]", "flow.b.duration=\"3s\""],
    );
    let pair = &program.scenarios[0].scenario;
    let bulk = Baseline::Own.of(pair, 0).expect("two flows");
    assert_eq!(
        (&bulk.flows[1].command, bulk.flows[1].transfer),
        (&None, Some(1_000_000))
    );
    let programs = Baseline::Own.of(pair, 1).expect("two flows");
    assert_eq!(
        (programs.flows[0].transfer, programs.flows[0].duration),
        (None, pair.flows[1].duration)
    );
}

#[test]
fn one_flow_has_nothing_to_be_compared_with() {
    let mut alone = scenario();
    assert_eq!(Baseline::Solo.of(&alone, 2), None);
    alone.flows.truncate(1);
    assert_eq!(Baseline::Solo.of(&alone, 0), None);
    assert_eq!(Baseline::Own.of(&alone, 0), None);
}

#[test]
fn sweep_points_share_their_baselines() {
    let variants = ["reno", "cubic", "vegas", "bbr"];
    let lists = ["a", "b"].map(|flow| format!("sweep.flow.{flow}.cc={variants:?}"));
    let sweep = plan(PAIR, &[&lists[0], &lists[1]]);
    let of = |baseline: Baseline| {
        let points = sweep.scenarios.iter();
        ids(points.flat_map(|point| {
            (0..2).map(move |index| baseline.of(&point.scenario, index).expect("two flows"))
        }))
    };
    assert_eq!(sweep.scenarios.len(), 16);
    assert_eq!(of(Baseline::Solo).len(), 2 * 4);
    assert_eq!(of(Baseline::Own).len(), 2 * 4); // `a` has a window of its own, so its kind has.
}

#[test]
fn they_are_made_where_the_study_or_a_check_asks_for_them() {
    let asked = |set: &[&str]| plan(PAIR, set).baselines;
    assert_eq!(asked(&[]), []);
    assert_eq!(asked(&["baselines=solo"]), [Baseline::Solo]);
    assert_eq!(
        asked(&["baselines=[\"self\", \"solo\", \"self\"]"]),
        [Baseline::Solo, Baseline::Own]
    );
    assert_eq!(
        asked(&["expect.gentle=flow.a.harm_delay < 0.5"]),
        [Baseline::Solo]
    );
    assert_eq!(
        asked(&["baselines=solo", "expect.kind=flow.a.friendliness > 0.5"]),
        [Baseline::Solo, Baseline::Own]
    );
    assert_eq!(asked(&["expect.fast=flow.a.goodput_bps > 1"]), []);
}

#[test]
fn they_change_no_run() {
    assert_eq!(
        plan(PAIR, &[]).runs,
        plan(PAIR, &["baselines=[\"solo\", \"self\"]"]).runs
    );
}
