//! Parameters as the rows of lists.

use cclab_units::parameter::Parameter;
use serde_json::{Value, json};

/// Each parameter: name, what it measures, meaning, default (null where the algorithm derives it)
/// in its SI unit and as a study file writes it, range.
pub(crate) fn parameters(declared: &[Parameter]) -> Vec<Value> {
    let row = |p: &Parameter| {
        let default = Some(p.default).filter(|value| !value.is_nan());
        json!({
            "name": p.name,
            "measure": p.measure.name(),
            "meaning": p.meaning,
            "default": default,
            "written": default.map(|value| p.measure.write(value)),
            "least": p.least,
            "most": p.most,
        })
    };
    declared.iter().map(row).collect()
}
