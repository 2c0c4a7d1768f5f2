//! The entrance of fuzzers: whatever study the bytes spell, it is refused at a place, or runs and
//! keeps the laws; never a panic.

mod audit;
mod author;
mod choices;
#[cfg(test)]
mod tests;

use cclab_spec::{Overrides, Scenario, Study};
use cclab_trace::schema::RunSummary;
use cclab_units::Time;

pub use audit::audit;
pub use author::{Author, applications, link_keys, topologies};

use crate::unsupported;

/// The name of the study in messages. Its folder holds what studies of fuzzers refer to.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/study.toml");
/// Longer runs are left out: they add time and no new states.
const LONGEST: Time = Time::from_secs(2);

/// Larger networks are left out for the same reason: flows, and bottlenecks in a row.
const MOST_FLOWS: usize = 200;
const MOST_BOTTLENECKS: u32 = 200;

/// What became of a study.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was refused, with this message.
    Refused(String),
    /// It ran.
    Ran(Box<RunSummary>),
}

/// Writes the study that `data` spells, plans it and runs it.
///
/// # Panics
/// When a law does not hold: a refusal names its place, every packet is accounted for, on each
/// link, in all, and in the trace; nothing is acknowledged that did not arrive.
pub fn fuzz_scenario(data: &[u8]) {
    let text = Author::new(data).study();
    if let Err(broken) = judge(&text) {
        panic!("{broken}\n{text}");
    }
}

/// Plans the study `text` and executes its first run.
///
/// # Errors
/// The law that does not hold.
pub fn judge(text: &str) -> Result<Outcome, String> {
    let (scenario, seed) = match first_run(text) {
        Ok(run) => run,
        Err(why) if is_placed(&why) => return Ok(Outcome::Refused(why)),
        Err(why) => return Err(format!("a refusal without a place: {why}")),
    };
    if let Some(refused) = unsupported(&scenario).first() {
        let why = format!("{}: {}", refused.path, refused.what);
        return match refused.path.is_empty() {
            true => Err(format!("a refusal without a place: {why}")),
            false => Ok(Outcome::Refused(why)),
        };
    }
    if scenario.duration.is_none_or(|end| end > LONGEST) {
        return Ok(Outcome::Refused(format!(
            "it runs for longer than {LONGEST}"
        )));
    }
    let network = (scenario.flows.len(), scenario.network.bottlenecks);
    if network.0 > MOST_FLOWS || network.1 > MOST_BOTTLENECKS {
        let why = format!("{} flows over {} bottlenecks", network.0, network.1);
        return Ok(Outcome::Refused(why));
    }
    audit(&scenario, seed).map(|summary| Outcome::Ran(Box::new(summary)))
}

/// The scenario and the seed of the first run of the study `text`.
///
/// # Errors
/// Why the study is refused.
pub fn first_run(text: &str) -> Result<(Scenario, u64), String> {
    let study = Study::load(text, FILE).map_err(|why| why.to_string())?;
    let plan = study
        .plan(&Overrides::default(), &|scenario, _| {
            crate::determinants(scenario)
        })
        .map_err(|why| why.to_string())?;
    let first = plan.runs.into_iter().next();
    let run = first.ok_or("a plan without runs")?.run;
    Ok((run.scenario, run.seed))
}

/// Whether a message begins with a file, a line and a column.
fn is_placed(message: &str) -> bool {
    let mut parts = message.splitn(4, ':');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
    parts.next().is_some_and(|file| !file.is_empty())
        && is_number(parts.next())
        && is_number(parts.next())
        && parts.next().is_some_and(|what| !what.trim().is_empty())
}
