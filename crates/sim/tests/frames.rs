//! Frames of audio and video on a connection, against what the path allows.

mod common;

use cclab_spec::{Application, Limit, Media, Scenario};
use cclab_trace::schema::FlowSummary;
use cclab_units::Time;

use common::{dumbbell, flow, link, run};

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// 30 frames a second in groups of 30, of 37,500 and 3,750 bytes: 1.17 Mbit/s in the mean.
fn media(skip_after: Option<Time>) -> Media {
    Media {
        frame_rate: 30.0,
        i_frame: 37_500,
        p_frame: 3_750,
        group: 30,
        deadline: ms(150),
        skip_after,
    }
}

/// A flow of `media` for 20 s over 20 ms each way.
fn scenario(bps: u64, packets: u64, media: Media) -> Scenario {
    let mut one = flow("video", "cubic");
    one.application = Some(Application::Frames(media));
    let bottleneck = link(Some(bps), ms(20), Limit::Packets(packets));
    dumbbell("linux-6.12", bottleneck, vec![one], Time::from_secs(20))
}

fn watched(bps: u64, packets: u64, media: Media) -> FlowSummary {
    run(&scenario(bps, packets, media), 1).flows.swap_remove(0)
}

#[test]
fn frames_take_the_path_and_what_their_bytes_take_on_it() {
    let flow = watched(100_000_000, 1_000, media(None));
    let frames = flow.frames;
    assert_eq!((frames.sent, frames.lost, frames.late), (600, 0, 0));
    // The last is made 33 ms before the end.
    assert_eq!(frames.complete, 600);
    assert_eq!(flow.frame_delay.count(), 600);
    // Three segments of a P frame take 20 ms and 3 * 0.12 ms; an I frame has one round trip more at
    // most, once the window has grown to it.
    let median = flow.frame_delay.quantile(0.5).expect("frames") / 1e6;
    assert!((20.3..20.7).contains(&median), "{median} ms");
    let longest = flow.frame_delay.quantile(1.0).expect("frames") / 1e6;
    assert!(longest < 20.0 + 3.0 * 40.0 + 5.0, "{longest} ms");
}

#[test]
fn frames_that_would_be_late_are_left_out_before_they_are_sent() {
    // 0.8 Mbit/s for 1.17: without an end to patience what waits grows for ever.
    let of = |skip_after| Media {
        deadline: ms(1_000),
        ..media(skip_after)
    };
    let all = watched(800_000, 20, of(None));
    let patient = all.frame_delay.quantile(1.0).expect("frames") / 1e9;
    assert_eq!(all.frames.lost, 0);
    assert!(
        all.frames.late > all.frames.complete / 2,
        "{:?}",
        all.frames
    );
    assert!(patient > 3.0, "{patient} s");
    let some = watched(800_000, 20, of(Some(ms(250))));
    assert!(some.frames.lost > 50, "{:?}", some.frames);
    assert_eq!(some.frames.sent, all.frames.sent);
    // What waits is older than 250 ms by an I frame and what the send buffer and the queue hold.
    let longest = some.frame_delay.quantile(1.0).expect("frames") / 1e9;
    assert!(longest < patient / 2.0, "{longest} s");
    assert!(some.frames.shown > all.frames.shown, "{:?}", some.frames);
}

#[test]
fn frames_made_after_the_warm_up_are_told_apart() {
    let mut scenario = scenario(100_000_000, 1_000, media(None));
    scenario.warmup = Time::from_secs(10);
    let flow = run(&scenario, 1).flows.swap_remove(0);
    assert!(flow.warm_frames.sent >= 299 && flow.warm_frames.sent <= 300);
    assert_eq!(flow.warm_frame_delay.count(), flow.warm_frames.complete);
    assert_eq!(flow.frames.sent, 600);
}
