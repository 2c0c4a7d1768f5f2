//! Variants of C and Rust files, compiled and loaded into this process.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use cclab_cc::EcnFeedback;
use cclab_module::{Compiled, Sources, cache};
use cclab_sim::OwnVariant;
use cclab_spec::{Language, Scenario, VariantFile};
use serde_json::{Value, json};

/// The variants of C and Rust files that flows and cross traffic of `scenario` have: one for each
/// file and set of parameters. In this process their code begins to run: what it does, the process
/// does.
///
/// # Errors
/// What is wrong with a file, or with the parameters that it is given: a line for each.
pub fn of_files(scenario: &Scenario) -> Result<Vec<OwnVariant>, String> {
    let flows = scenario.flows.iter();
    let flows = flows.map(|flow| (flow.cc.as_str(), &flow.cc_params));
    let traffic = scenario.traffic.iter();
    let traffic = traffic.filter_map(|one| Some((one.cc.as_deref()?, &one.cc_params)));
    let mut made: Vec<OwnVariant> = Vec::new();
    for (cc, params) in flows.chain(traffic) {
        let Some(file) = scenario.variant_file(cc) else {
            continue;
        };
        let known = |one: &OwnVariant| one.label == cc && one.params == *params;
        if file.language != Language::Python && !made.iter().any(known) {
            made.push(make(file, params)?);
        }
    }
    Ok(made)
}

/// The variant of `file` with these parameters.
fn make(file: &VariantFile, params: &BTreeMap<String, f64>) -> Result<OwnVariant, String> {
    let variant = |ecn, make| OwnVariant {
        label: file.label.clone(),
        params: params.clone(),
        ecn,
        make,
    };
    match file.language {
        Language::C => {
            let compiled = compiled(file).map_err(|error| error.to_string())?;
            let loaded = compiled.load(params).map_err(|error| error.to_string())?;
            let feedback = match compiled.description().echoes_each_mark {
                true => EcnFeedback::PerPacket,
                false => EcnFeedback::Classic,
            };
            let make = loaded.make();
            Ok(variant(feedback, Arc::new(move |_| Box::new(make()))))
        }
        Language::Rust => {
            let loaded = cclab_rust::load(file).map_err(|wrong| in_lines(&wrong))?;
            let feedback = match loaded.description().needs_ecn {
                true => EcnFeedback::PerPacket,
                false => EcnFeedback::Classic,
            };
            let make = loaded.make(params).map_err(|wrong| wrong.to_string())?;
            Ok(variant(feedback, Arc::new(make)))
        }
        Language::Python => Err(format!("{}: a Python file is not compiled", file.file)),
    }
}

/// The module of a C `file`, or what is wrong with it.
fn compiled(file: &VariantFile) -> Result<Compiled, cclab_module::ModuleError> {
    let sources = Sources {
        file: &file.file,
        texts: &file.texts,
    };
    Compiled::of(&sources, &cache())
}

fn in_lines(wrong: &[impl ToString]) -> String {
    let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// The parameters that the C or Rust file at `path` declares, as in [`crate::variant_file`], with
/// their defaults, as JSON: it is compiled, and its code begins to run.
///
/// # Errors
/// What is wrong with the file.
pub fn declared_params(path: &OsStr) -> Result<String, String> {
    let file = VariantFile::read(path)?;
    if file.language == Language::C {
        let compiled = compiled(&file).map_err(|error| error.to_string())?;
        let params = compiled.description().params.iter().map(|param| {
            json!({
                "name": param.name,
                "measure": param.kind,
                "meaning": param.meaning,
                "default": param.default.parse::<f64>().ok(),
                "written": Value::Null,
            })
        });
        return Ok(json!(params.collect::<Vec<_>>()).to_string());
    }
    let declared = cclab_rust::check(&file).map_err(|wrong| in_lines(&wrong))?;
    let params = declared.params.iter().map(|param| {
        json!({
            "name": param.name,
            "measure": Value::Null,
            "meaning": param.meaning,
            "default": param.default,
            "written": Value::Null,
            "least": param.least,
            "most": param.most,
        })
    });
    Ok(json!(params.collect::<Vec<_>>()).to_string())
}
