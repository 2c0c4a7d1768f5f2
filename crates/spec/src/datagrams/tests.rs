//! Sources worked out by hand.

use super::*;

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).expect("positive")
}

fn dice() -> Stream {
    Stream::new(7, "udp")
}

fn sent(source: Datagrams, stop: Time, transfer: Option<u64>) -> Vec<(u64, u32)> {
    let start = Time::from_millis(10);
    let schedule = Schedule::new(source, start, stop, transfer, dice());
    schedule
        .map(|one| (one.at.as_nanos(), one.payload))
        .collect()
}

#[test]
fn a_constant_rate_keeps_its_distance_and_never_drifts() {
    // 100 bytes at 3 Mbit/s are 266,666.67 ns: the sum of three is whole.
    let source = Datagrams::ConstantRate {
        rate: rate(3_000_000),
        payload: 100,
    };
    let found = sent(source, Time::from_millis(11), None);
    let at = [10_000_000, 10_266_666, 10_533_333, 10_800_000];
    assert_eq!(found, at.map(|at| (at, 100)));
    let mut schedule = Schedule::new(source, Time::ZERO, Time::NEVER, None, dice());
    // A million of them take 266.666666666... s exactly, rounded down once.
    let last = schedule.nth(1_000_000).expect("endless");
    assert_eq!(last.at, Time::from_nanos(266_666_666_666));
}

#[test]
fn a_transfer_ends_with_what_is_left_of_it() {
    let source = Datagrams::ConstantRate {
        rate: rate(8_000_000),
        payload: 1000,
    };
    let found = sent(source, Time::NEVER, Some(2_500));
    let expected = [(10_000_000, 1000), (11_000_000, 1000), (12_000_000, 500)];
    assert_eq!(found, expected);
}

#[test]
fn on_and_off_at_their_lengths() {
    // 1 ms apart for 3 ms, then nothing for 5 ms.
    let source = Datagrams::OnOff {
        rate: rate(8_000_000),
        on: Time::from_millis(3),
        off: Time::from_millis(5),
        constant: true,
        payload: 1000,
    };
    let found = sent(source, Time::from_millis(28), None);
    let at: Vec<u64> = found.iter().map(|&(at, _)| at / 1_000_000).collect();
    assert_eq!(at, [10, 11, 12, 18, 19, 20, 26, 27]);
    // A quarter of the time, drawn: 2,500 spells, whose mean has a standard error of 2%.
    let drawn = Datagrams::OnOff {
        rate: rate(8_000_000),
        on: Time::from_millis(100),
        off: Time::from_millis(300),
        constant: false,
        payload: 1000,
    };
    let bytes: u64 = sent(drawn, Time::from_secs(1000), None)
        .iter()
        .map(|&(_, payload)| u64::from(payload))
        .sum();
    assert!((bytes as f64 / 250e6 - 1.0).abs() < 0.08, "{bytes}");
    assert_eq!(drawn.mean_bps(), 2e6);
}

#[test]
fn frames_are_cut_into_as_few_equal_datagrams_as_carry_them() {
    let video = Video {
        frame_rate: 30.0,
        i_frame: 2_500,
        p_frame: 1_000,
        group: 3,
        deadline: Time::from_millis(150),
        payload: 1_000,
    };
    let found = sent(Datagrams::Video(video), Time::from_millis(143), None);
    let expected = [
        (10_000_000, 834), // the larger ones first: 2,500 = 834 + 2 * 833
        (10_000_000, 833),
        (10_000_000, 833),
        (43_333_333, 1_000),
        (76_666_667, 1_000),
        (110_000_000, 834),
        (110_000_000, 833),
        (110_000_000, 833),
    ];
    assert_eq!(found, expected);
    let frames: Vec<(u64, u64)> = (0..8).map(|number| video.frame_of(number)).collect();
    let expected = [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (2, 0),
        (3, 0),
        (3, 1),
        (3, 2),
    ];
    assert_eq!(frames, expected);
    // (2,500 + 2 * 1,000) / 3 bytes, 30 times a second.
    assert_eq!(Datagrams::Video(video).mean_bps(), 360_000.0);
}

#[test]
fn numbers_and_frames_agree_for_every_shape() {
    for (i_frame, p_frame, group) in [(60_000, 12_000, 30), (1, 5_000, 2), (777, 16, 1)] {
        let video = Video {
            frame_rate: 25.0,
            i_frame,
            p_frame,
            group,
            deadline: Time::from_millis(1),
            payload: 1_200,
        };
        let mut number = 0;
        for frame in 0..100 {
            let pieces = video.pieces(frame);
            let bytes: u64 = (0..pieces)
                .map(|piece| u64::from(video.piece(frame, piece)))
                .sum();
            assert_eq!(bytes, video.size(frame));
            for piece in 0..pieces {
                assert_eq!(video.frame_of(number), (frame, piece));
                number += 1;
            }
        }
    }
}
