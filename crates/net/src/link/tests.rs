//! A link with nothing beside and one that keeps how long packets waited take in the same.

use cclab_qdisc::{Config, Limit};
use cclab_units::parameter::Params;

use super::*;

/// A link of `bps` before which so many `packets` wait, with something beside if it is `fitted`.
fn link(bps: u64, packets: u64, fitted: bool) -> Link {
    let config = Config {
        limit: Limit::Packets(packets),
        limit_is_exclusive: false,
        rate: Rate::from_bps(bps),
        params: Params::defaults(&[]),
    };
    let queue = cclab_qdisc::build("droptail", &config).expect("it is registered");
    let dice = Stream::new(1, "link");
    let mut link = Link::new(config.rate, Time::from_micros(1), queue, dice);
    if fitted {
        link.fit().sojourn = Some(Box::default());
    }
    link.foresee_departures();
    assert!(!link.asks());
    link
}

/// Where nobody asks how long packets waited, a transmitter that is free takes its queue as gone without
/// a look at it; where somebody does, each is looked at. Rates at which a packet takes less than a
/// nanosecond, and arrivals of one instant, are among these.
#[test]
fn what_has_left_is_the_same_with_and_without_a_look_at_it() {
    let mut dice = Stream::new(3, "arrivals");
    for bps in [
        10_000_000,
        1_000_000_000,
        400_000_000_000,
        1_000_000_000_000,
        4_000_000_000_000,
    ] {
        for packets in [1, 2, 7] {
            let (mut bare, mut fitted) = (link(bps, packets, false), link(bps, packets, true));
            let wire_ns = 1_500 * 8 * 1_000_000_000 / bps;
            let mut now = Time::from_micros(1);
            for step in 0..5_000 {
                now += Time::from_nanos(dice.bits() % (wire_ns + 2));
                let since = now - Time::from_nanos(dice.bits() % 3);
                let packet = Packet {
                    wire_len: if dice.chance(0.5) { 1_500 } else { 40 },
                    ..Packet::default()
                };
                assert_eq!(
                    bare.foresee::<false>(&packet, since, now),
                    fitted.foresee::<true>(&packet, since, now),
                    "packet {step} at {bps} bit/s, {packets} may wait"
                );
                let counted = [&bare, &fitted].map(|link| {
                    let Counters {
                        offered,
                        delivered,
                        taken_bytes,
                    } = link.counters;
                    let lost = link.aside.incidents.queue_drops;
                    [
                        offered,
                        delivered,
                        taken_bytes,
                        lost,
                        link.aside.backlog_max,
                    ]
                });
                assert_eq!(counted[0], counted[1], "{step} at {bps} bit/s");
            }
        }
    }
}
