//! Parameters of variants, queueing disciplines and cross traffic: names, dimensions and ranges.

use std::collections::BTreeMap;

use cclab_units::Measure;
use cclab_units::parameter::Parameter;

use crate::error::{Problem, unknown};
use crate::names::Parametric;
use crate::text::{Dimension, Param};
use crate::written;

/// The parameters of `kind`, checked against the names it takes and what they measure.
pub(super) fn params(
    written: &written::Params,
    kinds: &[Parametric],
    kind: &str,
    fields: &[&str],
) -> Result<BTreeMap<String, f64>, Problem> {
    let takes = kinds
        .iter()
        .find(|known| known.name == kind)
        .map_or(&[][..], |known| &known.params);
    let mut values = BTreeMap::new();
    for (key, param) in written {
        let Some(taken) = takes.iter().find(|taken| taken.name == key.value) else {
            let known = takes
                .iter()
                .map(|taken| taken.name)
                .chain(fields.iter().copied());
            return Err(unknown(&format!("parameter of {kind}"), &key.value, known).or_at(key.at));
        };
        let value = value_of(param, taken).map_err(|help| {
            let what = format!("{} = {} of {kind}", key.value, param.text);
            Problem::new(what, help).or_at(key.at)
        })?;
        values.insert(key.value.clone(), value);
    }
    Ok(values)
}

/// The value of `param` in the unit of `taken`, or what would be right.
fn value_of(param: &Param, taken: &Parameter) -> Result<f64, String> {
    let measure = taken.measure;
    let value = converted(param, measure).ok_or_else(|| measure.rule().to_owned())?;
    taken.refuses(value).map_or(Ok(value), Err)
}

/// The value of `param` as a `measure`; `None` if it is of another dimension. Zero is the same in
/// every unit, and may be written without one.
fn converted(param: &Param, measure: Measure) -> Option<f64> {
    let value = param.value;
    match (param.dimension, measure) {
        (Dimension::Number, Measure::Time | Measure::Rate) => (value == 0.0).then_some(value),
        (Dimension::Number, _)
        | (Dimension::Switch, Measure::Switch)
        | (Dimension::Time, Measure::Time | Measure::Seconds)
        | (Dimension::Rate, Measure::Rate)
        | (Dimension::Size, Measure::Bytes)
        | (Dimension::Packets, Measure::Packets | Measure::MeanPackets)
        | (Dimension::Share, Measure::Share) => Some(value),
        // By way of whole nanoseconds, and of what is surely a decimal number.
        (Dimension::Time, Measure::Milliseconds) => Some((value * 1e9).round() / 1e6),
        (Dimension::Share, Measure::Percent) => Some((value * 1e10).round() / 1e8),
        _ => None,
    }
}
