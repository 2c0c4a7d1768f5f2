//! What the application of a flow sends, and when it pauses.

mod common;

use cclab_spec::{Application, Limit, Pace, PaceChange};
use cclab_units::{Rate, Time};

use common::{dumbbell, flow, link, run};

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

#[test]
fn a_flow_has_the_application_it_asks_for() {
    let bottleneck = link(Some(100_000_000), ms(20), Limit::Packets(1_000));
    let with = |application| {
        let mut one = flow("a", "reno");
        one.application = Some(application);
        let scenario = dumbbell("rfc", bottleneck.clone(), vec![one], Time::from_secs(100));
        run(&scenario, 1).flows[0].bytes_received
    };
    let on_off = with(Application::OnOff {
        rate: Rate::from_bps(2_000_000).expect("positive"),
        on: ms(300),
        off: ms(700),
        constant: true,
    });
    // 0.3 of 2 Mbit/s for 100 s.
    assert!((on_off as f64 / 7.5e6 - 1.0).abs() < 0.02, "{on_off}");
    let answers = with(Application::RequestResponse {
        think: ms(160),
        constant: true,
        response: 5_000,
    });
    // A round trip of 40 ms and 160 ms of thought: five a second.
    assert!((answers as f64 / 2.5e6 - 1.0).abs() < 0.02, "{answers}");
    let typed = with(Application::Telnet {
        interval: ms(100),
        nagle: false,
    });
    // Ten a second of 1 / (1 - 0.3) bytes.
    assert!((typed as f64 / 1_428.0 - 1.0).abs() < 0.15, "{typed}");
}

/// What a flow over 10 Mbit/s has received after so many seconds, on `stack` with `cc`.
fn received_by(stack: &str, cc: &str, application: &Application, seconds: u64) -> u64 {
    let bottleneck = link(Some(10_000_000), ms(20), Limit::Packets(40));
    let mut one = flow("a", cc);
    one.application = Some(application.clone());
    let scenario = dumbbell(stack, bottleneck, vec![one], Time::from_secs(seconds));
    run(&scenario, 1).flows[0].bytes_received
}

#[test]
fn a_schedule_pauses_resumes_and_limits_on_every_stack() {
    let pace = |at: u64, rate| PaceChange::new(Time::from_secs(at), rate);
    let application = Application::Scheduled {
        schedule: vec![
            pace(4, Pace::Paused),
            pace(8, Pace::Unlimited),
            pace(
                12,
                Pace::Limited(Rate::from_bps(2_000_000).expect("positive")),
            ),
        ],
    };
    for stack in ["linux-6.12", "rfc", "ns2", "ns3-3.1x"] {
        for cc in ["reno", "cubic"] {
            let at = |seconds| received_by(stack, cc, &application, seconds);
            let [four, five, eight, twelve, thirteen, twenty] = [4, 5, 8, 12, 13, 20].map(at);
            // What is in the send buffer still leaves, in less than a second, and then nothing.
            assert!(four > 300_000, "{stack} {cc}: {four}");
            assert_eq!(five, eight, "{stack} {cc}");
            let resumed = twelve - eight;
            assert!(resumed > 300_000, "{stack} {cc}: {resumed} in 4 s");
            // 2 Mbit/s for 7 s, to a few writes.
            let limited = (twenty - thirteen) as f64;
            assert!(
                (limited / 1.75e6 - 1.0).abs() < 0.02,
                "{stack} {cc}: {limited}"
            );
        }
    }
}

#[test]
fn a_pause_ends_no_transfer_and_a_transfer_that_is_written_ends_before_it() {
    let bottleneck = link(Some(10_000_000), ms(20), Limit::Packets(40));
    let ended = |at: u64, transfer: u64| {
        let mut one = flow("a", "reno");
        one.transfer = Some(transfer);
        one.application = Some(Application::Scheduled {
            schedule: vec![
                PaceChange::new(Time::from_secs(at), Pace::Paused),
                PaceChange::new(Time::from_secs(10), Pace::Unlimited),
            ],
        });
        let scenario = dumbbell(
            "linux-6.12",
            bottleneck.clone(),
            vec![one],
            Time::from_secs(30),
        );
        let flow = run(&scenario, 1).flows.swap_remove(0);
        assert_eq!(flow.bytes_received, transfer);
        flow.ended.expect("a transfer that ends")
    };
    // 5 MB take more than four seconds: they end after the pause from 2 s to 10 s.
    let paused = ended(2, 5_000_000);
    assert!(
        paused > Time::from_secs(12) && paused < Time::from_secs(14),
        "{paused}"
    );
    // 500 kB are over before it begins.
    let early = ended(2, 500_000);
    assert!(early < Time::from_secs(2), "{early}");
}
