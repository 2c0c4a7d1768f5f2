//! The cases: short runs of everything that has a version.

mod files;
mod kernels;
mod measured;
mod simulated;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cclab_spec::{Overrides, Scenario, Study};

use crate::digest::{Digested, Hash, run_with, told};
use crate::table::Row;

/// Hexadecimal digits of the hash of a question and of its answer.
const DIGITS: (usize, usize) = (8, 16);

/// A question, whose answer a version stands for.
struct Case {
    subject: String,
    name: String,
    scenarios: Vec<Scenario>,
    how: How,
}

/// What is made of a case's scenarios.
#[derive(Clone, Copy)]
enum How {
    /// The events of a simulation, and its summary.
    Simulated,
    /// The same with files of users'.
    OfFile,
    /// The orders for a kernel.
    Ordered,
    /// The metrics of a simulation.
    Measured,
    /// The metrics of a trace that is written down.
    WrittenDown,
}

/// What all cases come to now, in the order of the table.
pub fn found() -> Vec<Row> {
    let mut cases = simulated::cases();
    cases.extend(files::cases());
    cases.extend(kernels::cases());
    cases.extend(measured::cases());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match cases.get(index) {
                Some(case) => done.push((index, answer(case))),
                None => return done,
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut rows = thread::scope(|scope| {
        let each: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let each = each.into_iter();
        each.flat_map(|worker| worker.join().expect("a case that runs"))
            .collect::<Vec<_>>()
    });
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn answer(case: &Case) -> Row {
    let (mut asked, mut came) = (Hash::default(), Hash::default());
    let mut versions: Vec<String> = Vec::new();
    let mut use_all = |list: String| {
        for part in list.split(", ") {
            if !versions.iter().any(|known| known == part) {
                versions.push(part.to_owned());
            }
        }
    };
    for scenario in &case.scenarios {
        asked.json(scenario);
        match case.how {
            How::Simulated | How::OfFile => {
                let mut probe = Digested::default();
                let summary = run_with(scenario, &mut probe, &files::own(scenario));
                probe.0.line(format_args!("{}", told(&summary)));
                came.line(format_args!("{}", probe.0.digits(DIGITS.1)));
                use_all(cclab_sim::determinants(scenario));
            }
            How::Ordered => {
                kernels::order(scenario, &mut came);
                use_all(format!("testbed {}", cclab_testbed::VERSION));
            }
            How::Measured => {
                came.json(&measured::simulated(scenario));
                use_all(cclab_sim::determinants(scenario));
                use_all(format!("metrics {}", cclab_metrics::VERSION));
            }
            How::WrittenDown => {
                came.json(&measured::written_down(scenario));
                use_all(format!("metrics {}", cclab_metrics::VERSION));
            }
        }
    }
    Row {
        subject: case.subject.clone(),
        case: case.name.clone(),
        asked: asked.digits(DIGITS.0),
        digest: came.digits(DIGITS.1),
        versions: versions.join(", "),
    }
}

/// The first scenario of the study `text`.
fn scenario(text: &str) -> Scenario {
    let plan = Study::load(text, "pins.toml")
        .and_then(|study| study.plan(&Overrides::default(), &|_, _| String::new()));
    let mut plan = plan.unwrap_or_else(|why| panic!("{why}\n{text}"));
    plan.scenarios.swap_remove(0).scenario
}
