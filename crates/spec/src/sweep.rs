//! `[sweep]`: paths and their values, and the points they make.

use std::collections::BTreeSet;

use crate::error::{Position, Problem};
use crate::node::{Node, Value};
use crate::path::Path;

/// The most runs a plan may have.
pub(crate) const MAX_RUNS: u64 = 1_000_000;

/// A path that is swept.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Where the path is written.
    pub at: Position,
    pub path: Path,
    pub values: Vec<Node>,
}

/// The axes of a sweep, in groups that advance together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    pub axes: Vec<Axis>,
    groups: Vec<Vec<usize>>,
}

/// Keys that a sweep cannot vary: they describe the study, not the experiment.
const FIXED: [&str; 7] = [
    "title",
    "question",
    "seed",
    "repeat",
    "sweep",
    "baselines",
    "expect",
];

impl Sweep {
    /// Reads `[sweep]` of `document`. `overrides` (path, place, value) replace an axis or add
    /// one; an axis in `fixed` is set on its own and swept no longer.
    pub fn of(
        document: &Node,
        overrides: Vec<(Path, Position, Node)>,
        fixed: &[Path],
    ) -> Result<Sweep, Problem> {
        let mut axes = Vec::new();
        if let Some(table) = document.get("sweep") {
            collect(table, &mut Vec::new(), &mut axes)?;
        }
        for (path, at, node) in overrides {
            axes.retain(|axis| axis.path != path);
            axes.push(axis(path, at, &node)?);
        }
        axes.retain(|axis| !fixed.contains(&axis.path));
        for (index, axis) in axes.iter().enumerate() {
            let parts = axis.path.parts();
            if FIXED.contains(&parts[0].as_str()) {
                let help = if parts[0] == "seed" {
                    "`repeat` runs a study with several seeds"
                } else {
                    ""
                };
                return Err(
                    Problem::new(format!("`{}` cannot be swept", axis.path), help).or_at(axis.at),
                );
            }
            if matches!(parts[0].as_str(), "flow" | "traffic" | "probe")
                && parts.last().is_some_and(|part| part == "name")
            {
                return Err(Problem::new("a name cannot be swept", "").or_at(axis.at));
            }
            if axes[..index]
                .iter()
                .any(|earlier| earlier.path == axis.path)
            {
                return Err(
                    Problem::new(format!("`{}` is swept twice", axis.path), "").or_at(axis.at)
                );
            }
        }
        let groups = groups(document, &axes, fixed)?;
        let sweep = Sweep { axes, groups };
        for group in &sweep.groups {
            sweep.check_distinct(group)?;
        }
        if sweep.checked_len().is_none_or(|len| len > MAX_RUNS) {
            let at = sweep.axes[0].at;
            let lengths: Vec<String> = sweep
                .groups
                .iter()
                .map(|group| sweep.axes[group[0]].values.len().to_string())
                .collect();
            return Err(Problem::new(
                format!(
                    "the product of the sweeps, {}, has too many points",
                    lengths.join(" x ")
                ),
                format!("at most {MAX_RUNS} runs; pair keys by `zip`, or split the study"),
            )
            .or_at(at));
        }
        Ok(sweep)
    }

    /// A problem if axes that advance together have the same values at two points: two rows of
    /// results would be one experiment.
    fn check_distinct(&self, group: &[usize]) -> Result<(), Problem> {
        let mut seen = BTreeSet::new();
        for (index, node) in self.axes[group[0]].values.iter().enumerate() {
            let values = group
                .iter()
                .map(|&axis| self.axes[axis].values[index].to_json().to_string());
            if !seen.insert(values.collect::<Vec<_>>()) {
                let path = &self.axes[group[0]].path;
                let what = match group.len() {
                    1 => format!("the sweep of `{path}` has {} twice", node.to_json()),
                    _ => {
                        format!("the sweep of `{path}` and what is zipped with it repeats a point")
                    }
                };
                let help = "list each once; `repeat` runs a point several times";
                return Err(Problem::new(what, help).or_at(node.at));
            }
        }
        Ok(())
    }

    /// How many points there are.
    pub fn len(&self) -> u64 {
        self.checked_len().unwrap_or(u64::MAX)
    }

    fn checked_len(&self) -> Option<u64> {
        self.groups.iter().try_fold(1_u64, |product, group| {
            product.checked_mul(self.axes[group[0]].values.len() as u64)
        })
    }

    /// The values at point `index`, in the order of the file; the first group varies slowest.
    pub fn point(&self, index: u64) -> Vec<(&Axis, &Node)> {
        let mut chosen = vec![0_usize; self.axes.len()];
        let mut rest = index;
        for group in self.groups.iter().rev() {
            let len = self.axes[group[0]].values.len() as u64;
            for axis in group {
                chosen[*axis] = (rest % len) as usize;
            }
            rest /= len;
        }
        self.axes
            .iter()
            .zip(chosen)
            .map(|(axis, value)| (axis, &axis.values[value]))
            .collect()
    }
}

/// Axes of a table: `"a.b" = [...]`, and `a.b = [...]`, which TOML reads as tables.
fn collect(table: &Node, prefix: &mut Vec<String>, axes: &mut Vec<Axis>) -> Result<(), Problem> {
    let Value::Table(entries) = &table.value else {
        let message = format!("expected a table of lists, found {}", table.describe());
        return Err(Problem::new(message, "").or_at(table.at));
    };
    for (key, node) in entries {
        if prefix.is_empty() && key.name == "zip" {
            continue;
        }
        let depth = prefix.len();
        if depth == 0 {
            prefix.extend_from_slice(Path::parse(&key.name).map_err(|p| p.or_at(key.at))?.parts());
        } else {
            prefix.push(key.name.clone());
        }
        if matches!(node.value, Value::Table(_)) {
            collect(node, prefix, axes)?;
        } else {
            axes.push(axis(Path::from_parts(prefix), key.at, node)?);
        }
        prefix.truncate(depth);
    }
    Ok(())
}

fn axis(path: Path, at: Position, node: &Node) -> Result<Axis, Problem> {
    match &node.value {
        Value::List(values) if values.is_empty() => Err(Problem::new(
            format!("the sweep of `{path}` is empty"),
            "list at least one value",
        )
        .or_at(node.at)),
        Value::List(values) => Ok(Axis {
            at,
            path,
            values: values.clone(),
        }),
        _ => Err(Problem::new(
            format!("the sweep of `{path}` is {}, not a list", node.describe()),
            "write its values in [ ]",
        )
        .or_at(node.at)),
    }
}

/// The groups of `zip`, then every other axis on its own, in the order of first axes.
fn groups(document: &Node, axes: &[Axis], fixed: &[Path]) -> Result<Vec<Vec<usize>>, Problem> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let zip = document.get("sweep").and_then(|sweep| sweep.get("zip"));
    let form = |node: &Node| {
        Problem::new(
            format!("expected groups of paths, found {}", node.describe()),
            "write for example zip = [[\"flow.a.cc\", \"flow.b.cc\"]]",
        )
        .or_at(node.at)
    };
    let list = |node: &Node| match &node.value {
        Value::List(list) => Ok(list.clone()),
        _ => Err(form(node)),
    };
    for group in zip.map(list).transpose()?.unwrap_or_default() {
        let mut members: Vec<usize> = Vec::new();
        for node in list(&group)? {
            let text = node.as_str().ok_or_else(|| form(&node))?;
            let path = Path::parse(text).map_err(|problem| problem.or_at(node.at))?;
            if fixed.contains(&path) {
                continue;
            }
            let Some(index) = axes.iter().position(|axis| axis.path == path) else {
                let paths: Vec<String> = axes.iter().map(|axis| axis.path.to_string()).collect();
                let known = paths.iter().map(String::as_str);
                return Err(crate::error::unknown("path of the sweep", text, known).or_at(node.at));
            };
            if members.contains(&index) || groups.iter().any(|group| group.contains(&index)) {
                return Err(Problem::new(format!("`{text}` is zipped twice"), "").or_at(node.at));
            }
            let (len, first) = (
                axes[index].values.len(),
                members.first().map(|first| &axes[*first]),
            );
            if let Some(first) = first.filter(|first| first.values.len() != len) {
                return Err(Problem::new(
                    format!(
                        "`{text}` has {len} values, `{}` beside it has {}",
                        first.path,
                        first.values.len()
                    ),
                    "zipped lists are equally long",
                )
                .or_at(node.at));
            }
            members.push(index);
        }
        if !members.is_empty() {
            groups.push(members);
        }
    }
    for index in 0..axes.len() {
        if !groups.iter().any(|group| group.contains(&index)) {
            groups.push(vec![index]);
        }
    }
    groups.sort_by_key(|group| group.iter().min().copied());
    Ok(groups)
}
