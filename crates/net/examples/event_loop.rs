//! The bare event loop: packets go from wire to wire, as many as a network has on its way and as
//! many times as in a run, and nothing happens to them.
//!
//! `event_loop LINKS PACKETS EVENTS` prints one line of JSON; the process' CPU time over the events
//! is the least that an event can cost. Links have the delays of the dumbbell that other
//! simulators are measured on: 1 ms and 21 ms in turns.

use std::process::ExitCode;

use cclab_net::calendar::Key;
use cclab_net::wires::Wires;
use cclab_packet::Packet;
use cclab_units::Time;

/// A packet every microsecond or slower.
const GAP: Time = Time::from_micros(1);
const DELAYS: [Time; 2] = [Time::from_millis(1), Time::from_millis(21)];
/// With more links than this, four a flow, memory is fetched ahead: `FLOWS_BEYOND_THE_CACHE` of the
/// simulator.
const LINKS_BEYOND_THE_CACHE: u64 = 6_000;

fn main() -> ExitCode {
    let args: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let (&[links, packets, events], true) = (&args[..], !args.contains(&0)) else {
        eprintln!("usage: event_loop LINKS PACKETS EVENTS");
        return ExitCode::from(2);
    };
    let mut wires = Wires::new(links as usize, links > LINKS_BEYOND_THE_CACHE);
    let packet = Packet::default();
    for sequence in 1..=packets {
        let at = Key::new(GAP * sequence, sequence);
        let held = wires.hold(&packet);
        wires.put(at, (sequence % links) as u32, Time::ZERO, held);
    }
    let mut last = Time::ZERO;
    for event in 0..events {
        let arrival = wires.next().time();
        let Some(taken) = wires.take() else {
            break;
        };
        last = arrival;
        let link = (u64::from(taken.link) + 1) % links;
        let arrives = last + DELAYS[(link % 2) as usize];
        let key = Key::new(arrives, packets + 1 + event);
        wires.put(key, link as u32, last, taken.packet);
    }
    println!(
        "{{\"events\": {events}, \"links\": {links}, \"packets\": {packets}, \"end_ns\": {}}}",
        last.as_nanos()
    );
    ExitCode::SUCCESS
}
