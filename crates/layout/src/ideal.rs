//! How long a transfer takes alone on its empty path, in closed form: the measure of slowdown.
//!
//! The connection is opened by a SYN and its answer; then data leave by slow start: the window
//! begins at the initial one and doubles each round trip up to the receiver's, until a round's
//! transmission fills the round trip; from there on the bottleneck sends without a pause. Every
//! segment is acknowledged at once. A stack that delays acknowledgements, paces, or leaves slow
//! start early is slower than that even alone.

use cclab_spec::{Flow, Scenario};
use cclab_units::{Rate, Time};

use crate::ends::Ends;
use crate::layout::{Journey, Layout, LinkId};

/// A link of the path.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Its rate; `None`: infinitely fast.
    pub rate: Option<Rate>,
    /// Propagation.
    pub delay: Time,
}

impl Hop {
    fn time_of(&self, bytes: u64) -> Time {
        self.rate.map_or(Time::ZERO, |rate| rate.time_of(bytes))
    }
}

/// A path, and the sizes of packets on it.
#[derive(Clone, Debug)]
pub struct Ideal {
    /// From the sender to the receiver.
    pub data: Vec<Hop>,
    /// And back.
    pub acks: Vec<Hop>,
    /// Payload bytes of a full segment.
    pub mss: u64,
    /// Bytes on the link beyond the payload, which are an acknowledgement's size.
    pub overhead: u64,
    /// Bytes of a SYN and of its answer.
    pub syn: u64,
    /// Initial window in segments.
    pub initial_window: u64,
    /// Largest window in segments.
    pub largest_window: u64,
}

impl Ideal {
    /// The path of `journey` for transfers between `ends`.
    pub fn of(layout: &Layout, journey: &Journey, ends: &Ends) -> Ideal {
        let hop = |&link: &LinkId| Hop {
            rate: layout.rate(link),
            delay: layout.delay(link),
        };
        let hops = |way: &[LinkId]| way.iter().map(hop).collect();
        Ideal {
            data: hops(&journey.data),
            acks: hops(&journey.acks),
            mss: ends.payload,
            overhead: ends.overhead,
            syn: ends.syn,
            initial_window: ends.initial_window,
            largest_window: (ends.rwnd / ends.payload).max(1),
        }
    }

    /// From the arrival of a transfer of `size` bytes to the arrival of its last byte.
    pub fn completion(&self, size: u64) -> Time {
        let segments = size.div_ceil(self.mss).max(1);
        let full = self.mss + self.overhead;
        let last = size.max(1) - (segments - 1) * self.mss + self.overhead;
        let round = unhindered(&self.data, full) + unhindered(&self.acks, self.overhead);
        let spacing = slowest(&self.data, full);
        let handshake = unhindered(&self.data, self.syn) + unhindered(&self.acks, self.syn);
        // The handshake's last acknowledgement leaves right before the data.
        let first = if segments == 1 { last } else { full };
        let held_up = behind(&self.data, self.overhead, first) - unhindered(&self.data, first);
        let begun = handshake + held_up;

        let mut rounds = 0;
        let mut left = segments;
        let mut window = self.initial_window.min(self.largest_window).max(1);
        while left > window && spacing * window < round {
            left -= window;
            rounds += 1;
            window = (2 * window).min(self.largest_window.max(1));
        }
        let first_of_last_two = begun + round * rounds;
        match left {
            1 => first_of_last_two + unhindered(&self.data, last),
            _ => first_of_last_two + spacing * (left - 2) + behind(&self.data, full, last),
        }
    }
}

/// How long the transfer of `flow` takes alone on the way of `journey`; `None` of a flow without
/// one, and where something else than the path sets its pace: its application, its writes, a
/// program, the packet rate of a host or router.
pub fn alone(
    scenario: &Scenario,
    flow: &Flow,
    layout: &Layout,
    journey: &Journey,
    ends: &Ends,
) -> Option<Time> {
    let transfer = flow.transfer?;
    let paced = flow.udp.is_some()
        || flow.application.is_some()
        || flow.writes_per_second.is_some()
        || flow.duration.is_some()
        || flow.command.is_some()
        || flow.packet_rate.is_some()
        || scenario.network.router.is_some();
    (!paced).then(|| Ideal::of(layout, journey, ends).completion(transfer))
}

/// The time a packet of `bytes` takes when nothing is in its way.
fn unhindered(way: &[Hop], bytes: u64) -> Time {
    way.iter().map(|hop| hop.delay + hop.time_of(bytes)).sum()
}

/// The longest transmission on the way: the distance of packets that follow one another.
fn slowest(way: &[Hop], bytes: u64) -> Time {
    let times = way.iter().map(|hop| hop.time_of(bytes));
    times.max().unwrap_or(Time::ZERO)
}

/// The time until a packet of `last` bytes has arrived that follows one of `first` bytes closely.
fn behind(way: &[Hop], first: u64, last: u64) -> Time {
    let mut ends = (Time::ZERO, Time::ZERO);
    for hop in way {
        let sent = ends.0 + hop.time_of(first);
        let sent_behind = sent.max(ends.1) + hop.time_of(last);
        ends = (sent + hop.delay, sent_behind + hop.delay);
    }
    ends.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Mbit/s between fast access links, 10 ms one way.
    fn path() -> Ideal {
        let hop = |mbit: u64, us: u64| Hop {
            rate: Rate::from_bps(mbit * 1_000_000),
            delay: Time::from_micros(us),
        };
        let way = vec![hop(100, 1_000), hop(10, 8_000), hop(100, 1_000)];
        Ideal {
            data: way.clone(),
            acks: way,
            mss: 1_448,
            overhead: 52,
            syn: 60,
            initial_window: 10,
            largest_window: 1_000,
        }
    }

    fn us(us: u64) -> Time {
        Time::from_micros(us)
    }

    #[test]
    fn one_segment_takes_the_handshake_and_a_way() {
        let path = path();
        // A packet of 1500 bytes takes 120 + 1200 + 120 us and 10 ms; 52 bytes 41.6 us on the
        // bottleneck, 4.16 us on each access link; a SYN of 60 bytes 48 us and twice 4.8 us.
        let handshake = (us(10_048) + Time::from_nanos(9_600)) * 2;
        // The acknowledgement holds the data up on the access link, for 4.16 us, and then for
        // what is left on the bottleneck of its 41.6 us when they come 120 us behind it: nothing.
        let begun = handshake + Time::from_nanos(4_160);
        assert_eq!(path.completion(1_448), begun + us(11_440));
        // Ten segments fit the initial window: nine more transmissions.
        assert_eq!(path.completion(14_480), begun + us(11_440 + 9 * 1_200));
        // The eleventh waits for the first acknowledgement, a round trip after the first left.
        let round = us(11_440) + us(10_041) + Time::from_nanos(8_920);
        assert_eq!(path.completion(14_481 + 1_447), begun + round + us(11_440));
    }

    #[test]
    fn a_long_transfer_takes_its_time_at_the_rate_of_the_bottleneck() {
        let path = path();
        let size = 1_448 * 100_000;
        let took = path.completion(size).as_secs_f64();
        let transmission = 100_000.0 * 1.2e-3;
        assert!(took > transmission && took < transmission + 0.1, "{took}");
    }

    #[test]
    fn a_small_window_is_sent_once_a_round_trip() {
        let mut path = path();
        path.largest_window = 4;
        let round = us(11_440) + us(10_041) + Time::from_nanos(8_920);
        let first = path.completion(4 * 1_448);
        assert_eq!(path.completion(12 * 1_448), first + round * 2);
    }
}
