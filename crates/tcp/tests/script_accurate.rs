//! Accurate ECN feedback between two ends (RFC 9768), on a stack that counts bytes and on Linux'.

mod common;
#[path = "common/pair.rs"]
mod pair;

use cclab_cc::{EcnFeedback, find};
use cclab_packet::{Ecn, EcnBytes, Packet, flags};
use cclab_tcp::profile::Recovery;
use cclab_tcp::sender::State;
use cclab_tcp::{EcnMode, ReceiverConfig, Sender};
use cclab_units::{Rate, Stream};
use common::*;
use pair::Pair;

const ALL: u8 = flags::AE | flags::CWR | flags::ECE;
const STACKS: [&str; 2] = ["rfc", "linux-6.12"];

/// The two ends of a flow of `variant` on `stack`, of which each is ready for a mode.
fn ends(stack: &str, variant: &str, asks: EcnMode, agrees: EcnMode) -> Pair {
    let mut profile = profile(stack);
    profile.wire.sack = true;
    let variant = find(variant).expect("a known variant");
    let maker = variant.maker(profile.arithmetic).expect("a simulated one");
    let codepoint = match variant.ecn {
        EcnFeedback::Accurate => Ecn::Ect1,
        _ => Ecn::Ect0,
    };
    let answers = ReceiverConfig {
        wire: profile.wire,
        ack: profile.ack,
        rwnd_max: 1 << 20,
        buffer: None,
        ecn: agrees,
        feedback: variant.ecn,
        codepoint,
        mss_payload: MSS as u32,
        misbehaviour: None,
    };
    let mut config = config(profile, Recovery::RackPrr, maker, false, ISN);
    config.cc.params = cclab_units::parameter::Params::defaults(variant.params);
    config.ecn = asks;
    config.feedback = variant.ecn;
    config.window = variant.window;
    config.codepoint = codepoint;
    Pair::with(Sender::new(config), answers)
}

fn prague(stack: &str) -> Pair {
    ends(stack, "prague", EcnMode::Accurate, EcnMode::Accurate)
}

/// Lets `segments` through.
fn transfer(pair: &mut Pair, segments: u64) {
    pair.sender.write(segments * MSS);
    pair.sender.close();
    pair.run_until(ms(600_000));
    assert_eq!(pair.sender.state(), State::Finished);
    assert_eq!(pair.receiver.bytes_received(), segments * MSS);
}

fn ace(packet: &Packet) -> u8 {
    let bit = |flag, value| if packet.has(flag) { value } else { 0 };
    bit(flags::AE, 4) + bit(flags::CWR, 2) + bit(flags::ECE, 1)
}

/// Sections 3.1.1, 3.2.2.1, 3.2.3.2.1; RFC 9331 section 4.1: each packet of a flow of low latency may
/// be marked, and both ends tell how those of the handshake came.
#[test]
fn the_handshake_tells_how_its_packets_came() {
    for stack in STACKS {
        let mut pair = prague(stack);
        transfer(&mut pair, 20);
        let (syn, ack) = (pair.sent[0].1, pair.sent[1].1);
        assert_eq!(syn.flags, flags::SYN | ALL);
        assert_eq!(syn.ecn_bytes(), None, "never on a SYN");
        let syn_ack = pair.answered[0].1;
        assert_eq!(
            syn_ack.flags,
            flags::SYN | flags::ACK | flags::CWR | flags::ECE
        );
        assert_eq!((ack.payload, ace(&ack)), (0, 0b011));
        for first in [syn_ack, ack] {
            let option = first.ecn_bytes().expect("counters as they begin");
            let told = [Ecn::Ect1, Ecn::Ce, Ecn::Ect0].map(|it| option.count(it));
            assert_eq!(told, [Some(1), Some(0), Some(1)]);
        }
        let all = pair.sent.iter().chain(&pair.answered);
        assert!(all.clone().all(|(_, packet)| packet.ecn == Ecn::Ect1));
        let later = all.filter(|(_, p)| !p.has(flags::SYN) && *p != ack);
        assert!(
            later.clone().all(|(_, p)| ace(p) == 5),
            "nothing was marked"
        );
        assert!(
            later
                .filter(|(_, p)| !p.backward)
                .all(|(_, p)| p.ecn_bytes().is_none())
        );
        let bytes = pair
            .answered
            .iter()
            .skip(1)
            .filter_map(|(_, p)| p.ecn_bytes());
        let told: Vec<_> = bytes.map(|it| it.count(Ecn::Ect1)).collect();
        assert_eq!(told.last(), Some(&Some(1 + 20 * MSS as u32)));
        assert!(told.is_sorted());
    }
}

/// Section 3.2.3: the option takes whole words of the header, and no header is too long. Among losses
/// it leaves two blocks.
#[test]
fn options_fit_the_header() {
    for stack in STACKS {
        let mut pair = prague(stack);
        let mut dice = Stream::new(1, "network");
        pair.forth_by = Box::new(move |packet| {
            if packet.payload > 0 && dice.chance(0.3) {
                packet.ecn = Ecn::Ce;
            }
            packet.payload > 0 && dice.chance(0.1)
        });
        transfer(&mut pair, 400);
        let wire = profile(stack).wire;
        let bare = wire.ip_header + wire.tcp_header + wire.framing + 12;
        let mut both = 0;
        for (_, answer) in pair.answered.iter().skip(1) {
            let blocks = answer.sack_blocks().len() as u16;
            let option = answer.ecn_bytes().map_or(0, |option| option.wire_len());
            let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
            assert_eq!(answer.wire_len, bare + sack + option);
            assert!(12 + sack + option <= 40, "{blocks} {option}");
            both += u32::from(blocks == 2 && option == EcnBytes::padded_len(2));
        }
        assert!(both > 0, "two blocks and two counters fill the header");
    }
}

/// Section 3.2.2: without losses the sender knows of each mark, however they lie.
#[test]
fn every_mark_is_told_once() {
    for stack in STACKS {
        for (seed, share) in [(1, 0.01), (2, 0.3), (3, 0.9), (4, 1.0)] {
            let mut pair = prague(stack);
            let mut dice = Stream::new(seed, "marks");
            pair.forth_by = Box::new(move |packet| {
                if packet.payload > 0 && dice.chance(share) {
                    packet.ecn = Ecn::Ce;
                }
                false
            });
            transfer(&mut pair, 500);
            let marks = pair.receiver.counters().ce_marks;
            assert!(marks > 0);
            assert_eq!(pair.sender.counters().marks_told, marks, "{stack} {share}");
        }
    }
}

/// Section 3.2.2.5.2, appendix A.2: where acknowledgements are missing the sender assumes no fewer marks
/// than there were, and knows them exactly while the flags cannot have gone round.
#[test]
fn lost_acknowledgements_hide_no_mark() {
    for stack in STACKS {
        for (seed, lost, exact) in [(1, 0.3, false), (2, 0.8, false), (3, 0.0, true)] {
            let mut pair = prague(stack);
            let mut dice = Stream::new(seed, "marks");
            pair.forth_by = Box::new(move |packet| {
                if packet.payload > 0 && dice.chance(0.2) {
                    packet.ecn = Ecn::Ce;
                }
                false
            });
            let mut dice = Stream::new(seed, "losses");
            pair.back_by = Box::new(move |packet| {
                !packet.has(flags::SYN) && !packet.has(flags::FIN) && dice.chance(lost)
            });
            transfer(&mut pair, 500);
            let (told, marks) = (
                pair.sender.counters().marks_told,
                pair.receiver.counters().ce_marks,
            );
            assert!(told >= marks, "{stack} {lost}: {told} of {marks}");
            assert!(
                told <= marks + marks / 4,
                "{stack} {lost}: {told} of {marks}"
            );
            assert!(!exact || told == marks);
        }
    }
}

/// Section 3.2.2.5.1: the first mark after a packet without one is acknowledged at once, and two marks
/// since the last acknowledgement.
#[test]
fn marks_hurry_acknowledgements() {
    for stack in STACKS {
        let mut pair = prague(stack);
        // Acknowledgements are for two segments; of eight, the first, sixth and seventh came marked.
        let mut count = 0;
        pair.forth_by = Box::new(move |packet| {
            count += u32::from(packet.payload > 0);
            if packet.payload > 0 && [21, 26, 27].contains(&count) {
                packet.ecn = Ecn::Ce;
            }
            false
        });
        transfer(&mut pair, 28);
        let first = |number: u8| {
            let told = pair.answered.iter().map(|(_, p)| p);
            let mut told = told.filter(|p| !p.has(flags::SYN) && ace(p) == number);
            told.next()
                .map(|p| p.ack.wrapping_sub(ISN + 1) / MSS as u32)
        };
        assert_eq!(first(6), Some(21), "{stack}: the first mark");
        assert_eq!(first(7), Some(26), "{stack}: the second");
    }
}

/// Table 2, and the draft of Prague: what the other end lacks.
#[test]
fn ends_fall_back_to_what_both_have() {
    for stack in STACKS {
        for (variant, agrees, capable) in [
            ("cubic", EcnMode::Accurate, true),
            ("cubic", EcnMode::Classic, true),
            ("cubic", EcnMode::Off, false),
            ("dctcp", EcnMode::Classic, true),
            ("prague", EcnMode::Accurate, true),
            ("prague", EcnMode::Classic, false),
            ("prague", EcnMode::Off, false),
        ] {
            let mut pair = ends(stack, variant, EcnMode::Accurate, agrees);
            let mut count = 0;
            pair.forth_by = Box::new(move |packet| {
                count += u32::from(packet.payload > 0);
                if count == 100 && packet.ecn != Ecn::NotEct {
                    packet.ecn = Ecn::Ce;
                }
                packet.ecn == Ecn::NotEct && packet.payload > 0 && count == 100
            });
            transfer(&mut pair, 300);
            let told = pair.sender.counters();
            let label = format!("{stack} {variant} {agrees:?}");
            let data = pair.sent.iter().filter(|(_, p)| p.payload > 0);
            let new = data.filter(|(_, p)| !p.is_retransmission());
            assert_eq!(
                new.clone().any(|(_, p)| p.ecn != Ecn::NotEct),
                capable,
                "{label}"
            );
            assert_eq!(told.ecn_echoes > 0, capable, "{label}");
            assert_eq!(
                told.marks_told,
                u64::from(agrees == EcnMode::Accurate),
                "{label}"
            );
            assert_eq!(told.retransmits > 0, !capable, "{label}");
            // CWR is of echoes alone (section 3.1.5); beside counts the flags are a number.
            let cwr = new.filter(|(_, p)| p.has(flags::CWR)).count();
            match agrees {
                EcnMode::Accurate => assert!(pair.sent.iter().skip(2).all(|(_, p)| ace(p) == 5)),
                _ => assert_eq!(cwr > 0, capable, "{label}"),
            }
        }
    }
}

/// Section 3.1.4.1: the first SYN that leaves again still asks; the next ones ask for nothing, and the
/// flow goes without.
#[test]
fn the_third_syn_asks_for_nothing() {
    for stack in STACKS {
        let mut pair = prague(stack);
        let mut syns = 0;
        pair.forth_by = Box::new(move |packet| {
            syns += u32::from(packet.has(flags::SYN));
            packet.has(flags::SYN) && syns <= 2
        });
        transfer(&mut pair, 10);
        let syns = pair.sent.iter().filter(|(_, p)| p.has(flags::SYN));
        let asked: Vec<_> = syns.map(|(_, p)| (p.flags & ALL, p.ecn)).collect();
        assert_eq!(
            asked,
            [(ALL, Ecn::Ect1), (ALL, Ecn::Ect1), (0, Ecn::NotEct)]
        );
        assert!(pair.sent[3..].iter().all(|(_, p)| p.ecn == Ecn::NotEct));
    }
}

/// Section 3.2.2.3: a SYN that lost its codepoint on the way tells that others would.
#[test]
fn a_path_that_clears_codepoints_is_seen_in_the_handshake() {
    for stack in STACKS {
        let mut pair = prague(stack);
        pair.forth_by = Box::new(|packet| {
            packet.ecn = Ecn::NotEct;
            false
        });
        transfer(&mut pair, 50);
        assert_eq!(pair.sent[0].1.ecn, Ecn::Ect1);
        assert!(pair.sent[1..].iter().all(|(_, p)| p.ecn == Ecn::NotEct));
        // The way back is sound, and both count on.
        assert!(pair.answered.iter().all(|(_, p)| p.ecn == Ecn::Ect1));
        assert!(pair.answered[1..].iter().all(|(_, p)| ace(p) == 5));
        let mut back = prague(stack);
        back.back_by = Box::new(|packet| {
            packet.ecn = Ecn::NotEct;
            false
        });
        transfer(&mut back, 50);
        assert!(back.sent.iter().all(|(_, p)| p.ecn == Ecn::Ect1));
        assert!(back.answered[1..].iter().all(|(_, p)| p.ecn == Ecn::NotEct));
    }
}

/// Section 3.2.2.2: a SYN that came marked is told of and counted by nobody; the flow begins with one
/// segment. A SYN-ACK that did counts once at the client.
#[test]
fn marks_of_the_handshake_are_told() {
    for stack in STACKS {
        let mut pair = prague(stack);
        pair.forth_by = Box::new(|packet| {
            if packet.has(flags::SYN) {
                packet.ecn = Ecn::Ce;
            }
            false
        });
        transfer(&mut pair, 10);
        assert_eq!(ace(&pair.answered[0].1), 0b110);
        let data = pair.data_after(99);
        assert!(
            data[0] == 100 && data[1] >= 200,
            "{stack}: one segment first"
        );
        assert!(pair.answered[1..].iter().all(|(_, p)| ace(p) == 5));
        let mut back = prague(stack);
        back.back_by = Box::new(|packet| {
            if packet.has(flags::SYN) {
                packet.ecn = Ecn::Ce;
            }
            false
        });
        transfer(&mut back, 10);
        assert_eq!(ace(&back.sent[1].1), 0b110);
        assert!(back.sent[2..].iter().all(|(_, p)| ace(p) == 6));
        assert!(back.answered[1..].iter().all(|(_, p)| p.ecn == Ecn::Ect1));
    }
}

/// Section 3.2.2.5.1: acknowledgements may be marked as well. The sender tells of that with its data,
/// and where it has none to send, with a bare acknowledgement for every third mark.
#[test]
fn marked_acknowledgements_are_counted_and_told() {
    for stack in STACKS {
        let mut pair = prague(stack);
        pair.back_by = Box::new(|packet| {
            if !packet.has(flags::SYN) {
                packet.ecn = Ecn::Ce;
            }
            false
        });
        transfer(&mut pair, 400);
        let last = pair.sent.iter().map(|(_, p)| ace(p));
        let changes = last.clone().zip(last.skip(1)).filter(|(a, b)| a != b);
        assert!(changes.count() > 20, "{stack}");
        let bare = pair.empty_after(150);
        assert!(
            !bare.is_empty(),
            "{stack}: the last window's acknowledgements"
        );
        assert_eq!(pair.sender.counters().marks_told, 0);
        assert_eq!(pair.sender.counters().retransmits, 0);
    }
}

/// A flow of Linux' Prague leaves in bursts of a quarter of a millisecond, by its own rate.
#[test]
fn prague_is_paced() {
    let mut pair = prague("linux-6.12");
    transfer(&mut pair, 300);
    assert!(
        pair.sender
            .pacing_rate()
            .is_some_and(|rate| rate > Rate::from_bps(100_000).expect("positive"))
    );
    let reno = ends("linux-6.12", "prague", EcnMode::Accurate, EcnMode::Off);
    let mut reno = reno;
    transfer(&mut reno, 300);
    assert_eq!(reno.sender.pacing_rate(), None, "Reno is not");
}
