//! Files that a study names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use cclab_units::refused;

use crate::de::At;
use crate::error::{Position, Problem, Sources};
use crate::flow::Flow;
use crate::names::Names;
use crate::opportunities::Opportunities;
use crate::scenario::Traffic;
use crate::variant_file::{Loaded, VariantFile, Wrong, load};

/// Larger files are no traces: this is some hours at 100 Mbit/s.
const MAX_BYTES: u64 = 256 << 20;

/// The files of a study, each read once for all its sweep points.
pub(crate) struct Files<'a> {
    sources: &'a mut Sources,
    /// Where relative paths start: the folder of the study file.
    folder: PathBuf,
    traces: BTreeMap<String, Opportunities>,
    /// The variants' files that can be read, by their paths as written.
    variants: BTreeMap<String, Loaded>,
}

impl<'a> Files<'a> {
    /// The files of the study whose texts are `sources`, which those with problems join.
    pub fn new(sources: &'a mut Sources) -> Files<'a> {
        let folder = sources.folder().to_owned();
        Files {
            sources,
            folder,
            traces: BTreeMap::new(),
            variants: BTreeMap::new(),
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

    /// Reads the variants' files at `paths`, all of a study, and gives each its label: the name that it
    /// gives itself, unless a variant of `names` or another of the files has that; then its path as
    /// written. What cannot be read is told of where it is used.
    pub fn name_variants(&mut self, paths: &[String], names: &Names) {
        let folder = &self.folder;
        let load = |path: &String| Some((path.clone(), load(Some(folder), path.as_ref()).ok()?));
        let mut loaded: Vec<(String, Loaded)> = paths.iter().filter_map(load).collect();
        let built_in = |name: &str| names.variants.iter().any(|known| known.name == name);
        let labels: Vec<String> = loaded
            .iter()
            .map(|(path, one)| {
                let name = &one.file.name;
                let of_another =
                    |(_, other): &(_, Loaded)| other.file.name == *name && other.file != one.file;
                match built_in(name) || loaded.iter().any(of_another) {
                    false => name.clone(),
                    true => path_label(path, one, &loaded),
                }
            })
            .collect();
        for ((_, one), label) in loaded.iter_mut().zip(labels) {
            one.file.label = label;
        }
        self.variants = loaded.into_iter().collect();
    }

    /// The variant's file at `path`.
    pub fn variant(&self, path: &At<String>) -> Result<&Loaded, Problem> {
        if let Some(loaded) = self.variants.get(&path.value) {
            return Ok(loaded);
        }
        // What a study has beyond what it was asked for, or what cannot be read.
        let Wrong { message, help } = match load(Some(&self.folder), path.value.as_ref()) {
            Err(wrong) => wrong,
            Ok(_) => Wrong {
                message: format!(
                    "the variant \"{}\" was written while it was read",
                    path.value
                ),
                help: "try again".to_owned(),
            },
        };
        Err(Problem::new(message, help).or_at(path.at))
    }

    /// The files of the variants that `flows` and `traffic` have.
    pub fn variant_files(&self, flows: &[Flow], traffic: &[Traffic]) -> Vec<VariantFile> {
        let flows = flows.iter().map(|flow| &flow.cc);
        let used: BTreeSet<&String> = flows
            .chain(traffic.iter().filter_map(|one| one.cc.as_ref()))
            .collect();
        let of = |label: &&String| {
            let mut files = self.variants.values().map(|loaded| &loaded.file);
            files.find(|file| file.label == **label).cloned()
        };
        used.iter().filter_map(of).collect()
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let full = self.folder.join(path);
        let facts = fs::metadata(&full).map_err(|error| refused(&error))?;
        if !facts.is_file() {
            return Err("it is no file".to_owned());
        }
        if facts.len() > MAX_BYTES {
            return Err(format!("it has more than {MAX_BYTES} bytes"));
        }
        fs::read_to_string(&full).map_err(|error| refused(&error))
    }
}

/// The label of `one`, at `path`, whose own name is taken: the path as the study first writes it. One
/// from the root of the file system says nothing of the file and is left out.
fn path_label(path: &str, one: &Loaded, loaded: &[(String, Loaded)]) -> String {
    let first = loaded.iter().find(|(_, other)| other.file == one.file);
    let path = first.map_or(path, |(path, _)| path);
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    format!("{file}@{}", &one.file.sha256[..8])
}
