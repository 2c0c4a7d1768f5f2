//! The bare event loop: the calendar alone, with as many elements as a network has and as many
//! events as a run, none of which does anything but say when its element acts next.
//!
//! `event_loop ELEMENTS EVENTS` prints one line of JSON; the process' CPU time over the events is
//! the least that an event can cost.

use std::process::ExitCode;

use cclab_sim::calendar::{Calendar, Key};
use cclab_units::Time;

/// Elements act again after a millisecond to two: access links and bottlenecks alike.
const LEAST_WAIT_NS: u64 = 1_000_000;

fn main() -> ExitCode {
    let args: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let [elements, events] = args[..] else {
        eprintln!("usage: event_loop ELEMENTS EVENTS");
        return ExitCode::from(2);
    };
    let mut calendar = Calendar::new(elements as usize);
    // Multiplicative noise (Knuth's MMIX): cheaper than the events that it spreads.
    let mut noise = 1_u64;
    let mut wait = || {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Time::from_nanos(LEAST_WAIT_NS + (noise >> 44))
    };
    for element in 0..elements {
        calendar.set(element as u32, Key::new(wait(), element + 1));
    }
    let mut last = Time::ZERO;
    for event in 0..events {
        let (key, element) = calendar.next();
        last = key.time();
        calendar.set(element, Key::new(last + wait(), elements + 1 + event));
    }
    println!(
        "{{\"events\": {events}, \"elements\": {elements}, \"end_ns\": {}}}",
        last.as_nanos()
    );
    ExitCode::SUCCESS
}
