//! Changes of links that wait for the state of a flow's variant, beside the same changes at the instants
//! at which traces tell of that state.

mod common;

use std::num::NonZero;

use cclab_sim::{Unsupported, unsupported};
use cclab_spec::{
    Change, Datagrams, Jitter, Limit, Link, Loss, Place, Scenario, Slots, Start, StateValue,
    Triggered, When,
};
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use common::{dumbbell, flow, link, rate, run, run_with};

const END: Time = Time::from_secs(12);

/// Keeps what variants tell of themselves.
#[derive(Default)]
struct States(Vec<(Time, u32, Vec<f64>)>);

impl Probe for States {
    fn wants_states(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        if let Event::State(flow, state) = event {
            self.0.push((now, flow, state.to_vec()));
        }
    }
}

/// 20 Mbit/s with 20 ms each way and 100 packets, two flows of bbr3, and what `disturb` does to the
/// bottleneck.
fn scenario(disturb: impl FnOnce(&mut Link)) -> Scenario {
    let mut bottleneck = link(Some(20_000_000), Time::from_millis(20), Limit::Packets(100));
    bottleneck.loss = vec![Loss::random(Place::Router, 0.001)];
    bottleneck.jitter = Some(Jitter::Uniform {
        max: Time::from_millis(1),
        reorder: false,
    });
    disturb(&mut bottleneck);
    let mut second = flow("y", "bbr3");
    second.start = Start {
        at: Time::from_millis(700),
        spread: Time::ZERO,
    };
    dumbbell(
        "linux-6.12",
        bottleneck,
        vec![flow("x", "bbr3"), second],
        END,
    )
}

fn when(flow: &str, column: &str, is: StateValue, nth: u64) -> When {
    When {
        flow: flow.into(),
        column: column.into(),
        is,
        nth,
    }
}

fn phase(flow: &str, word: &str, nth: u64) -> When {
    when(flow, "phase", StateValue::Word(word.into()), nth)
}

/// What a run was, but for how many steps it took and what it waited for.
fn known(summary: RunSummary) -> RunSummary {
    RunSummary {
        events: 0,
        met: Vec::new(),
        ..summary
    }
}

/// The changes, one of each kind and all of them together.
fn changes() -> Vec<Change> {
    let none = Change::default();
    let all = Change {
        rate: Some(rate(9_000_000)),
        delay: Some(Time::from_millis(35)),
        loss: Some(0.02),
        jitter: Some(Time::from_millis(4)),
        slots: Some(Slots {
            every: [Time::from_millis(5), Time::from_millis(15)],
            packets: NonZero::new(16),
            bytes: None,
        }),
        ..none
    };
    vec![
        Change {
            rate: all.rate,
            ..none
        },
        Change {
            delay: all.delay,
            ..none
        },
        Change {
            loss: all.loss,
            ..none
        },
        Change {
            jitter: all.jitter,
            ..none
        },
        Change {
            slots: all.slots,
            ..none
        },
        Change {
            at: Time::from_millis(130),
            ..all
        },
        all,
    ]
}

/// The state is read from the trace of the run without the change: until then both are the same run.
#[test]
fn a_change_that_waits_for_a_state_is_the_change_at_the_instant_of_that_state() {
    let mut states = States::default();
    run_with(&scenario(|_| {}), 1, &mut states);
    const DRAIN: f64 = 1.0;
    const CRUISE: f64 = 3.0;
    let comes = |flow: u32, phase: f64, nth: usize| {
        let of_flow = states.0.iter().filter(|(_, of, _)| *of == flow);
        let phases: Vec<(Time, f64)> = of_flow.map(|(now, _, state)| (*now, state[0])).collect();
        let begins = |pair: &&[(Time, f64)]| pair[0].1 != phase && pair[1].1 == phase;
        let mut all = phases.windows(2).filter(begins);
        all.nth(nth - 1)
            .expect("the phase comes")
            .get(1)
            .map(|(now, _)| *now)
    };
    for (waits, came) in [
        (phase("x", "drain", 1), comes(0, DRAIN, 1)),
        (phase("y", "drain", 1), comes(1, DRAIN, 1)),
        (phase("x", "probe_bw_cruise", 2), comes(0, CRUISE, 2)),
    ] {
        let came = came.expect("an instant");
        for change in changes() {
            let triggered = scenario(|link| {
                link.triggered = vec![Triggered {
                    when: waits.clone(),
                    change,
                }];
            });
            let scheduled = scenario(|link| {
                link.schedule = vec![Change {
                    at: came + change.at,
                    ..change
                }];
            });
            let as_triggered = run(&triggered, 1);
            assert_eq!(as_triggered.met, [Some(came)], "{waits}");
            assert_eq!(triggered.as_it_went(&as_triggered.met), scheduled);
            let as_triggered = known(as_triggered);
            let as_scheduled = run(&scheduled, 1);
            assert!(as_triggered == known(as_scheduled), "{waits}: {change:?}");
            assert!(
                as_triggered != known(run(&scenario(|_| {}), 1)),
                "{change:?}"
            );
            // It does not depend on who looks on.
            let mut looking = States::default();
            let looked_at = run_with(&triggered, 1, &mut looking);
            assert!(as_triggered == known(looked_at), "{waits}: {change:?}");
        }
    }
}

/// Rate and delay change both ways, loss there alone; a way back of its own has its own.
#[test]
fn the_way_back_changes_where_it_is_the_mirror_image() {
    let change = Change {
        rate: Some(rate(5_000_000)),
        delay: Some(Time::from_millis(90)),
        loss: Some(0.1),
        ..Change::default()
    };
    let triggered = scenario(|link| {
        link.triggered = vec![Triggered {
            when: phase("x", "drain", 1),
            change,
        }];
    });
    let back = triggered.network.bottleneck.way_back();
    let mirrored = Change {
        loss: None,
        ..change
    };
    assert_eq!(back.triggered[0].change, mirrored);
    let median = run(&triggered, 1).flows[1].rtt.quantile(0.5);
    assert!(median >= Some(180e6), "both ways are longer: {median:?}");
}

#[test]
fn what_does_not_come_about_is_never_met_and_changes_nothing() {
    let plain = known(run(&scenario(|_| {}), 1));
    let waits = [
        phase("x", "startup", 2),
        when("y", "pacing_gain", StateValue::Number(7.5), 1),
    ];
    let never = scenario(|link| {
        link.triggered = waits
            .iter()
            .map(|when| Triggered {
                when: when.clone(),
                change: changes()[5],
            })
            .collect();
    });
    let summary = run(&never, 1);
    assert_eq!(summary.met, [None, None]);
    // The scheduled loss has dice of its own, and what was before stays.
    assert!(known(summary) == plain);
}

fn refusals(when: When, edit: impl FnOnce(&mut Scenario)) -> Vec<(String, String)> {
    let mut scenario = scenario(|link| {
        link.triggered = vec![Triggered {
            when,
            change: changes()[0],
        }];
    });
    edit(&mut scenario);
    let refused = unsupported(&scenario).into_iter();
    let told = refused.map(|Unsupported { path, what }| (path, what));
    told.collect()
}

#[test]
fn what_never_comes_about_is_refused_by_its_key() {
    let plain = |_: &mut Scenario| {};
    assert_eq!(refusals(phase("x", "drain", 1), plain), []);
    let number = || when("x", "full_bw_count", StateValue::Number(3.0), 1);
    assert_eq!(refusals(number(), plain), []);
    let at = |key: &str| format!("network.bottleneck.schedule.when1.{key}");
    for (waits, edit, key, says) in [
        (
            phase("x", "drained", 1),
            "bbr3",
            "is",
            "phase of x is \"drained\": it is one of \"startup\", \"drain\", \"probe_bw_down\"",
        ),
        (
            when("x", "fase", StateValue::Flag(true), 1),
            "bbr3",
            "column",
            "its variant bbr3 has phase, bw_bps, min_rtt_ns,",
        ),
        (
            when("x", "full_bw_now", StateValue::Number(1.0), 1),
            "bbr3",
            "is",
            "it is true or false",
        ),
        (
            when("x", "full_bw_count", StateValue::Number(1.5), 1),
            "bbr3",
            "is",
            "it is a whole number",
        ),
        (
            phase("x", "drain", 1),
            "reno",
            "flow",
            "the state of x, whose variant reno tells none",
        ),
    ] {
        let refused = refusals(waits, |scenario| scenario.flows[0].cc = edit.into());
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0].0, at(key));
        assert!(refused[0].1.contains(says), "{refused:?}");
    }
    let udp = refusals(phase("x", "drain", 1), |scenario| {
        let mut plain = scenario.flows[1].clone();
        plain.name = "x".into();
        plain.udp = Some(Datagrams::ConstantRate {
            rate: rate(1_000_000),
            payload: 1000,
        });
        scenario.flows[0] = plain;
    });
    assert!(udp[0].1.contains("over UDP"), "{udp:?}");
}
