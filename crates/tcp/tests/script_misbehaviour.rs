//! Receivers that misbehave, beside what RFCs and the paper say that a sender makes of them.

mod common;
#[path = "common/pair.rs"]
mod pair;

use cclab_cc::{EcnFeedback, find};
use cclab_packet::{Ecn, flags};
use cclab_tcp::profile::Recovery;
use cclab_tcp::sender::State;
use cclab_tcp::{EcnMode, Misbehaviour, ReceiverConfig, Sender};
use cclab_units::parameter::Params;
use common::*;
use pair::Pair;

/// A flow of Reno on `stack`, each of whose segments is acknowledged, by a receiver that does `what`.
fn flow(stack: &str, recovery: Recovery, what: Option<Misbehaviour>, ecn: EcnMode) -> Pair {
    let mut profile = profile(stack);
    profile.wire.sack = recovery.uses_sack();
    profile.ack.every = 1;
    let answers = ReceiverConfig {
        wire: profile.wire,
        ack: profile.ack,
        rwnd_max: 1 << 20,
        buffer: None,
        ecn,
        feedback: EcnFeedback::Classic,
        codepoint: Ecn::Ect0,
        mss_payload: MSS as u32,
        misbehaviour: what,
    };
    let variant = find("reno").expect("a known variant");
    let maker = variant.maker(profile.arithmetic).expect("a simulated one");
    let mut config = config(profile, recovery, maker, false, ISN);
    config.cc.params = Params::defaults(variant.params);
    config.ecn = ecn;
    Pair::with(Sender::new(config), answers)
}

/// The window, in segments, before and after the first round trip of data, of which each is 100 ms.
fn first_round(stack: &str, what: Option<Misbehaviour>) -> [u64; 2] {
    let mut pair = flow(stack, Recovery::Sack, what, EcnMode::Off);
    pair.sender.write(10_000 * MSS);
    [150, 250].map(|at| {
        pair.run_until(ms(at));
        pair.sender.window() / MSS
    })
}

/// Savage et al.: who adds a segment for each acknowledgement adds `pieces` for each segment. RFC 3465
/// counts bytes, and Linux whole segments: they gain nothing.
#[test]
fn division_gains_where_acknowledgements_are_counted_and_nowhere_else() {
    let divides = Some(Misbehaviour::AckDivision { pieces: 4 });
    for (stack, factor) in [("ns2", 5), ("ns3-3.1x", 5), ("rfc", 2), ("linux-6.12", 2)] {
        let [initial, honest] = first_round(stack, None);
        assert_eq!(honest, 2 * initial, "{stack}");
        assert_eq!(
            first_round(stack, divides),
            [initial, factor * initial],
            "{stack}"
        );
    }
}

/// Ten segments, of which every one is acknowledged in four steps, and the FIN in one.
#[test]
fn the_steps_of_a_division_end_where_the_honest_acknowledgement_does() {
    let divides = Some(Misbehaviour::AckDivision { pieces: 4 });
    let mut pair = flow("rfc", Recovery::Sack, divides, EcnMode::Off);
    pair.sender.write(2 * MSS);
    pair.sender.close();
    pair.run_until(ms(60_000));
    assert_eq!(pair.sender.state(), State::Finished);
    let acks = pair.answered.iter().filter(|(_, p)| !p.has(flags::SYN));
    let first = ISN.wrapping_add(1);
    let told: Vec<u32> = acks.map(|(_, p)| p.ack.wrapping_sub(first)).collect();
    assert_eq!(told, [250, 500, 750, 1_000, 1_250, 1_500, 1_750, 2_001]);
    assert_eq!(pair.receiver.counters().acks, 8);
}

/// RFC 5681 section 3.2: three duplicates begin a fast retransmit, though nothing was lost; RFC 6675
/// asks for what SACK blocks tell, and these tell nothing.
#[test]
fn spoofed_duplicates_begin_a_recovery_without_sack_alone() {
    let spoofs = Some(Misbehaviour::DuplicateAcks { copies: 3 });
    for (recovery, retransmits) in [(Recovery::NewReno, true), (Recovery::Sack, false)] {
        let mut pair = flow("rfc", recovery, spoofs, EcnMode::Off);
        pair.sender.write(40 * MSS);
        pair.run_until(ms(260));
        let counters = pair.sender.counters();
        assert_eq!(counters.retransmits > 0, retransmits, "{recovery:?}");
        assert_eq!(counters.fast_recoveries > 0, retransmits, "{recovery:?}");
    }
}

/// The third of twenty segments is lost, and the sender never hears of it.
#[test]
fn what_is_concealed_is_never_sent_again_and_never_delivered() {
    for stack in ["rfc", "linux-6.12", "ns2"] {
        let conceals = Some(Misbehaviour::LossConcealment);
        for (what, retransmits) in [(None, 1), (conceals, 0)] {
            let mut pair = flow(stack, Recovery::Sack, what, EcnMode::Off);
            pair.lost_data = vec![2];
            pair.sender.write(20 * MSS);
            pair.sender.close();
            pair.run_until(ms(60_000));
            assert_eq!(pair.sender.state(), State::Finished, "{stack}");
            assert_eq!(pair.sender.counters().retransmits, retransmits, "{stack}");
            assert_eq!(
                pair.receiver.bytes_received(),
                (19 + retransmits) * MSS,
                "{stack}"
            );
            assert_eq!(pair.receiver.data_end(), 20 * MSS, "{stack}");
        }
    }
}

/// Acknowledgements of up to four segments that the network lost.
#[test]
fn what_was_acknowledged_ahead_is_not_sent_again_if_it_is_lost() {
    let hopes = Some(Misbehaviour::OptimisticAcks { ahead: 4 });
    let mut pair = flow("linux-6.12", Recovery::RackPrr, hopes, EcnMode::Off);
    pair.lost_data = vec![13, 14];
    pair.sender.write(100 * MSS);
    pair.sender.close();
    pair.run_until(ms(60_000));
    assert_eq!(pair.sender.state(), State::Finished);
    assert_eq!(pair.sender.counters().retransmits, 0);
    assert_eq!(pair.receiver.bytes_received(), 98 * MSS);
}

/// Echoes (RFC 3168) and counts (RFC 9768) of the second of ten segments, which came marked.
#[test]
fn marks_are_concealed_and_made_up_in_echoes_and_counts() {
    for mode in [EcnMode::Classic, EcnMode::Accurate] {
        let told = |what, marked: bool| {
            let mut pair = flow("linux-6.12", Recovery::RackPrr, what, mode);
            let mut segments = 0;
            pair.forth_by = Box::new(move |packet| {
                segments += u32::from(packet.payload > 0);
                if marked && segments == 2 && packet.payload > 0 {
                    packet.ecn = Ecn::Ce;
                }
                false
            });
            pair.sender.write(10 * MSS);
            pair.run_until(ms(1_000));
            assert_eq!(pair.receiver.counters().ce_marks, u64::from(marked));
            let echoes = |pair: &Pair| {
                let acks = pair.answered.iter().filter(|(_, p)| !p.has(flags::SYN));
                acks.filter(|(_, p)| p.has(flags::ECE)).count() as u64
            };
            match mode {
                EcnMode::Accurate => pair.sender.counters().marks_told,
                _ => echoes(&pair),
            }
        };
        let honest = told(None, true);
        assert!((1..10).contains(&honest), "{mode:?}: {honest}");
        assert_eq!(told(None, false), 0, "{mode:?}");
        assert_eq!(
            told(Some(Misbehaviour::MarkConcealment), true),
            0,
            "{mode:?}"
        );
        let all = told(Some(Misbehaviour::MarkExaggeration), false);
        assert_eq!(all, 10, "{mode:?}");
    }
}
