//! A loaded study, what may be set beside it, and the plan it makes.

use serde_json::Value as Json;

use crate::de::{At, from_node};
use crate::error::{Position, Problem, Sources, StudyError};
use crate::expect::{self, Expectation, Metrics, Subjects};
use crate::names::Names;
use crate::node::{Node, Value};
use crate::path::{Path, nothing};
use crate::place::Places;
use crate::plan::{Frame, Plan, PlannedPoint, PlannedRun, Point, RunIds};
use crate::repeat::{Repeat, Until};
use crate::resolve::{Files, resolve};
use crate::scenario::{Run, Scenario};
use crate::sweep::{Axis, MAX_RUNS, Sweep};
use crate::variant_file::is_path;
use crate::written;

/// A study file that has been read: its TOML, its keys and the types of their values are
/// right, at the first sweep point. What only shows when keys are seen together, and the other
/// sweep points, are checked by [`Study::plan`].
#[derive(Clone, Debug)]
pub struct Study {
    sources: Sources,
    document: Node,
    names: Names,
}

/// What the command line sets beside the study file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `KEY=VALUE`: a dotted path as in `[sweep]`, and a TOML value or a bare text. A path that
    /// is swept is swept no longer; `sweep.PATH=[...]` sets its list instead.
    pub set: Vec<String>,
    /// The same of arguments that stand for it, after `set`: how messages call each, and `KEY=VALUE`.
    pub replaced: Vec<(String, String)>,
    /// Instead of the study's backend.
    pub backend: Option<String>,
    /// Instead of the study's `repeat`.
    pub repeat: Option<Repeats>,
    /// Instead of the study's seed.
    pub seed: Option<u64>,
}

/// `repeat` as the command line sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// So many times.
    Times(u64),
    /// A rule, such as `until ci95 < 2%`.
    Rule(String),
}

impl Study {
    /// Reads the `text` of a study; `file` is its path, in messages as [`cclab_units::shown_path`]
    /// shows it, and where the paths in it start.
    pub fn load(text: &str, file: impl AsRef<std::path::Path>) -> Result<Study, StudyError> {
        Study::load_knowing(text, file, Names::default())
    }

    /// Reads the `text` of a study that may use `names`.
    pub fn load_knowing(
        text: &str,
        file: impl AsRef<std::path::Path>,
        names: Names,
    ) -> Result<Study, StudyError> {
        let sources = Sources::new(file.as_ref(), text);
        let read = || {
            let document = Node::document(text, 0)?;
            let sweep = Sweep::of(&document, Vec::new(), &[])?;
            let base = without_sweep(&document);
            read_point(&base, &sweep.point(0))?;
            // What the sweep replaces at every point is checked all the same; what it provides
            // may be absent.
            match from_node::<written::Study>(&base) {
                Err(problem) if !problem.missing => return Err(problem),
                _ => {}
            }
            Ok(document)
        };
        let document = read().map_err(|problem| sources.locate(problem))?;
        Ok(Study {
            sources,
            document,
            names,
        })
    }

    /// The study file as JSON, with the keys and values as written.
    pub fn to_json(&self) -> Json {
        self.document.to_json()
    }

    /// How many points the sweep has.
    pub fn points(&self) -> Result<u64, StudyError> {
        Sweep::of(&self.document, Vec::new(), &[])
            .map(|sweep| sweep.len())
            .map_err(|problem| self.sources.locate(problem))
    }

    /// Every run of the study: sweep points in the order of the file, the last path varying
    /// fastest, and for each the seeds from `seed` up. `version` says what
    /// determines a run of a scenario on the backend of a name.
    pub fn plan(
        &self,
        overrides: &Overrides,
        version: &dyn Fn(&Scenario, &str) -> String,
    ) -> Result<Plan, StudyError> {
        let (mut scenarios, mut runs) = (Vec::new(), Vec::new());
        let frame = self.plan_points(overrides, version, &mut |point| {
            let ids = RunIds::new(&point.scenario, point.backend, &point.version);
            runs.extend(point.seeds.map(|seed| PlannedRun {
                point: scenarios.len(),
                run: Run {
                    id: ids.of(seed),
                    scenario: point.scenario.clone(),
                    seed,
                    backend: point.backend.to_owned(),
                    version: point.version.clone(),
                },
            }));
            scenarios.push(Point {
                params: point.params,
                scenario: point.scenario,
            });
            Ok(())
        })?;
        Ok(Plan {
            study: frame.study,
            scenarios,
            until: frame.until,
            runs,
            expectations: frame.expectations,
            baselines: frame.baselines,
        })
    }

    /// As `plan`, with each sweep point handed to `take` as soon as it is known: of a study of many
    /// runs, none is in memory but what `take` keeps.
    ///
    /// # Errors
    /// What is wrong with the study, and what `take` returns, which ends it.
    pub fn plan_points(
        &self,
        overrides: &Overrides,
        version: &dyn Fn(&Scenario, &str) -> String,
        take: &mut dyn FnMut(PlannedPoint) -> Result<(), StudyError>,
    ) -> Result<Frame, StudyError> {
        let mut sources = self.sources.clone();
        plan(self, overrides, version, &mut sources, take).map_err(|stop| match stop {
            Stop::Wrong(problem) => sources.locate(problem),
            Stop::There(error) => error,
        })
    }

    /// Where the keys of sweep point `point` are written.
    ///
    /// # Errors
    /// As [`Study::plan`]: what is wrong with `overrides` or the sweep.
    pub fn places(&self, overrides: &Overrides, point: usize) -> Result<Places, StudyError> {
        let mut sources = self.sources.clone();
        match document_of(self, overrides, point, &mut sources) {
            Ok(document) => Ok(Places::new(document, sources)),
            Err(problem) => Err(sources.locate(problem)),
        }
    }
}

fn plan(
    study: &Study,
    overrides: &Overrides,
    version: &dyn Fn(&Scenario, &str) -> String,
    sources: &mut Sources,
    take: &mut dyn FnMut(PlannedPoint) -> Result<(), StudyError>,
) -> Result<Frame, Stop> {
    let mut document = study.document.clone();
    let (fixed, lists) = apply(&mut document, overrides, sources)?;
    let sweep = Sweep::of(&document, lists, &fixed)?;
    let mut frame = Frame {
        study: echo(&document, &sweep),
        title: None,
        question: None,
        until: None,
        expectations: Vec::new(),
        baselines: Vec::new(),
    };
    let document = without_sweep(&document);
    let mut files = Files::new(sources);
    files.name_variants(&variant_paths(&document, &sweep), &study.names);
    check_base(study, &document, &sweep, &mut files)?;
    for index in 0..sweep.len() {
        let values = sweep.point(index);
        let written = read_point(&document, &values)?;
        let scenario = resolve(&written, &study.names, &mut files)?;
        let expectations = expectations(&written, &scenario, &study.names.metrics)?;
        let until = until(&written, &scenario, &study.names.metrics)?;
        if index == 0 {
            let needed = expectations
                .iter()
                .flat_map(|expectation| &expectation.metrics)
                .filter_map(|named| study.names.metrics.needs(&named.subject, &named.metric));
            frame.baselines = needed.chain(written.baselines.0.iter().copied()).collect();
            frame.baselines.sort_unstable();
            frame.baselines.dedup();
            frame.expectations = expectations;
            frame.until = until;
            frame.title.clone_from(&written.title);
            frame.question.clone_from(&written.question);
        }
        check_seeds(&written, sweep.len())?;
        let backend = written.backend.name();
        let version = version(&scenario, backend);
        let params = values
            .iter()
            .map(|(axis, value)| (axis.path.to_string(), value.to_json()))
            .collect();
        let first = written.seed.value;
        take(PlannedPoint {
            params,
            scenario,
            backend,
            version,
            baselines: frame.baselines.clone(),
            // `check_seeds` knows that there are so many.
            seeds: first..first.saturating_add(written.repeat.value.most()),
        })
        .map_err(Stop::There)?;
    }
    Ok(frame)
}

/// Why planning ends before the last point.
enum Stop {
    /// What is wrong with the study, whose place is not yet told.
    Wrong(Problem),
    /// What whoever takes the points found.
    There(StudyError),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        Stop::Wrong(problem)
    }
}

/// A problem where a value that the sweep replaces at every point is none that could stand there.
/// It need not fit what else is swept: only a value that is refused by itself is wrong.
fn check_base(
    study: &Study,
    base: &Node,
    sweep: &Sweep,
    files: &mut Files<'_>,
) -> Result<(), Problem> {
    let first = sweep.point(0);
    let mut refused = |values: &[(&Axis, &Node)]| {
        let written = read_point(base, values);
        let resolved = written.and_then(|written| resolve(&written, &study.names, files));
        resolved.err().filter(|problem| !problem.missing)
    };
    if first.is_empty() || refused(&[]).is_none() {
        return Ok(());
    }
    for index in 0..first.len() {
        let mut others = first.clone();
        let (axis, value) = others.remove(index);
        let Some(problem) = refused(&others) else {
            continue;
        };
        let mut replaced = base.clone();
        axis.path.set(&mut replaced, axis.at, value.clone())?;
        let own = |at| base.holds(at) && !replaced.holds(at);
        if problem.at.is_some_and(own) {
            return Err(problem);
        }
    }
    Ok(())
}

/// Sets what the command line sets; gives the paths that were set, and the lists for sweeps.
#[expect(
    clippy::type_complexity,
    reason = "two lists that are used once, at the only caller"
)]
fn apply(
    document: &mut Node,
    overrides: &Overrides,
    sources: &mut Sources,
) -> Result<(Vec<Path>, Vec<(Path, Position, Node)>), Problem> {
    let mut fixed = Vec::new();
    let mut lists = Vec::new();
    let options = [
        ("backend", overrides.backend.clone().map(Value::String)),
        (
            "repeat",
            overrides.repeat.clone().map(|repeat| match repeat {
                Repeats::Times(times) => Value::Integer(times.into()),
                Repeats::Rule(text) => Value::String(text),
            }),
        ),
        (
            "seed",
            overrides.seed.map(|seed| Value::Integer(seed.into())),
        ),
    ];
    let typed = overrides.set.iter();
    let mut settings: Vec<(u32, &String)> = typed
        .map(|text| (sources.add("--set", text), text))
        .collect();
    for (argument, text) in &overrides.replaced {
        settings.push((sources.add_argument(argument), text));
    }
    for (source, text) in settings {
        let at = Position { source, offset: 0 };
        let (key, value) = split_setting(text).ok_or_else(|| {
            Problem::new(
                format!("`{text}` sets nothing"),
                "write KEY=VALUE, such as flow.short.cc=cubic",
            )
            .or_at(at)
        })?;
        let path = Path::parse(key.trim()).map_err(|problem| problem.or_at(at))?;
        let shift = text.len() - value.trim_start().len();
        let trimmed = value.trim();
        let offset = shift;
        let node = match Node::value(trimmed, source, shift) {
            Ok(node) => node.alone(),
            Err(_) => Node::new(
                Position { source, offset },
                Value::String(trimmed.to_owned()),
            ),
        };
        match path.below("sweep").filter(|below| below.parts() != ["zip"]) {
            Some(below) => lists.push((below, at, node)),
            None => {
                path.set(document, at, node)
                    .map_err(|problem| problem.or_at(at))?;
                fixed.push(path);
            }
        }
    }
    for (name, value) in options {
        if let Some(value) = value {
            let at = Position {
                source: sources.add(&format!("--{name}"), ""),
                offset: 0,
            };
            let path = Path::from_parts(&[name.to_owned()]);
            path.set(document, at, Node::new(at, value))?;
            fixed.push(path);
        }
    }
    Ok((fixed, lists))
}

/// Key and value, at the first `=` outside quotes.
fn split_setting(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (index, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '=' if !quoted => return Some((&text[..index], &text[index + 1..])),
            _ => {}
        }
    }
    None
}

/// The paths of variants' files that the study writes, each once and in order, whether in `document` or
/// among what `sweep` replaces in it.
fn variant_paths(document: &Node, sweep: &Sweep) -> Vec<String> {
    fn collect(key: &str, node: &Node, found: &mut Vec<String>) {
        match &node.value {
            Value::String(text) if key == "cc" && is_path(text) && !found.contains(text) => {
                found.push(text.clone());
            }
            Value::List(nodes) => nodes.iter().for_each(|node| collect(key, node, found)),
            Value::Table(entries) => {
                for (key, node) in entries {
                    collect(&key.name, node, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect("", document, &mut found);
    for axis in &sweep.axes {
        let key = axis.path.parts().last().map_or("", String::as_str);
        for node in &axis.values {
            collect(key, node, &mut found);
        }
    }
    found
}

/// The document that every point starts from: what is swept has been read by then.
fn without_sweep(document: &Node) -> Node {
    let mut document = document.clone();
    if let Value::Table(entries) = &mut document.value {
        entries.retain(|(key, _)| key.name != "sweep");
    }
    document
}

/// The document of sweep point `point`.
fn document_of(
    study: &Study,
    overrides: &Overrides,
    point: usize,
    sources: &mut Sources,
) -> Result<Node, Problem> {
    let mut document = study.document.clone();
    let (fixed, lists) = apply(&mut document, overrides, sources)?;
    let sweep = Sweep::of(&document, lists, &fixed)?;
    with_values(&without_sweep(&document), &sweep.point(point as u64))
}

/// `document` with the values of a sweep point.
fn with_values(document: &Node, values: &[(&Axis, &Node)]) -> Result<Node, Problem> {
    let mut document = document.clone();
    for (axis, value) in values {
        axis.path
            .set(&mut document, axis.at, (*value).clone())
            .map_err(|problem| problem.or_at(axis.at))?;
    }
    Ok(document)
}

/// Reads `document` with the values of a sweep point.
fn read_point(document: &Node, values: &[(&Axis, &Node)]) -> Result<written::Study, Problem> {
    if values.is_empty() {
        return from_node(document);
    }
    let document = with_values(document, values)?;
    from_node(&document).map_err(|problem: Problem| {
        match values.iter().find(|(axis, _)| problem.at == Some(axis.at)) {
            Some((axis, _)) => nothing(&axis.path.to_string(), problem),
            None => problem,
        }
    })
}

/// The rule by which `repeat` ends, if it is one.
fn until(
    written: &written::Study,
    scenario: &Scenario,
    known: &Metrics,
) -> Result<Option<Until>, Problem> {
    let Repeat::Until(rule) = &written.repeat.value else {
        return Ok(None);
    };
    rule.resolve(&Subjects::from(scenario), known)
        .map(Some)
        .map_err(|problem| problem.or_at(written.repeat.at))
}

fn expectations(
    written: &written::Study,
    scenario: &Scenario,
    known: &Metrics,
) -> Result<Vec<Expectation>, Problem> {
    let subjects = Subjects::from(scenario);
    written
        .expect
        .iter()
        .map(|(label, check)| {
            expect::parse(label, &check.value, &subjects, known)
                .map_err(|problem| problem.or_at(check.at))
        })
        .collect()
}

fn check_seeds(written: &written::Study, points: u64) -> Result<(), Problem> {
    let At { at, value } = &written.repeat;
    let repeat = value.most();
    if repeat == 0 {
        return Err(Problem::new("`0` repeats run nothing", "repeat is at least 1").or_at(*at));
    }
    if points
        .checked_mul(repeat)
        .is_none_or(|runs| runs > MAX_RUNS)
    {
        return Err(Problem::new(
            format!("{points} scenarios repeated {repeat} times are too many runs"),
            format!("at most {MAX_RUNS} runs"),
        )
        .or_at(*at));
    }
    if written.seed.value.checked_add(repeat).is_none() {
        let seed = &written.seed;
        return Err(Problem::new(format!("seed `{}` is too large", seed.value), "").or_at(seed.at));
    }
    Ok(())
}

/// The study as JSON with the sweep in force.
fn echo(document: &Node, sweep: &Sweep) -> Json {
    let mut echo = without_sweep(document).to_json();
    if let (Json::Object(entries), false) = (&mut echo, sweep.axes.is_empty()) {
        let list = |axis: &Axis| Json::from_iter(axis.values.iter().map(Node::to_json));
        let mut lists: serde_json::Map<String, Json> = sweep
            .axes
            .iter()
            .map(|axis| (axis.path.to_string(), list(axis)))
            .collect();
        if let Some(zip) = document.get("sweep").and_then(|sweep| sweep.get("zip")) {
            lists.insert("zip".to_owned(), zip.to_json());
        }
        entries.insert("sweep".to_owned(), Json::Object(lists));
    }
    echo
}
