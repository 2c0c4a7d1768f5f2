//! Flows that send ECT(1) through DualPI2, beside those that do not (RFC 9332).

mod common;

use cclab_spec::{Codepoint, Ecn, Limit, Place, Remark, Scenario};
use cclab_units::{Rate, Time};

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

/// The key of a parameter of Prague's.
const TARGET: &str = "prague_rtt_target";

/// Flows of Prague over 40 Mbit/s and `dualpi2` without propagation, beside the given ones of theirs.
fn pragues(round_trips_ms: &[u64], target_s: Option<f64>) -> Scenario {
    let mut bottleneck = link(Some(40_000_000), Time::ZERO, Limit::Packets(1_000));
    bottleneck.queue.kind = "dualpi2".into();
    let flows = round_trips_ms.iter().map(|&ms| {
        let mut prague = flow(&format!("of {ms} ms"), "prague");
        prague.extra_delay = Time::from_micros(ms * 500);
        let target = target_s.map(|target| (TARGET.to_owned(), target));
        prague.cc_params.extend(target);
        prague
    });
    let mut scenario = dumbbell(
        "linux-6.12",
        bottleneck,
        flows.collect(),
        Time::from_secs(60),
    );
    scenario.warmup = Time::from_secs(20);
    scenario
}

/// RFC 9332: a flow of low latency waits for about the step, and fills the link. With accurate feedback
/// that takes no key of the study.
#[test]
fn prague_alone_fills_the_link_and_waits_for_the_step() {
    let mut scenario = pragues(&[20], None);
    scenario.trace.interval = Time::from_millis(10);
    let goodput = steady_goodput(&scenario, 1);
    // All but headers of 66 bytes in 1514.
    assert!(goodput[0] > 0.95 * 40e6 * 1_448.0 / 1_514.0, "{goodput:?}");
    let mut marks = Marks::default();
    run_with(&scenario, 1, &mut marks);
    let later = marks.samples.iter().filter(|(at, _)| *at > scenario.warmup);
    let delays = later.filter_map(|(_, sample)| Some((sample.srtt? - PROPAGATION).as_secs_f64()));
    let delays: Vec<f64> = delays.collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((0.000_2..0.002).contains(&mean), "{mean}");
}

/// The draft, section 2.4.4, and RFC 9331 section 4.3: below 25 ms the rate no longer depends on the
/// round trip. Without a target it is that of windows alike, or further apart.
#[test]
fn short_and_long_round_trips_get_the_same_rate() {
    let ratio = |target| {
        let goodput = steady_goodput(&pragues(&[5, 25], target), 1);
        goodput[0] / goodput[1]
    };
    let with = ratio(None);
    assert!((0.75..1.33).contains(&with), "{with}");
    let without = ratio(Some(0.0));
    assert!(without > 5.0, "{without}");
}

/// What the DualQ couples (RFC 9332 section 2.1): neither starves. Printed of Prague beside CUBIC at equal
/// round trips: more than twice as much.
#[test]
fn prague_beside_cubic_gets_more_and_waits_less() {
    let mut scenario = beside_cubic(true);
    scenario.flows[0].cc = "prague".into();
    scenario.flows[0].cc_params.clear();
    let [prague, cubic] = queueing(&scenario);
    assert!(prague < 0.002, "{prague}");
    assert!((0.008..0.022).contains(&cubic), "{cubic}");
    let goodput = steady_goodput(&scenario, 1);
    let ratio = goodput[0] / goodput[1];
    assert!((1.5..4.0).contains(&ratio), "{ratio}");
}

/// The draft, section 2.3.1: a receiver that does not count marks gets a Reno, whose packets wait in the
/// classic queue.
#[test]
fn prague_falls_back_where_marks_are_not_counted() {
    for receiver in [Ecn::Off, Ecn::Classic] {
        let mut scenario = beside_cubic(true);
        scenario.flows[0].cc = "prague".into();
        scenario.flows[0].cc_params.clear();
        scenario.flows[0].receiver_ecn = Some(receiver);
        let [fallen, cubic] = queueing(&scenario);
        assert!(fallen > 0.008 && cubic > 0.008, "{fallen} {cubic}");
        let mut reno = scenario.clone();
        reno.flows[0].cc = "reno".into();
        reno.flows[0].receiver_ecn = None;
        let [fallen, as_reno] = [&scenario, &reno].map(|it| steady_goodput(it, 1)[0]);
        assert!((fallen / as_reno - 1.0).abs() < 0.05, "{fallen} {as_reno}");
    }
}

/// CUBIC makes the same of marks, however they are told: one reduction in a round trip.
#[test]
fn cubic_does_not_mind_how_it_is_told() {
    let told = |ecn| {
        let mut bottleneck = link(Some(20_000_000), Time::from_millis(10), Limit::Packets(500));
        bottleneck.queue.kind = "codel".into();
        bottleneck.queue.params.insert("ecn".into(), 1.0);
        let mut cubic = flow("told", "cubic");
        cubic.ecn = ecn;
        let mut scenario = dumbbell("linux-6.12", bottleneck, vec![cubic], Time::from_secs(40));
        scenario.warmup = Time::from_secs(5);
        let summary = run_with(&scenario, 1, &mut ());
        assert_eq!(summary.flows[0].retransmits, 0);
        assert!(summary.flows[0].ecn_echoes > 0);
        steady_goodput(&scenario, 1)[0]
    };
    let [echoed, counted] = [Ecn::Classic, Ecn::Accurate].map(told);
    assert!((counted / echoed - 1.0).abs() < 0.02, "{echoed} {counted}");
}

fn remark(at: Place, to: &[(Codepoint, Codepoint)], probability: f64) -> Remark {
    Remark {
        at,
        to: to.iter().copied().collect(),
        probability,
    }
}

/// Marks at random of 2%, and a link that is never full: in a virtual round trip a flow sends
/// m (1 - p) / p segments, with m = 2 (1 + 1/m), which is 1 + sqrt(3): it loses p/2 of the window in a
/// virtual round trip and the time until the next mark (worked out in `prague.rs`).
///
/// Of 20 ms, a mark in the 5 ms between the end of a round and that of the virtual one begins another
/// round and costs nothing. One comes there with q = 1 - exp(-m / 5), and then 42.5 ms instead of 25 pass
/// on average before the wait for the next: m = 2 (1 + 0.7 q + 1/m), which is 3.28.
#[test]
fn marks_at_random_give_the_rate_of_the_formula() {
    let alone = 1.0 + 3.0_f64.sqrt();
    for (rtt_ms, virtual_ms, m) in [(5, 25, alone), (20, 25, 3.28), (50, 50, alone)] {
        let mut scenario = pragues(&[rtt_ms], None);
        let bottleneck = &mut scenario.network.bottleneck;
        bottleneck.rate = Rate::from_bps(1_000_000_000);
        bottleneck.remark = vec![remark(
            Place::Router,
            &[(Codepoint::Ect1, Codepoint::Ce)],
            0.02,
        )];
        let segments = m * 0.98 / 0.02;
        let expected = segments * 1_448.0 * 8_000.0 / f64::from(virtual_ms);
        let ratio = steady_goodput(&scenario, 1)[0] / expected;
        assert!((0.85..1.15).contains(&ratio), "{rtt_ms} ms: {ratio}");
    }
}

/// RFC 9331 section 5.4.1.1 and RFC 9768 section 3.2.2.3: where codepoints are cleared before the queue,
/// a flow of Prague sees that in the handshake, sends what cannot be marked, and lives by losses. Cleared
/// behind it, marks are lost to it, and its data are dropped in the end.
#[test]
fn a_path_that_bleaches_leaves_losses() {
    use Codepoint::{Ce, Ect0, Ect1, NotEct};
    for at in [Place::Router, Place::Receiver] {
        let mut scenario = pragues(&[20], None);
        scenario.network.bottleneck.remark = vec![remark(
            at,
            &[(Ect1, NotEct), (Ect0, NotEct), (Ce, NotEct)],
            1.0,
        )];
        let summary = run_with(&scenario, 1, &mut ());
        let flow = &summary.flows[0];
        assert_eq!(flow.ecn_echoes, 0, "{at:?}");
        assert!(flow.retransmits > 0, "{at:?}");
        // Only the SYN could be marked: the next packets are not capable.
        assert!(
            summary.links[0].marks <= 1,
            "{at:?} {}",
            summary.links[0].marks
        );
        let goodput = steady_goodput(&scenario, 1);
        assert!(goodput[0] > 0.8 * 40e6, "{goodput:?}");
    }
}

/// ECT(1) that has become ECT(0) waits in the classic queue; CE that is forgotten at the end of a tunnel
/// leaves nothing to react to but losses.
#[test]
fn what_becomes_of_a_codepoint_decides_the_queue() {
    use Codepoint::{Ce, Ect0, Ect1};
    let mut scenario = beside_cubic(true);
    scenario.network.bottleneck.remark = vec![remark(Place::Router, &[(Ect1, Ect0)], 1.0)];
    let [scalable, classic] = queueing(&scenario);
    assert!(scalable > 0.008 && classic > 0.008, "{scalable} {classic}");
    let mut tunnel = pragues(&[20], None);
    tunnel.network.bottleneck.remark = vec![remark(Place::Receiver, &[(Ce, Ect1)], 1.0)];
    let summary = run_with(&tunnel, 1, &mut ());
    assert!(summary.links[0].marks > 1_000, "{}", summary.links[0].marks);
    assert_eq!(summary.flows[0].ecn_echoes, 0);
    assert!(summary.flows[0].retransmits > 0);
}
