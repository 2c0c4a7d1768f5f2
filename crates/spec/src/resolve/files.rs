//! Files that a study names.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::de::At;
use crate::error::{Position, Problem, Sources};
use crate::opportunities::Opportunities;

/// Larger files are no traces: this is some hours at 100 Mbit/s.
const MAX_BYTES: u64 = 256 << 20;

/// The files of a study, each read once for all its sweep points.
pub(crate) struct Files<'a> {
    sources: &'a mut Sources,
    /// Where relative paths start: the folder of the study file.
    folder: PathBuf,
    traces: BTreeMap<String, Opportunities>,
}

impl<'a> Files<'a> {
    /// The files of the study whose texts are `sources`, which those with problems join.
    pub fn new(sources: &'a mut Sources) -> Files<'a> {
        let folder = sources.folder();
        Files {
            sources,
            folder,
            traces: BTreeMap::new(),
        }
    }

    /// The trace in Mahimahi's format at `path`.
    pub fn opportunities(&mut self, path: &At<String>) -> Result<Opportunities, Problem> {
        if let Some(known) = self.traces.get(&path.value) {
            return Ok(known.clone());
        }
        let text = self.read(&path.value).map_err(|why| {
            let message = format!("the trace \"{}\" cannot be read: {why}", path.value);
            let help = "a path starts at the folder of the study file";
            Problem::new(message, help).or_at(path.at)
        })?;
        let trace = Opportunities::parse(&text).map_err(|bad| {
            let place = Position {
                source: self.sources.add(&path.value, &text),
                offset: bad.offset,
            };
            Problem::new(bad.message, bad.help).or_at(place)
        })?;
        self.traces.insert(path.value.clone(), trace.clone());
        Ok(trace)
    }

    /// The distribution of sizes at `path`.
    pub fn sizes(&mut self, path: &At<String>) -> Result<Vec<(u64, f64)>, Problem> {
        let text = self.read(&path.value).map_err(|why| {
            let message = format!("the sizes \"{}\" cannot be read: {why}", path.value);
            let help = "a path starts at the folder of the study file";
            Problem::new(message, help).or_at(path.at)
        })?;
        super::traffic::parse(&text).map_err(|(offset, message)| {
            let place = Position {
                source: self.sources.add(&path.value, &text),
                offset,
            };
            let help = "write lines of size in bytes and cumulative share, such as 1460,0.5";
            Problem::new(message, help).or_at(place)
        })
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let full = self.folder.join(path);
        let facts = fs::metadata(&full).map_err(|error| error.to_string())?;
        if !facts.is_file() {
            return Err("it is no file".to_owned());
        }
        if facts.len() > MAX_BYTES {
            return Err(format!("it has more than {MAX_BYTES} bytes"));
        }
        fs::read_to_string(&full).map_err(|error| error.to_string())
    }
}
