//! The inner state that files tell traces.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cclab_cc::interface::state::ABSENT;
use cclab_cc::interface::{CongestionOps, StateColumn, Tcp};
use cclab_rust::Fault;
use common::{RENO, load, made, refused};

const PHASES: &str = include_str!("variants/phases.rs");

fn told(variant: &dyn CongestionOps, tcp: &Tcp) -> Vec<u64> {
    let mut values = vec![ABSENT; variant.state_columns().len()];
    variant.tell_state(tcp, &mut values);
    values.into_iter().map(f64::to_bits).collect()
}

#[test]
fn columns_and_numbers_are_those_of_the_file() {
    let mut phases = made(&load("phases.rs", PHASES), &[]);
    let words = &["slow_start", "avoidance"];
    let expected = [
        StateColumn::word("phase", words, "Which of the two."),
        StateColumn::count("reductions", "Reductions so far."),
        StateColumn::flag("reduced", "Whether there was one."),
        StateColumn::number(
            "share",
            "What of the window was kept; null before the first.",
        ),
    ];
    assert_eq!(phases.state_columns(), expected);
    let tcp = &mut Tcp {
        snd_cwnd: 10,
        snd_ssthresh: 20,
        ..Tcp::default()
    };
    let bits = |values: [f64; 4]| values.map(f64::to_bits).to_vec();
    assert_eq!(told(&*phases, tcp), bits([0.0, 0.0, 0.0, ABSENT]));
    tcp.snd_ssthresh = phases.ssthresh(tcp);
    assert_eq!(told(&*phases, tcp), bits([1.0, 1.0, 1.0, 0.5]));
    assert_eq!(made(&load("reno.rs", RENO), &[]).state_columns(), []);
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let twice = PHASES.replace("\"reductions\"", "\"phase\"");
    let says =
        "phases.rs: it tells two columns of its state called phase; give each a name of its own";
    assert_eq!(refused("phases.rs", &twice), [says]);
}

#[test]
fn a_column_that_the_table_has_of_its_own_is_refused() {
    for name in ["flow", "time_ns", "time_s", "until_s"] {
        let taken = PHASES.replace("\"reductions\"", &format!("\"{name}\""));
        let says = format!(
            "phases.rs: it tells a column of its state called {name}, as tables of states have one of \
             their own; give each a name of its own"
        );
        assert_eq!(refused("phases.rs", &taken), [says]);
    }
}

#[test]
fn a_panic_where_the_state_is_told_has_its_place() {
    let text = PHASES.replace(
        "self.last.map_or(ABSENT, |_| 0.5)",
        "self.last.unwrap() as f64",
    );
    let line = text
        .lines()
        .position(|line| line.contains("unwrap"))
        .expect("a line")
        + 1;
    let phases = made(&load("phases.rs", &text), &[]);
    let payload = catch_unwind(AssertUnwindSafe(|| told(&*phases, &Tcp::default())));
    let fault = payload
        .expect_err("it panics")
        .downcast::<Fault>()
        .expect("a fault");
    assert_eq!((fault.hook.as_str(), fault.line), ("tell_state", line));
    let text = PHASES.replace("        COLUMNS\n", "        panic!(\"none\")\n");
    let refused = refused("phases.rs", &text);
    assert!(refused[0].ends_with(": state_columns: none"), "{refused:?}");
}
