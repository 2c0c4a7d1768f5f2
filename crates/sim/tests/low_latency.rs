//! Flows that send ECT(1) through DualPI2, beside those that do not (RFC 9332).

mod common;

use cclab_spec::{Limit, Scenario};
use cclab_units::Time;

use common::{Marks, dumbbell, flow, link, run_with, steady_goodput};

const PROPAGATION: Time = Time::from_millis(20);

/// DCTCP beside CUBIC over 40 Mbit/s, 20 ms and `dualpi2`.
fn beside_cubic(ect1: bool) -> Scenario {
    let mut bottleneck = link(
        Some(40_000_000),
        Time::from_millis(10),
        Limit::Packets(1_000),
    );
    bottleneck.queue.kind = "dualpi2".into();
    let mut scalable = flow("scalable", "dctcp");
    scalable.cc_params.insert("ect1".into(), f64::from(ect1));
    let flows = vec![scalable, flow("classic", "cubic")];
    let mut scenario = dumbbell("linux-6.12", bottleneck, flows, Time::from_secs(40));
    scenario.warmup = Time::from_secs(10);
    scenario.trace.interval = Time::from_millis(10);
    scenario
}

/// Of each flow the mean of its smoothed RTT over that of propagation, in s.
fn queueing(scenario: &Scenario) -> [f64; 2] {
    let mut marks = Marks::default();
    run_with(scenario, 1, &mut marks);
    [0, 1].map(|flow| {
        let later = marks.samples.iter().filter(|(at, _)| *at > scenario.warmup);
        let delays: Vec<f64> = later
            .filter(|(_, sample)| sample.flow == flow)
            .filter_map(|(_, sample)| Some((sample.srtt? - PROPAGATION).as_secs_f64()))
            .collect();
        delays.iter().sum::<f64>() / delays.len() as f64
    })
}

/// `step_thresh` is 1 ms and `target` 15 ms.
#[test]
fn a_flow_of_ect1_waits_for_the_step_and_a_classic_one_for_the_target() {
    let scenario = beside_cubic(true);
    let [scalable, classic] = queueing(&scenario);
    assert!((0.000_3..0.003).contains(&scalable), "{scalable}");
    assert!((0.008..0.022).contains(&classic), "{classic}");
    // Coupled, neither starves.
    let goodput = steady_goodput(&scenario, 1);
    assert!(goodput.iter().all(|&bps| bps > 8e6), "{goodput:?}");
}

/// ECT(0) belongs into the classic queue.
#[test]
fn without_it_both_wait_for_the_target() {
    let [scalable, classic] = queueing(&beside_cubic(false));
    assert!(scalable > 0.008 && classic > 0.008, "{scalable} {classic}");
}
