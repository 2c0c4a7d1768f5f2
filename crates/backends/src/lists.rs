//! The lists of what there is, as JSON.

use std::ffi::OsStr;

use cclab_cc::Variant;
use cclab_cc::interface::{StateColumn, StateKind};
use cclab_metrics::{Better, Number};
use cclab_qdisc::Discipline;
use cclab_spec::kinds::{APPLICATIONS, IMPAIRMENTS, Key, Kind, RECEIVERS, TOPOLOGIES};
use cclab_spec::{
    Opportunities, Overrides, Scenario, Study, TRAFFIC_KINDS, TrafficKind, VariantFile,
};
use cclab_testbed::{PARTS, Part, Probe};
use cclab_units::InKernel;
use serde_json::{Value, json};

use crate::parameters::parameters;
use crate::support::doing_all;

/// Every variant: name, one line about it, where it is defined, its parameters, the backends that
/// have it, the kernel's module of it (null where the kernel needs none, or has none), the columns of
/// the inner state that it tells traces of the simulator.
pub fn variants() -> String {
    let row = |v: &Variant| {
        json!({
            "name": v.name,
            "summary": v.summary,
            "reference": v.reference,
            "params": parameters(v.params),
            "backends": doing_all(&with_variant(v)),
            "module": v.kernel.and_then(InKernel::module),
            "state": v.state_columns().iter().map(state_column).collect::<Vec<_>>(),
        })
    };
    json!(cclab_cc::VARIANTS.iter().map(row).collect::<Vec<_>>()).to_string()
}

fn state_column(column: &StateColumn) -> Value {
    let (kind, words) = match column.kind {
        StateKind::Number => ("number", None),
        StateKind::Count => ("count", None),
        StateKind::Flag => ("flag", None),
        StateKind::Word(words) => ("word", Some(words)),
    };
    json!({
        "name": column.name,
        "kind": kind,
        "words": words,
        "meaning": column.meaning,
    })
}

/// What the variant's file at `path` is, as a row of [`variants`] with its language, file, texts and
/// hash; a parameter of a C file has the type of its `module_param` for what it measures, those of
/// others are for who runs them to say.
///
/// # Errors
/// What is wrong with the file.
pub fn variant_file(path: &OsStr) -> Result<String, String> {
    let file = VariantFile::read(path)?;
    let params = file.module_params().into_iter().map(|param| {
        json!({
            "name": param.name,
            "measure": param.kind.name(),
            "meaning": param.meaning,
            "default": Value::Null,
            "written": Value::Null,
        })
    });
    let params: Vec<Value> = params.collect();
    let row = json!({
        "name": file.name,
        "language": file.language.name(),
        "file": file.file,
        "texts": file.texts,
        "takes_in": file.texts.keys().filter(|name| **name != file.file).collect::<Vec<_>>(),
        "sha256": file.sha256,
        "params": params,
        "backends": doing_all(&with_variant_file(&file)),
    });
    Ok(row.to_string())
}

/// Every queueing discipline: name, one line about it, where it is defined, its parameters, the
/// backends that have it, the parameter with the rate that it lets pass (null where that is the
/// link's), whether it breaks phase effects, the names of its queues where it has several.
pub fn qdiscs() -> String {
    let row = |d: &Discipline| {
        json!({
            "name": d.name,
            "summary": d.summary,
            "reference": d.reference,
            "params": parameters(d.params),
            "backends": doing_all(&with_queue(d)),
            "shapes": d.shapes,
            "draws": d.draws,
            "bands": d.bands,
        })
    };
    json!(cclab_qdisc::QDISCS.iter().map(row).collect::<Vec<_>>()).to_string()
}

/// Every discipline that runs on a kernel may need: its name there, the least that `tc` takes after
/// it, the kernel's module of it (null where it needs none), how backend `linux` is asked for what it
/// does.
pub fn probes() -> String {
    let row = |p: Probe| {
        json!({
            "kind": p.kind,
            "least": p.least,
            "module": p.part.module(),
            "linux": on_linux(p.kind),
        })
    };
    json!(cclab_testbed::probes().map(row).collect::<Vec<_>>()).to_string()
}

/// How backend `linux` is asked for what the kernel's discipline `kind` does: plainly, but for a queue
/// that one of its networks alone has.
fn on_linux(kind: &str) -> &'static str {
    let mut queues = cclab_qdisc::of_kernel();
    let queue = queues.find(|(_, tc)| tc.kinds.iter().any(|known| known.name == kind));
    let doing = queue.map_or(Vec::new(), |(discipline, _)| {
        doing_all(&with_queue(discipline))
    });
    let on_linux = |backend: &&str| backend.starts_with("linux");
    doing.into_iter().find(on_linux).unwrap_or("linux")
}

/// Every part that leads packets from one interface to another: its name, what it is, the commands
/// that try it, the kernel's module of it and the option that makes a kernel have it.
pub fn parts() -> String {
    let row = |p: &Part| {
        json!({
            "name": p.name,
            "what": p.kind.name(),
            "trial": p.trial,
            "module": p.part.module(),
            "option": p.part.symbol(),
        })
    };
    json!(PARTS.iter().map(row).collect::<Vec<_>>()).to_string()
}

/// Every stack profile: name and one line about it.
pub fn stacks() -> String {
    let rows: Vec<_> = cclab_tcp::profile::PROFILES
        .iter()
        .map(|p| json!({ "name": p.name, "summary": p.summary }))
        .collect();
    json!(rows).to_string()
}

/// Every metric: name, unit, definition, the span of time it covers, where it is measured, who
/// defined it, and what else its row says.
pub fn metrics() -> String {
    let rows: Vec<_> = cclab_metrics::metrics()
        .map(|m| {
            let bound = |bound: f64| bound.is_finite().then_some(bound);
            json!({
                "name": m.name,
                "unit": m.quantity.unit(),
                "definition": m.definition,
                "window": m.window,
                "point": m.point,
                "source": m.source,
                "subject": m.subject(),
                "quantity": m.quantity.name(),
                "dimension": m.quantity.dimension(),
                "better": m.better.map(Better::name),
                "bounds": [bound(m.bounds.0), bound(m.bounds.1)],
                "baseline": m.baseline,
                "estimated": m.estimated,
                "of_summary": m.of_summary,
                "rank": m.rank,
                "numbers": m.numbers().iter().map(number).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!(rows).to_string()
}

fn number(number: &Number) -> Value {
    let column = number.column().map(|(column, heading)| {
        json!({
            "heading": heading,
            "word": column.heading,
            "digits": column.digits,
            "if_measured": column.if_measured,
        })
    });
    json!({
        "name": number.name(),
        "title": number.title(),
        "window_of": number.window_of(),
        "short": number.short(),
        "told": number.told.map(|told| told.measure),
        "compared": number.compared(),
        "queried": number.queried(),
        "column": column,
    })
}

/// Every topology: name, one line about it, its keys, how it is written, the backends that have
/// it.
pub fn topologies() -> String {
    kinds(TOPOLOGIES)
}

/// Every impairment of links, as [`topologies`] has topologies.
pub fn impairments() -> String {
    kinds(IMPAIRMENTS)
}

/// Every application of flows, as [`topologies`] has topologies.
pub fn applications() -> String {
    kinds(APPLICATIONS)
}

/// Every behaviour of receivers, as [`topologies`] has topologies.
pub fn receivers() -> String {
    kinds(RECEIVERS)
}

/// Every kind of cross traffic: name, one line about it, its keys, the backends that have it.
pub fn traffic() -> String {
    let row = |kind: &TrafficKind| {
        let of_tcp = [
            ("cc", "the variant of its connections", json!("cubic")),
            ("cc_params", "parameters of the variant", Value::Null),
        ];
        let of_sized = [
            ("transfer", "bytes of each transfer", Value::Null),
            (
                "sizes",
                "instead of that: a distribution, lognormal, pareto or empirical",
                Value::Null,
            ),
        ];
        let of_tcp = of_tcp.into_iter().filter(|_| kind.tcp);
        let others = of_tcp.chain(of_sized.into_iter().filter(|_| kind.sized));
        let others = others.map(|(name, meaning, default)| {
            json!({ "name": name, "meaning": meaning, "default": default })
        });
        let params: Vec<Value> = parameters(kind.params).into_iter().chain(others).collect();
        json!({
            "name": kind.name,
            "summary": kind.summary,
            "params": params,
            "backends": doing_all(&with_traffic(kind)),
        })
    };
    json!(TRAFFIC_KINDS.iter().map(row).collect::<Vec<_>>()).to_string()
}

fn kinds(all: &[Kind]) -> String {
    let key = |key: &Key| {
        let default = key.default.map_or(Value::Null, |text| {
            serde_json::from_str(text).expect("defaults are JSON too")
        });
        json!({ "name": key.name, "meaning": key.meaning, "default": default })
    };
    let row = |kind: &Kind| {
        json!({
            "name": kind.name,
            "summary": kind.summary,
            "params": kind.keys.iter().map(key).collect::<Vec<_>>(),
            "example": kind.example.lines(),
            "backends": doing_all(&with_kind(kind)),
        })
    };
    json!(all.iter().map(row).collect::<Vec<_>>()).to_string()
}

/// A scenario that has a flow of `variant`.
fn with_variant(variant: &Variant) -> Scenario {
    let mut scenario = bulk();
    for flow in &mut scenario.flows {
        variant.name.clone_into(&mut flow.cc);
    }
    scenario
}

/// A scenario that has a flow of the variant in `file`.
fn with_variant_file(file: &VariantFile) -> Scenario {
    // Its own name may be that of a variant which is built in.
    let label = format!("./{}", file.file);
    let mut scenario = bulk();
    for flow in &mut scenario.flows {
        flow.cc.clone_from(&label);
    }
    scenario.variant_files = vec![VariantFile {
        label,
        ..file.clone()
    }];
    scenario
}

/// A scenario whose bottleneck has a queue of `discipline`.
fn with_queue(discipline: &Discipline) -> Scenario {
    let mut scenario = bulk();
    let queue = &mut scenario.network.bottleneck.queue;
    discipline.name.clone_into(&mut queue.kind);
    scenario
}

/// A scenario of a bulk flow.
fn bulk() -> Scenario {
    scenario(&APPLICATIONS[0].example.study())
}

/// A scenario that has `kind`.
fn with_kind(kind: &Kind) -> Scenario {
    if kind.name != "trace" {
        return scenario(&kind.example.study());
    }
    // Its example names a file that nobody has.
    let mut scenario = bulk();
    scenario.network.bottleneck.trace = Opportunities::parse("1\n").ok();
    scenario
}

/// A scenario that has cross traffic of `kind`.
fn with_traffic(kind: &TrafficKind) -> Scenario {
    let bulk = APPLICATIONS[0].example.study();
    let takes_load = kind.params.iter().any(|parameter| parameter.name == "load");
    let load = if takes_load { "load = 0.1\n" } else { "" };
    let size = if kind.sized {
        "transfer = \"30kB\"\n"
    } else {
        ""
    };
    let name = kind.name;
    scenario(&format!(
        "{bulk}[[traffic]]\nkind = \"{name}\"\n{load}{size}"
    ))
}

/// The one scenario of a study of this crate's making.
fn scenario(text: &str) -> Scenario {
    let plan = Study::load(text, "example.toml")
        .and_then(|study| study.plan(&Overrides::default(), &|_, _| String::new()));
    let mut plan = plan.expect("what the registries list can be written");
    plan.scenarios.swap_remove(0).scenario
}
