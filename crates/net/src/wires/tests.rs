//! Puts and takes at random, beside a sorted map.

use std::collections::BTreeMap;

use cclab_units::Stream;

use super::*;

/// Delays of a LAN, of the Internet, of another planet, and none.
const DELAYS_NS: [u64; 5] = [0, 700, 300_000, 40_000_000, 90_000_000_000];

/// Takes the next packet, which is no more then.
fn take(wires: &mut Wires) -> Option<Arrival> {
    let arrives = wires.next().time();
    let Taken {
        packet: held,
        link,
        since,
    } = wires.take()?;
    let packet = *wires.packet(&held);
    wires.release(held);
    Some(Arrival {
        link,
        since,
        arrives,
        packet,
    })
}

/// Puts and takes at random, with between `least` and `most` packets on their way.
fn agrees_with_a_sorted_map(fetches: bool, [least, most]: [usize; 2], steps: u64) {
    let mut wires = Wires::new(7, fetches);
    let mut sorted: BTreeMap<Key, Arrival> = BTreeMap::new();
    let mut dice = Stream::new(5, "wires");
    let mut now = Time::ZERO;
    for sequence in 1..=steps {
        let grows = sorted.len() < least || (sorted.len() < most && dice.chance(0.5));
        if grows {
            let scale = DELAYS_NS[(dice.bits() % DELAYS_NS.len() as u64) as usize];
            let arrives = now + Time::from_nanos(dice.bits() % (scale + 1));
            let packet = Packet {
                seq: sequence as u32,
                ..Packet::default()
            };
            let (link, since) = ((dice.bits() % 7) as u32, now);
            let held = wires.hold(&packet);
            wires.put(Key::new(arrives, sequence), link, since, held);
            let arrival = Arrival {
                link,
                since,
                arrives,
                packet,
            };
            sorted.insert(Key::new(arrives, sequence), arrival);
        } else if let Some((key, expected)) = sorted.pop_first() {
            assert_eq!(wires.next(), key);
            assert_eq!(take(&mut wires), Some(expected));
            now = expected.arrives;
        }
    }
    let left: Vec<Arrival> = sorted.values().copied().collect();
    assert_eq!(wires.remaining(), left);
    for expected in left {
        assert_eq!(take(&mut wires), Some(expected));
    }
    assert_eq!((wires.take(), wires.next()), (None, Key::NEVER));
}

#[test]
fn few_packets_arrive_in_order() {
    agrees_with_a_sorted_map(false, [0, 12], 50_000);
    agrees_with_a_sorted_map(true, [0, 12], 50_000);
}

#[test]
fn many_packets_arrive_in_order_while_buckets_change() {
    agrees_with_a_sorted_map(false, [3_000, 5_000], 200_000);
    agrees_with_a_sorted_map(true, [3_000, 5_000], 200_000);
}

#[test]
fn a_slot_that_became_free_is_the_next_in_use() {
    let mut wires = Wires::new(7, false);
    for sequence in 1..=1_000 {
        let at = Key::new(Time::from_micros(sequence), sequence);
        let held = wires.hold(&Packet::default());
        wires.put(at, 0, Time::ZERO, held);
        take(&mut wires);
    }
    assert_eq!(wires.packets.len(), 1);
}

#[test]
fn lanes_that_a_burst_needed_are_left_when_it_has_passed() {
    let mut wires = Wires::new(7, false);
    for round in 0..3 {
        let from = 1_000 * round;
        // Each overtakes all before it, on a link of its own.
        for link in 0..6_u32 {
            let sequence = from + 1 + u64::from(link);
            let at = Key::new(Time::from_micros(from + 10 - u64::from(link)), sequence);
            let held = wires.hold(&Packet::default());
            wires.put(at, link, Time::ZERO, held);
        }
        assert_ne!(wires.beyond, NEVER, "six lanes in round {round}");
        let links: Vec<u32> = std::iter::from_fn(|| take(&mut wires))
            .map(|arrival| arrival.link)
            .collect();
        assert_eq!(links, [5, 4, 3, 2, 1, 0]);
        assert_eq!(wires.beyond, NEVER, "nothing is left of round {round}");
    }
}

#[test]
fn who_was_put_beyond_the_first_lanes_comes_back_though_it_never_pauses() {
    let mut wires = Wires::new(6, false);
    let mut sequence = 0;
    let mut put = |wires: &mut Wires, link, micros| {
        sequence += 1;
        let held = wires.hold(&Packet::default());
        wires.put(
            Key::new(Time::from_micros(micros), sequence),
            link,
            Time::ZERO,
            held,
        );
    };
    // Each overtakes all before it, and the last two have more to come.
    for link in 0..6 {
        put(&mut wires, link, 10 - u64::from(link));
    }
    put(&mut wires, 4, 1_000);
    put(&mut wires, 5, 1_001);
    assert!(wires.lane_of[4..].iter().all(|&lane| lane >= FEW as u8));
    for _ in 0..6 {
        take(&mut wires);
    }
    put(&mut wires, 4, 1_100);
    put(&mut wires, 5, 1_101);
    assert!(wires.lane_of[4..].iter().all(|&lane| lane < FEW as u8));
    let links: Vec<u32> = std::iter::from_fn(|| take(&mut wires))
        .map(|arrival| arrival.link)
        .collect();
    assert_eq!(links, [4, 5, 4, 5]);
}
