//! The variant of a flow or of cross traffic, with its parameters: a built-in one, or a file's.

use std::collections::BTreeMap;

use super::params::params;
use super::{Files, known, relations};
use crate::de::At;
use crate::error::{Problem, unknown};
use crate::names::{DEFAULT_VARIANT, Names, Parametric};
use crate::text::{Dimension, Param};
use crate::variant_file::{Loaded, ModuleParam, ParamType, is_path};
use crate::written;

/// What flows call the variant that is `written`, and its parameters.
pub(super) fn variant(
    written: Option<&At<String>>,
    given: &written::Params,
    names: &Names,
    files: &Files<'_>,
) -> Result<(String, BTreeMap<String, f64>), Problem> {
    if let Some(path) = written.filter(|written| is_path(&written.value)) {
        let loaded = files.variant(path)?;
        return Ok((loaded.file.label.clone(), of_file(given, loaded)?));
    }
    let cc = built_in(written, names)?;
    let values = params(given, &names.variants, &cc, &[])?;
    relations::of_variant(given, &values, &cc, names)?;
    Ok((cc, values))
}

/// The parameters of the file `loaded` that are `given`.
fn of_file(given: &written::Params, loaded: &Loaded) -> Result<BTreeMap<String, f64>, Problem> {
    let label = &loaded.file.label;
    let value = |(key, param): (&At<String>, &Param)| {
        if let Some(params) = &loaded.params {
            let names = params.iter().map(|param| param.name.as_str());
            let known = params.iter().find(|param| param.name == key.value);
            let Some(known) = known else {
                let mut problem = unknown(&format!("parameter of {label}"), &key.value, names);
                if params.is_empty() {
                    problem.help = format!("{} has no module_param", loaded.file.file);
                }
                return Err(problem.or_at(key.at));
            };
            takes(known, param).map_err(|help| {
                let what = format!("{} = {} of {label}", key.value, param.text);
                Problem::new(what, help).or_at(key.at)
            })?;
        }
        Ok((key.value.clone(), param.value))
    };
    given.iter().map(value).collect()
}

/// What would be right where the parameter `known` of a module cannot be `given`.
fn takes(known: &ModuleParam, given: &Param) -> Result<(), String> {
    let plain = matches!(given.dimension, Dimension::Number | Dimension::Switch);
    match known.kind {
        ParamType::Whole(name, least, most) => {
            let whole = given.value.fract() == 0.0 && given.value.abs() < 2_f64.powi(53);
            match plain && whole && (least..=most).contains(&(given.value as i128)) {
                true => Ok(()),
                false => Err(format!(
                    "its module_param is of type {name}: a whole number from {least} to {most}"
                )),
            }
        }
        ParamType::Switch if plain && [0.0, 1.0].contains(&given.value) => Ok(()),
        ParamType::Switch => Err("its module_param is of type bool: true or false".to_owned()),
        ParamType::Own if plain => Ok(()),
        ParamType::Own => Err("it takes a plain number".to_owned()),
        ParamType::Other => Err(
            "its module_param is neither a number nor true or false: set its default in the file"
                .to_owned(),
        ),
    }
}

/// The built-in variant that is written; of one that nobody has, the nearest by meaning is told.
fn built_in(written: Option<&At<String>>, names: &Names) -> Result<String, Problem> {
    let all = names.variants.iter().map(|variant| variant.name.as_str());
    known("variant", written, DEFAULT_VARIANT, all).map_err(|problem| {
        let asked = written.and_then(|name| nearest_by_meaning(&name.value, &names.variants));
        match asked {
            Some(help) => Problem { help, ..problem },
            None => problem,
        }
    })
}

/// Which of `variants` comes nearest to what `name` means elsewhere, and with what.
fn nearest_by_meaning(name: &str, variants: &[Parametric]) -> Option<String> {
    let small = name.to_lowercase();
    let plain = small
        .strip_prefix("tcp")
        .map(|rest| rest.trim_start_matches(['-', '_']))
        .filter(|rest| !rest.is_empty());
    let called = |known: &str| known == small || Some(known) == plain;
    variants.iter().find_map(|variant| {
        if called(&variant.name) {
            return Some(format!("did you mean `{}`?", variant.name));
        }
        let near = variant.near.iter().find(|near| called(near.name))?;
        let with = match near.with {
            "" => String::new(),
            with => format!(", with {with}"),
        };
        Some(format!(
            "the nearest by meaning is `{}`{with}",
            variant.name
        ))
    })
}
