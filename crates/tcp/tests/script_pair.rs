//! Sender and receiver back to back: windows that close, windows below a segment, sequence
//! numbers that wrap.

mod common;
#[path = "common/pair.rs"]
mod pair;

use cclab_tcp::limits::Limit;
use cclab_tcp::profile::Recovery;
use cclab_tcp::sender::State;
use common::*;
use pair::Pair;

/// Twenty segments for a receiver of four.
fn twenty_for_four() -> Pair {
    let profile = profile("rfc");
    let sender = sender(profile.clone(), Recovery::NewReno, "newreno", false);
    let mut pair = Pair::new(sender, &profile, 4 * MSS);
    pair.sender.write(20 * MSS);
    pair.sender.close();
    pair
}

/// RFC 9293 sections 3.8.6.1 and 3.8.6.2: the application stops reading; four segments fill the
/// buffer, their acknowledgement closes the window at 200 ms; probes leave a timeout later, then
/// at twice the interval each time. The window update at 20 s resumes the stream at once.
#[test]
fn a_closed_window_is_probed_ever_more_rarely() {
    let mut pair = twenty_for_four();
    pair.receiver.set_reading(false);
    pair.run_until(ms(20_000));
    assert_eq!(pair.data_after(0), [100; 4]);
    assert_eq!(pair.sender.rwnd(), 0);
    assert_eq!(pair.empty_after(200), [1_200, 3_200, 7_200, 15_200]);
    assert_eq!(
        pair.sender.limits().spent(Limit::Rwnd, ms(20_000)),
        ms(19_900)
    );
    assert_eq!(pair.sender.state(), State::Established);
    pair.receiver.set_reading(true);
    pair.run_until(ms(60_000));
    assert_eq!(pair.data_after(100)[0], 20_050);
    assert_eq!(pair.sender.state(), State::Finished);
    assert_eq!(pair.receiver.bytes_received(), 20 * MSS);
    let counters = pair.sender.counters();
    assert_eq!((counters.retransmits, counters.rtos), (0, 0));
}

/// The window update is lost: the next probe, at 31.2 s, learns of the window.
#[test]
fn a_probe_finds_the_window_whose_update_was_lost() {
    let mut pair = twenty_for_four();
    pair.receiver.set_reading(false);
    pair.run_until(ms(20_000));
    pair.acks_lost_until = ms(21_000);
    pair.receiver.set_reading(true);
    pair.run_until(ms(60_000));
    assert_eq!(pair.data_after(100)[0], 31_300);
    assert_eq!(pair.receiver.bytes_received(), 20 * MSS);
    assert!(pair.receiver.fin_received());
}

/// RFC 9293 section 3.8.6.2.1: a window below a segment moves data in what it allows.
#[test]
fn a_window_below_a_segment_moves_data() {
    let profile = profile("rfc");
    let sender = sender(profile.clone(), Recovery::NewReno, "newreno", false);
    let mut pair = Pair::new(sender, &profile, 400);
    pair.sender.write(5 * MSS);
    pair.sender.close();
    pair.run_until(ms(30_000));
    assert_eq!(pair.receiver.bytes_received(), 5 * MSS);
    assert_eq!(pair.sender.state(), State::Finished);
    assert!(pair.sent.iter().all(|(_, packet)| packet.payload <= 400));
    assert_eq!(pair.sender.counters().retransmits, 0);
}

/// RFC 9293 section 3.4: sequence numbers wrap inside the transfer, among losses and SACK
/// blocks: ISN is 4096 below the wrap. What was lost leaves again once, and nothing else.
#[test]
fn losses_across_the_wrap_are_repaired_one_by_one() {
    for (recovery, variant) in [
        (Recovery::NewReno, "newreno"),
        (Recovery::Sack, "sack"),
        (Recovery::RackPrr, "reno"),
    ] {
        let profile = profile("rfc");
        let sender = sender(profile.clone(), recovery, variant, false);
        let mut pair = Pair::new(sender, &profile, 1 << 20);
        // Bytes 3000 to 4999 hold the wrap, at byte 4095.
        pair.lost_data = vec![1, 3, 4];
        pair.sender.write(200 * MSS);
        pair.sender.close();
        pair.run_until(ms(30_000));
        assert_eq!(pair.sender.state(), State::Finished, "{recovery:?}");
        assert_eq!(pair.receiver.bytes_received(), 200 * MSS);
        assert!(pair.receiver.fin_received());
        let counters = pair.sender.counters();
        assert_eq!(
            (counters.retransmits, counters.rtos),
            (3, 0),
            "{recovery:?}"
        );
        assert_eq!(pair.receiver.counters().duplicates, 0);
        let wrapped = pair
            .sent
            .iter()
            .filter(|(_, p)| p.payload > 0 && p.seq < 200_000);
        assert!(wrapped.count() >= 195);
    }
}

/// The same for every single loss among the first forty segments, each where a window or the
/// wrap may end.
#[test]
fn any_single_loss_is_repaired_without_a_timeout() {
    for recovery in [
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::RackPrr,
    ] {
        for lost in 0..40 {
            let profile = profile("rfc");
            let sender = sender(profile.clone(), recovery, "reno", false);
            let mut pair = Pair::new(sender, &profile, 1 << 20);
            pair.lost_data = vec![lost];
            pair.sender.write(200 * MSS);
            pair.sender.close();
            pair.run_until(ms(30_000));
            assert_eq!(pair.sender.state(), State::Finished, "{recovery:?} {lost}");
            assert_eq!(pair.receiver.bytes_received(), 200 * MSS);
            let counters = pair.sender.counters();
            let seen = (
                counters.retransmits,
                counters.rtos,
                counters.fast_recoveries,
            );
            assert_eq!(seen, (1, 0, 1), "{recovery:?} {lost}");
        }
    }
}
