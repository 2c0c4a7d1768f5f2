//! The receiver against the standards' own examples, and against any order of arrival.

use proptest::prelude::*;

use cclab_cc::EcnFeedback;

use super::*;
use crate::profile::{AckDelay, Profile, find};

const ISN: u32 = 7_000;
const PEER_ISN: u32 = 4_999;

fn profile(name: &str) -> &'static Profile {
    find(name).expect("a profile of the registry")
}

pub(super) fn config(name: &str) -> ReceiverConfig {
    let profile = profile(name);
    ReceiverConfig {
        wire: profile.wire,
        ack: profile.ack,
        rwnd_max: 1 << 20,
        buffer: None,
        ecn: EcnMode::Off,
        feedback: EcnFeedback::Classic,
        codepoint: cclab_packet::Ecn::Ect0,
        mss_payload: 1_000,
        misbehaviour: None,
    }
}

/// Of flow 3.
fn receiver(config: ReceiverConfig) -> Receiver {
    Receiver::new(3, ISN, Arc::new(config))
}

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// A sender by hand: sequence numbers are written out, as the standards' tables have them.
struct Bench {
    receiver: Receiver,
    now: Time,
    isn: u32,
}

impl Bench {
    /// Connected, the sender's first byte at `isn + 1`.
    fn connected(config: &ReceiverConfig, isn: u32) -> Bench {
        let mut bench = Bench {
            receiver: receiver(*config),
            now: Time::ZERO,
            isn,
        };
        let reply = bench.send(&bench.syn());
        assert!(reply.expect("a SYN-ACK").has(flags::SYN | flags::ACK));
        let ack = bench.data(isn.wrapping_add(1), 0);
        assert_eq!(bench.send(&ack), None);
        bench
    }

    fn syn(&self) -> Packet {
        Packet {
            seq: self.isn,
            flags: flags::SYN,
            tsval: 1,
            wscale_plus_one: 8,
            ..Packet::default()
        }
    }

    fn data(&self, seq: u32, payload: u16) -> Packet {
        Packet {
            seq,
            payload,
            flags: flags::ACK,
            tsval: timestamp(self.now),
            ..Packet::default()
        }
    }

    fn send(&mut self, packet: &Packet) -> Option<Packet> {
        self.receiver.on_packet(self.now, packet);
        let reply = self.receiver.poll_transmit(self.now);
        assert_eq!(self.receiver.poll_transmit(self.now), None);
        reply
    }

    /// Sends `[first, last]` in the notation of RFC 2883; returns the ACK number and blocks.
    fn arrives(&mut self, first: u32, last: u32) -> (u32, Vec<(u32, u32)>) {
        let packet = self.data(first, (last + 1 - first) as u16);
        let reply = self.send(&packet).expect("an acknowledgement at once");
        (reply.ack, reply.sack_blocks().to_vec())
    }
}

/// Every segment acknowledged, as the examples of the standards assume.
fn prompt(name: &str) -> ReceiverConfig {
    let mut config = config(name);
    config.ack.every = 1;
    config.ack.compression = None;
    config
}

#[test]
fn the_handshake_agrees_on_options() {
    let mut receiver = receiver(ReceiverConfig {
        ecn: EcnMode::Classic,
        ..config("linux-6.12")
    });
    assert_eq!(receiver.poll_transmit(ms(5)), None);
    let syn = Packet {
        seq: u32::MAX,
        flags: flags::SYN | flags::ECE | flags::CWR,
        tsval: 77,
        wscale_plus_one: 1,
        ..Packet::default()
    };
    receiver.on_packet(ms(5), &syn);
    let reply = receiver.poll_transmit(ms(5)).expect("a SYN-ACK");
    assert_eq!(
        (reply.seq, reply.ack, reply.flow, reply.backward),
        (ISN, 0, 3, true)
    );
    assert_eq!(reply.flags, flags::SYN | flags::ACK | flags::ECE);
    assert_eq!((reply.tsval, reply.tsecr), (6, 77));
    // 1 MiB needs a shift of 5; the field of a SYN is not scaled.
    assert_eq!((reply.wscale_plus_one, reply.window), (6, 65_535));
    // 40 of headers, 20 of options, 14 of Ethernet.
    assert_eq!(reply.wire_len, 74);
    // The SYN-ACK was lost: the same answer again.
    receiver.on_packet(ms(1_005), &syn);
    assert_eq!(
        receiver.poll_transmit(ms(1_005)).map(|p| (p.flags, p.ack)),
        Some((reply.flags, 0))
    );
}

#[test]
fn what_the_sender_does_not_offer_is_not_used() {
    let mut receiver = receiver(ReceiverConfig {
        ecn: EcnMode::Classic,
        ..config("linux-6.12")
    });
    receiver.on_packet(
        ms(0),
        &Packet {
            seq: 9,
            flags: flags::SYN,
            ..Packet::default()
        },
    );
    let reply = receiver.poll_transmit(ms(0)).expect("a SYN-ACK");
    assert_eq!((reply.tsval, reply.wscale_plus_one), (0, 0));
    assert!(!reply.has(flags::ECE));
    receiver.on_packet(
        ms(1),
        &Packet {
            seq: 10,
            payload: 1_000,
            ..Packet::default()
        },
    );
    receiver.on_packet(
        ms(1),
        &Packet {
            seq: 1_010,
            payload: 1_000,
            ..Packet::default()
        },
    );
    let ack = receiver.poll_transmit(ms(1)).expect("an acknowledgement");
    // Whole segments of what the field expresses.
    assert_eq!(
        (ack.window, ack.wire_len, receiver.window()),
        (65_000, 54, 65_000)
    );
}

#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_late() {
    let mut config = config("ns3-3.1x");
    config.ack.quick_acks = 0;
    let mut bench = Bench::connected(&config, PEER_ISN);
    bench.now = ms(10);
    assert_eq!(bench.send(&bench.data(5_000, 1_000)), None);
    assert_eq!(bench.receiver.deadline(), ms(210));
    let ack = bench
        .send(&bench.data(6_000, 1_000))
        .expect("the second segment's ACK");
    // 20 + 20 + 12 + 2.
    assert_eq!(
        (ack.seq, ack.ack, ack.wire_len, ack.flags),
        (ISN + 1, 7_000, 54, flags::ACK)
    );
    assert_eq!(bench.receiver.deadline(), Time::NEVER);
    bench.now = ms(20);
    assert_eq!(bench.send(&bench.data(7_000, 1_000)), None);
    bench.receiver.on_timer(ms(219));
    assert_eq!(bench.receiver.poll_transmit(ms(219)), None);
    bench.receiver.on_timer(ms(220));
    assert_eq!(
        bench.receiver.poll_transmit(ms(220)).map(|p| p.ack),
        Some(8_000)
    );
    assert_eq!(bench.receiver.deadline(), Time::NEVER);
    assert_eq!(bench.receiver.bytes_received(), 3_000);
    assert_eq!(
        (bench.receiver.first_byte(), bench.receiver.last_byte()),
        (Some(ms(10)), Some(ms(20)))
    );
}

#[test]
fn the_first_segments_are_acknowledged_at_once_by_linux() {
    let mut bench = Bench::connected(&config("linux-6.12"), PEER_ISN);
    let acked = (0..20)
        .filter(|i| bench.send(&bench.data(5_000 + 1_000 * i, 1_000)).is_some())
        .collect::<Vec<_>>();
    assert_eq!(acked[..16], (0..16).collect::<Vec<_>>());
    assert_eq!(acked[16..], [17, 19]);
}

/// RFC 7323 section 4.3: the echo is that of the first segment the ACK covers.
#[test]
fn the_echo_includes_the_wait_for_the_acknowledgement() {
    let mut config = config("ns3-3.1x");
    config.ack.quick_acks = 0;
    let mut bench = Bench::connected(&config, PEER_ISN);
    bench.now = ms(10);
    bench.send(&bench.data(5_000, 1_000));
    bench.now = ms(30);
    let ack = bench
        .send(&bench.data(6_000, 1_000))
        .expect("an acknowledgement");
    assert_eq!((ack.tsval, ack.tsecr), (31, 11));
    // A segment past a gap does not change the echo; the one that fills the gap does.
    bench.now = ms(40);
    bench.send(&bench.data(7_000, 1_000));
    bench.now = ms(50);
    assert_eq!(
        bench.send(&bench.data(9_000, 1_000)).map(|p| p.tsecr),
        Some(41)
    );
    bench.now = ms(60);
    assert_eq!(
        bench.send(&bench.data(8_000, 1_000)).map(|p| p.tsecr),
        Some(61)
    );
}

/// RFC 2018 section 7: eight segments of 500 bytes from 5000.
#[test]
fn rfc_2018_case_2_the_first_segment_is_lost() {
    let mut bench = Bench::connected(&prompt("ns2"), PEER_ISN);
    let lefts = (5_500..9_000).step_by(500);
    for left in lefts {
        assert_eq!(
            bench.arrives(left, left + 499),
            (5_000, vec![(5_500, left + 500)])
        );
    }
}

#[test]
fn rfc_2018_case_3_every_second_segment_is_lost() {
    let mut bench = Bench::connected(&prompt("linux-6.12"), PEER_ISN);
    let table = [
        (5_000, 5_500, vec![]),
        (6_000, 5_500, vec![(6_000, 6_500)]),
        (7_000, 5_500, vec![(7_000, 7_500), (6_000, 6_500)]),
        (
            8_000,
            5_500,
            vec![(8_000, 8_500), (7_000, 7_500), (6_000, 6_500)],
        ),
        // The fourth segment comes late, then the second.
        (6_500, 5_500, vec![(6_000, 7_500), (8_000, 8_500)]),
        (5_500, 7_500, vec![(8_000, 8_500)]),
    ];
    for (trigger, ack, blocks) in table {
        assert_eq!(
            bench.arrives(trigger, trigger + 499),
            (ack, blocks),
            "{trigger}"
        );
    }
}

#[test]
fn blocks_take_room_on_the_wire() {
    let mut bench = Bench::connected(&prompt("linux-6.12"), PEER_ISN);
    let sizes: Vec<_> = (1..6)
        .map(|i| {
            bench
                .send(&bench.data(5_000 + 2_000 * i, 1_000))
                .expect("a duplicate ACK")
        })
        .map(|p| (p.sack_len, p.wire_len))
        .collect();
    // 14 + 40 + 12, then 2 + 8n and two bytes of padding; three blocks beside a timestamp.
    assert_eq!(sizes, [(1, 78), (2, 86), (3, 94), (3, 94), (3, 94)]);
    let mut bench = Bench::connected(&prompt("ns2"), PEER_ISN);
    let last = (1..6)
        .map(|i| bench.send(&bench.data(5_000 + 2_000 * i, 1_000)))
        .last()
        .flatten();
    assert_eq!(last.map(|p| (p.sack_len, p.wire_len)), Some((4, 76)));
}

/// RFC 2883 sections 4.1.1 to 4.1.3.
#[test]
fn rfc_2883_duplicate_segments() {
    let mut bench = Bench::connected(&prompt("linux-6.12"), 2_999);
    assert_eq!(bench.arrives(3_000, 3_499), (3_500, vec![]));
    assert_eq!(bench.arrives(3_500, 3_999), (4_000, vec![]));
    assert_eq!(bench.arrives(3_000, 3_499), (4_000, vec![(3_000, 3_500)]));
    assert_eq!(bench.arrives(4_500, 4_999), (4_000, vec![(4_500, 5_000)]));
    assert_eq!(
        bench.arrives(3_000, 3_499),
        (4_000, vec![(3_000, 3_500), (4_500, 5_000)])
    );
    assert_eq!(bench.arrives(5_000, 5_499), (4_000, vec![(4_500, 5_500)]));
    assert_eq!(
        bench.arrives(5_000, 5_499),
        (4_000, vec![(5_000, 5_500), (4_500, 5_500)])
    );
    assert_eq!(bench.receiver.counters().duplicates, 3);
    assert_eq!(bench.receiver.counters().out_of_order, 2);
}

/// RFC 2883 section 4.2: the sender's segments grew between transmissions.
#[test]
fn rfc_2883_partial_duplicates() {
    let mut bench = Bench::connected(&prompt("linux-6.12"), 499);
    assert_eq!(bench.arrives(500, 999), (1_000, vec![]));
    assert_eq!(bench.arrives(2_000, 2_499), (1_000, vec![(2_000, 2_500)]));
    assert_eq!(bench.arrives(1_000, 1_499), (1_500, vec![(2_000, 2_500)]));
    assert_eq!(bench.arrives(1_000, 1_999), (2_500, vec![(1_000, 1_500)]));
    // A duplicate of a block above the gap is followed by the block that holds it.
    assert_eq!(bench.arrives(3_500, 3_999), (2_500, vec![(3_500, 4_000)]));
    assert_eq!(
        bench.arrives(3_000, 3_999),
        (2_500, vec![(3_500, 4_000), (3_000, 4_000)])
    );
    // One that reaches over the gap reports what it met beyond it.
    assert_eq!(bench.arrives(2_500, 3_499), (4_000, vec![(3_000, 3_500)]));
}

#[test]
fn an_idle_application_closes_the_window_and_a_reading_one_reopens_it() {
    let mut bench = Bench::connected(
        &ReceiverConfig {
            rwnd_max: 4_000,
            ..prompt("ns2")
        },
        PEER_ISN,
    );
    bench.receiver.set_reading(false);
    let windows: Vec<_> = (0..4)
        .map(|i| {
            bench
                .send(&bench.data(5_000 + 1_000 * i, 1_000))
                .map(|p| p.window)
        })
        .collect();
    assert_eq!(windows, [Some(3_000), Some(2_000), Some(1_000), Some(0)]);
    // A probe of one byte, and one of none, are answered at once; the byte is refused.
    let probe = bench.send(&bench.data(9_000, 1)).expect("an answer");
    assert_eq!((probe.ack, probe.window), (9_000, 0));
    let probe = bench.send(&bench.data(8_999, 0)).expect("an answer");
    assert_eq!((probe.ack, probe.window), (9_000, 0));
    assert_eq!(
        (
            bench.receiver.bytes_received(),
            bench.receiver.counters().refused
        ),
        (4_000, 1)
    );
    // Less than a segment is not worth an update, not even when asked.
    assert_eq!(bench.receiver.read(999), 999);
    assert_eq!(bench.receiver.poll_transmit(bench.now), None);
    assert_eq!(bench.send(&bench.data(8_999, 0)).map(|p| p.window), Some(0));
    assert_eq!(bench.receiver.read(1), 1);
    let update = bench
        .receiver
        .poll_transmit(bench.now)
        .expect("a window update");
    assert_eq!((update.ack, update.window), (9_000, 1_000));
    bench.receiver.set_reading(true);
    assert_eq!(
        bench.receiver.poll_transmit(bench.now).map(|p| p.window),
        Some(4_000)
    );
    assert_eq!(bench.receiver.unread(), 0);
}

#[test]
fn data_past_the_window_is_cut_off() {
    let mut bench = Bench::connected(
        &ReceiverConfig {
            rwnd_max: 1_500,
            ..prompt("ns2")
        },
        PEER_ISN,
    );
    bench.receiver.set_reading(false);
    let mut last = bench.data(6_000, 1_000);
    last.flags |= flags::FIN;
    assert_eq!(bench.send(&last).map(|p| p.sack[0]), Some((6_000, 6_500)));
    assert_eq!(
        bench
            .send(&bench.data(5_000, 1_000))
            .map(|p| (p.ack, p.window)),
        Some((6_500, 0))
    );
    assert!(!bench.receiver.fin_received());
    bench.receiver.set_reading(true);
    assert_eq!(
        bench.receiver.poll_transmit(bench.now).map(|p| p.window),
        Some(1_500)
    );
    assert_eq!(bench.send(&last).map(|p| p.ack), Some(7_001));
    assert!(bench.receiver.fin_received());
}

#[test]
fn sequence_numbers_wrap_in_acknowledgements_and_blocks() {
    let mut bench = Bench::connected(&prompt("linux-6.12"), u32::MAX - 500);
    assert_eq!(
        bench.arrives(500, 999),
        (u32::MAX - 499, vec![(500, 1_000)])
    );
    let reply = bench
        .send(&bench.data(u32::MAX - 499, 1_000))
        .expect("an acknowledgement");
    assert_eq!((reply.ack, reply.sack_len), (1_000, 0));
    assert_eq!(bench.receiver.bytes_received(), 1_500);
}

#[test]
fn more_than_four_gigabytes_arrive() {
    let mut bench = Bench::connected(&config("linux-6.12"), PEER_ISN);
    let mut seq = 5_000_u32;
    for _ in 0..80_000 {
        bench.send(&bench.data(seq, 60_000));
        seq = seq.wrapping_add(60_000);
    }
    assert_eq!(bench.receiver.bytes_received(), 4_800_000_000);
}

#[test]
fn the_fin_is_acknowledged_at_once_and_after_the_data() {
    let mut bench = Bench::connected(&config("ns3-3.1x"), PEER_ISN);
    let mut fin = bench.data(6_000, 0);
    fin.flags |= flags::FIN;
    assert_eq!(bench.send(&fin).map(|p| p.ack), Some(5_000));
    assert!(!bench.receiver.fin_received());
    assert_eq!(
        bench.send(&bench.data(5_000, 1_000)).map(|p| p.ack),
        Some(6_001)
    );
    assert!(bench.receiver.fin_received());
    assert_eq!(bench.receiver.bytes_received(), 1_000);
    // Repeated, and with data that cannot be: nothing moves.
    assert_eq!(bench.send(&fin).map(|p| p.ack), Some(6_001));
    assert_eq!(
        bench.send(&bench.data(5_500, 1_000)).map(|p| p.ack),
        Some(6_001)
    );
    assert_eq!(bench.receiver.bytes_received(), 1_000);
}

#[test]
fn a_mark_is_echoed_until_the_sender_reacts() {
    let mut config = ReceiverConfig {
        ecn: EcnMode::Classic,
        ..prompt("ns2")
    };
    config.ack.delay = AckDelay::Fixed(ms(200));
    let mut bench = Bench {
        receiver: receiver(config),
        now: Time::ZERO,
        isn: PEER_ISN,
    };
    let mut syn = bench.syn();
    syn.flags |= flags::ECE | flags::CWR;
    bench.send(&syn);
    let mut echo = |seq, ecn, more| {
        let mut packet = bench.data(seq, 1_000);
        packet.ecn = ecn;
        packet.flags |= more;
        bench
            .send(&packet)
            .expect("an acknowledgement")
            .has(flags::ECE)
    };
    assert!(!echo(5_000, Ecn::Ect0, 0));
    assert!(echo(6_000, Ecn::Ce, 0));
    assert!(echo(7_000, Ecn::Ect0, 0));
    assert!(!echo(8_000, Ecn::Ect0, flags::CWR));
    assert!(echo(9_000, Ecn::Ce, flags::CWR));
}

proptest! {
    /// Segments of a stream in any order, some more than once, some cut differently.
    #[test]
    fn every_byte_arrives_and_none_is_acknowledged_before(
        name in prop::sample::select(vec!["rfc", "linux-6.12", "ns2", "ns3-3.1x"]),
        isn: u32,
        arrivals in prop::collection::vec((0..60_u64, 1..400_u16, 0..50_u64), 1..150),
        reading: bool,
    ) {
        const TOTAL: u64 = 6_000;
        let config = ReceiverConfig { rwnd_max: 50_000, mss_payload: 100, ..config(name) };
        let mut bench = Bench::connected(&config, isn);
        bench.receiver.set_reading(reading);
        let mut there = vec![false; TOTAL as usize + 1];
        // After the random arrivals, the sender goes through the stream once more.
        let sweep = (0..60).map(|i| (i, 100, 1));
        let mut edge = 0;
        for (i, len, wait) in arrivals.into_iter().chain(sweep) {
            bench.now += ms(wait);
            bench.receiver.on_timer(bench.now);
            let start = i * 100;
            let end = (start + u64::from(len)).min(TOTAL);
            let mut packet = bench.data(isn.wrapping_add(1 + start as u32), (end - start) as u16);
            if end == TOTAL {
                packet.flags |= flags::FIN;
            }
            bench.receiver.on_packet(bench.now, &packet);
            there[start as usize..end as usize].fill(true);
            there[TOTAL as usize] |= end == TOTAL;
            let holds = |from: u64, to: u64| there[from as usize..to as usize].iter().all(|&b| b);
            prop_assert!(holds(0, bench.receiver.bytes_received()));
            if let Some(ack) = bench.receiver.poll_transmit(bench.now) {
                let offset = |wire: u32| u64::from(wire.wrapping_sub(isn.wrapping_add(1)));
                prop_assert!(holds(0, offset(ack.ack)));
                for &(left, right) in ack.sack_blocks() {
                    prop_assert!(left != right && holds(offset(left), offset(right)));
                }
                let right = bench.receiver.rcv_nxt + bench.receiver.window();
                prop_assert!(right >= edge, "the right edge moved left");
                edge = right;
            } else {
                prop_assert!(bench.receiver.deadline() > bench.now);
            }
        }
        prop_assert_eq!(bench.receiver.bytes_received(), TOTAL);
        prop_assert!(bench.receiver.fin_received());
        prop_assert_eq!(bench.receiver.unread(), if reading { 0 } else { TOTAL });
    }
}

/// Of Linux, whose first segments were acknowledged: a lone one waits.
fn patient(ecn: bool) -> (Bench, u32) {
    let mode = if ecn { EcnMode::Classic } else { EcnMode::Off };
    let config = ReceiverConfig {
        ecn: mode,
        ..config("linux-6.12")
    };
    let mut bench = Bench {
        receiver: receiver(config),
        now: Time::ZERO,
        isn: PEER_ISN,
    };
    let mut syn = bench.syn();
    if ecn {
        syn.flags |= flags::ECE | flags::CWR;
    }
    bench.send(&syn);
    let mut next = PEER_ISN + 1;
    let mut waited = 0;
    while waited < 3 {
        bench.now += ms(1);
        let mut packet = bench.data(next, 1_000);
        packet.ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        waited += u32::from(bench.send(&packet).is_none());
        next += 1_000;
        assert!(next < PEER_ISN + 100_000, "quick acknowledgements end");
    }
    (bench, next)
}

/// `tcp_ecn_accept_cwr`, `__tcp_ecn_check_ce`: a reaction to a mark is acknowledged at once, and so
/// are a mark, what follows it, and what is probably sent again.
#[test]
fn linux_is_quick_after_marks_and_reactions() {
    let (mut bench, next) = patient(true);
    let mut answers = |seq, ecn, more| {
        let mut packet = bench.data(seq, 1_000);
        packet.ecn = ecn;
        packet.flags |= more;
        bench.send(&packet).map(|answer| answer.has(flags::ECE))
    };
    assert_eq!(answers(next, Ecn::Ect0, flags::CWR), Some(false));
    assert_eq!(answers(next + 1_000, Ecn::Ect0, 0), None);
    assert_eq!(answers(next + 2_000, Ecn::Ce, 0), Some(true));
    assert_eq!(answers(next + 3_000, Ecn::Ect0, 0), Some(true));
    assert_eq!(answers(next + 4_000, Ecn::Ect0, flags::CWR), Some(false));
    let _ = answers(next + 5_000, Ecn::Ect0, 0);
    assert_eq!(answers(next + 6_000, Ecn::NotEct, 0), Some(false));
}

/// `tcp_compressed_ack_kick` does not look at the clock: what was held back bears the time at which
/// the last segment came.
#[test]
fn what_linux_held_back_bears_the_time_of_the_last_arrival() {
    let (mut bench, next) = patient(false);
    bench.receiver.buffer = None;
    // A hole, and what follows it: three are told of at once, the others are held back.
    let mut held = 0;
    for n in 1..8 {
        bench.now += Time::from_micros(50);
        let packet = bench.data(next + n * 1_000, 1_000);
        held += u32::from(bench.send(&packet).is_none());
    }
    assert!(held > 0);
    let came = bench.now;
    let due = bench.receiver.deadline();
    assert!(due < ms(1_000_000));
    // The timer is looked at two milliseconds late, so that the clocks differ by whole ticks.
    let late = came + ms(2);
    bench.receiver.on_timer(late);
    let answer = bench
        .receiver
        .poll_transmit(late)
        .expect("what was held back");
    assert_eq!(answer.tsval, timestamp(came));
    assert_ne!(answer.tsval, timestamp(late));
}

/// `__tcp_select_window`: without a scale a bounded window is whole segments.
#[test]
fn an_unscaled_window_of_linux_is_whole_segments() {
    let config = ReceiverConfig {
        rwnd_max: 4_500,
        ..config("linux-6.12")
    };
    let bench = Bench::connected(&config, PEER_ISN);
    assert_eq!(bench.receiver.window(), 4_000);
}
