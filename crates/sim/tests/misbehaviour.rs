//! Flows whose receivers misbehave, over a network.

mod common;

use cclab_spec::{Limit, Misbehaviour, Place, Scenario};
use cclab_units::Time;

use common::{dumbbell, flow, link, loss, run};

/// A flow of a fixed window of 20 segments over 10 Mbit/s and 100 ms, a quarter of what the path holds.
fn of_twenty(receiver: Option<Misbehaviour>) -> Scenario {
    let bottleneck = link(Some(10_000_000), Time::from_millis(50), Limit::Packets(100));
    let mut twenty = flow("x", "unresponsive");
    let params = [("window".into(), 20.0), ("rate".into(), 1e12)];
    twenty.cc_params.extend(params);
    twenty.delayed_ack = Some(1);
    twenty.receiver = receiver;
    dumbbell("rfc", bottleneck, vec![twenty], Time::from_secs(20))
}

/// Each segment frees its place in the window when one that left eight places earlier came: the window
/// is as good as 28 segments, and the round trip of the others as short as those eight are.
#[test]
fn optimistic_acknowledgements_shorten_the_round_trip_and_raise_the_rate() {
    let honest = run(&of_twenty(None), 1).flows.swap_remove(0);
    let hopes = of_twenty(Some(Misbehaviour::OptimisticAcks { ahead: 8 }));
    let hopes = run(&hopes, 1).flows.swap_remove(0);
    let gain = hopes.bytes_received as f64 / honest.bytes_received as f64;
    assert!((gain - 28.0 / 20.0).abs() < 0.02, "{gain}");
    assert_eq!(hopes.retransmits, 0);
    let (seen, true_rtt) = (hopes.srtt_mean, honest.srtt_mean);
    assert!(seen < true_rtt, "{seen:?} {true_rtt:?}");
}

/// One in a hundred is lost: Reno that does not hear of it fills its window, and its application has 99
/// of a hundred bytes; Reno that does gets what the square root of the loss rate leaves.
#[test]
fn concealed_losses_leave_the_rate_and_cost_the_data() {
    let lossy = |receiver| {
        let mut scenario = of_twenty(receiver);
        scenario.flows[0].cc = "reno".into();
        scenario.flows[0].cc_params.clear();
        // The path without a queue: no other losses.
        scenario.flows[0].rwnd = Some(125_000);
        let lost = loss(Place::Router, 0.01);
        scenario.network.bottleneck.loss = vec![lost];
        scenario.duration = Some(Time::from_secs(60));
        run(&scenario, 1).flows.swap_remove(0)
    };
    let (honest, conceals) = (lossy(None), lossy(Some(Misbehaviour::LossConcealment)));
    assert!(conceals.bytes_received > 3 * honest.bytes_received);
    assert_eq!(conceals.retransmits, 0);
    let delivered = conceals.bytes_received as f64 / conceals.bytes_acked as f64;
    assert!((delivered - 0.99).abs() < 0.003, "{delivered}");
}
