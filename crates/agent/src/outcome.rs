//! The last file that the agent writes.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use cclab_testbed::records::{OUTCOME, Outcome, SAMPLES, SCHEMA, Sample};

use crate::failure::{During, Failure, Step};
use crate::kernel;

/// Writes samples as they are taken.
pub struct Samples(BufWriter<File>);

impl Samples {
    /// Into the folder `dir`.
    pub fn create(dir: &Path) -> Step<Samples> {
        let file = File::create(dir.join(SAMPLES)).during("writing samples")?;
        Ok(Samples(BufWriter::with_capacity(1 << 18, file)))
    }

    /// Appends `sample`.
    pub fn push(&mut self, sample: &Sample) -> Step<()> {
        let step = "writing samples";
        serde_json::to_writer(&mut self.0, sample).during(step)?;
        self.0.write_all(b"\n").during(step)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Step<()> {
        self.0.flush().during("writing samples")
    }
}

/// Writes the outcome of a run, or of its failure, and says on the standard output which it was.
pub fn write(dir: &Path, result: Result<Outcome, Failure>) -> bool {
    let outcome = result.unwrap_or_else(|failure| Outcome {
        schema: SCHEMA.to_owned(),
        failure: Some(failure),
        kernel: kernel::identify(),
        ..Outcome::default()
    });
    let written = serde_json::to_vec(&outcome)
        .during("writing the outcome")
        .and_then(|text| {
            let whole = dir.join(OUTCOME);
            let part = dir.join("outcome.part");
            fs::write(&part, text).during("writing the outcome")?;
            fs::rename(&part, &whole).during("writing the outcome")
        });
    match outcome.failure.or(written.err()) {
        None => {
            println!("cclab done");
            true
        }
        Some(Failure { step, problem }) => {
            println!("cclab failed {step}: {}", problem.replace('\n', "\\n"));
            false
        }
    }
}
