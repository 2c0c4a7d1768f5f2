//! Cross traffic: where it runs, how much of it there is, and how large its transfers are.

use std::collections::BTreeMap;

use cclab_units::Rate;

use super::files::Files;
use super::flow::unique_name;
use super::known;
use super::layout::{self, Layout};
use super::network::PathFacts;
use super::params::params;
use super::variant::variant;
use crate::de::At;
use crate::error::{Position, Problem, unknown};
use crate::flow::Flow;
use crate::names::Names;
use crate::path::default_name;
use crate::scenario::{Sizes, Traffic};
use crate::traffic::{self, TrafficKind};
use crate::written;

/// The share of the bottleneck that small random packets take unless they say otherwise: enough
/// to break phase effects, little enough to leave shares as they are.
const RANDOM_LOAD: f64 = 0.03;
/// The kinds of distributions of sizes.
const DISTRIBUTIONS: [&str; 3] = ["lognormal", "pareto", "empirical"];

/// What traffic is resolved beside.
pub(super) struct Beside<'a, 'f> {
    pub names: &'a Names,
    pub layout: &'a Layout<'a>,
    pub path: &'a PathFacts,
    /// Of the link under study.
    pub rate: Option<Rate>,
    /// The files beside the study.
    pub files: &'a mut Files<'f>,
}

/// All cross traffic of `study`.
pub(super) fn traffic(
    study: &written::Study,
    beside: &mut Beside<'_, '_>,
    flows: &[Flow],
) -> Result<Vec<Traffic>, Problem> {
    let mut taken: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    let defaults: Vec<String> = (0..study.traffic.len())
        .map(|index| default_name("traffic", index))
        .collect();
    let mut all = Vec::new();
    for (written, default) in study.traffic.iter().zip(&defaults) {
        let name = unique_name(written.value.name.as_ref(), default, written.at, &mut taken)?;
        all.push(one(written, name, beside)?);
    }
    for (written, traffic) in study.traffic.iter().zip(&all) {
        if let Some(twin_of) = &written.value.twin_of {
            twin(traffic, twin_of, &all)?;
        }
    }
    // A rate of zero is no traffic: a sweep compares with and without it.
    all.retain(|traffic| {
        let amount = ["rate", "flows_per_second"].map(|name| traffic.params.get(name));
        !amount.contains(&Some(&0.0))
    });
    Ok(all)
}

/// Refuses a twin that could not have the arrivals and sizes of the source that it names.
fn twin(twin: &Traffic, written: &At<String>, all: &[Traffic]) -> Result<(), Problem> {
    let At { at, value: name } = written;
    let refuse = |message: String, help: &str| Err(Problem::new(message, help).or_at(*at));
    let others = || all.iter().filter(|other| other.name != twin.name);
    let Some(original) = others().find(|other| other.name == *name) else {
        let names = others().map(|other| other.name.as_str());
        return Err(unknown("traffic", name, names).or_at(*at));
    };
    if let Some(further) = &original.twin_of {
        return refuse(
            format!("`{name}` is a twin itself, of `{further}`"),
            "name the source that draws",
        );
    }
    for of in [twin, original] {
        if of.kind != "poisson" {
            return refuse(
                format!("`{}` is of kind {}, which has no twins", of.name, of.kind),
                "twins are of kind poisson",
            );
        }
    }
    let differences = [
        ("rate of arrivals", twin.params != original.params),
        ("distribution of sizes", twin.sizes != original.sizes),
        ("`start`", twin.start != original.start),
        ("`stop`", twin.stop != original.stop),
    ];
    match differences.iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((what, _)) => refuse(
            format!("this twin of `{name}` has another {what}"),
            "give both the same: a twin draws what the other draws",
        ),
    }
}

fn one(
    written: &At<written::Traffic>,
    name: &str,
    beside: &mut Beside<'_, '_>,
) -> Result<Traffic, Problem> {
    let At { at, value } = written;
    let names = beside.names;
    let kinds = names.traffic.iter().map(|kind| kind.name.as_str());
    let kind_name = known("kind of cross traffic", Some(&value.kind), "", kinds)?;
    let params = params(&value.params, &names.traffic, &kind_name, &["name", "kind"])?;
    let ends = beside.layout.ends(&layout::Written {
        at: *at,
        name,
        what: "traffic",
        keys: value.place(),
    })?;
    let (start, stop) =
        beside
            .path
            .span("this traffic", value.start.as_ref(), value.stop.as_ref())?;
    let mut resolved = Traffic {
        name: name.to_owned(),
        kind: kind_name,
        extra_delay: ends.extra_delay,
        direction: ends.direction,
        crosses: ends.crosses,
        from: ends.from,
        to: ends.to,
        start,
        stop,
        cc: None,
        cc_params: BTreeMap::new(),
        sizes: None,
        twin_of: value.twin_of.as_ref().map(|written| written.value.clone()),
        params,
    };
    if let Some(kind) = traffic::find(&resolved.kind) {
        fill(&mut resolved, kind, written, beside)?;
    }
    Ok(resolved)
}

/// Fills in what `kind` needs: variant, sizes, rate, defaults.
fn fill(
    resolved: &mut Traffic,
    kind: &TrafficKind,
    written: &At<written::Traffic>,
    beside: &mut Beside<'_, '_>,
) -> Result<(), Problem> {
    let At { at, value } = written;
    let misplaced = |what: &str, place: Position| {
        let problem = Problem::new(format!("`{what}` of {}", kind.name), "leave it out");
        Err(problem.or_at(place))
    };
    if kind.tcp {
        let (cc, cc_params) = variant(
            value.cc.as_ref(),
            &value.cc_params,
            beside.names,
            beside.files,
        )?;
        resolved.cc = Some(cc);
        resolved.cc_params = cc_params;
    } else if let Some(cc) = &value.cc {
        return misplaced("cc", cc.at);
    }
    match (kind.sized, &value.transfer, &value.sizes) {
        (true, Some(fixed), None) => {
            resolved.sizes = Some(Sizes::Fixed {
                bytes: fixed.value.0,
            });
        }
        (true, None, Some(sizes)) => resolved.sizes = Some(distribution(sizes, beside.files)?),
        (true, None, None) => {
            let help = "give it a `transfer`, or `sizes` such as { kind = \"lognormal\", mean = \
                        \"30kB\", sigma = 1.5 }";
            let problem =
                Problem::new(format!("the transfers of {} have no size", kind.name), help);
            return Err(problem.or_at(*at));
        }
        (true, Some(fixed), Some(_)) => {
            let problem = Problem::new("`transfer` beside `sizes`", "give one of them");
            return Err(problem.or_at(fixed.at));
        }
        (false, Some(fixed), _) => return misplaced("transfer", fixed.at),
        (false, None, Some(sizes)) => return misplaced("sizes", sizes.at),
        (false, None, None) => {}
    }
    rate(resolved, kind, beside, *at)?;
    for parameter in kind.params {
        if !parameter.default.is_nan() {
            let name = parameter.name.to_owned();
            resolved.params.entry(name).or_insert(parameter.default);
        }
    }
    Ok(())
}

/// A `load` becomes the rate that it is a share of.
fn rate(
    resolved: &mut Traffic,
    kind: &TrafficKind,
    beside: &mut Beside<'_, '_>,
    at: Position,
) -> Result<(), Problem> {
    let takes = |name: &str| kind.params.iter().any(|parameter| parameter.name == name);
    if !takes("load") {
        return Ok(());
    }
    let own = if kind.tcp { "flows_per_second" } else { "rate" };
    let load = match (resolved.params.remove("load"), resolved.params.get(own)) {
        (Some(_), Some(_)) => {
            let problem = Problem::new(format!("`load` beside `{own}`"), "give one of them");
            return Err(problem.or_at(at));
        }
        (None, Some(_)) => return Ok(()),
        (Some(load), None) => load,
        (None, None) if kind.name == "random" => RANDOM_LOAD,
        (None, None) => {
            let problem = Problem::new(
                format!("traffic `{}` does not say how much it is", resolved.name),
                format!("give it `{own}`, or `load` as a share of the bottleneck"),
            );
            return Err(problem.or_at(at));
        }
    };
    let Some(rate) = beside.rate else {
        let problem = Problem::new(
            "a load is a share of the bottleneck's rate, which is infinite",
            format!("give `{own}` instead"),
        );
        return Err(problem.or_at(at));
    };
    let bits = load * rate.bps() as f64;
    let value = match &resolved.sizes {
        Some(sizes) => bits / (8.0 * sizes.mean()),
        None => bits,
    };
    resolved.params.insert(own.to_owned(), value);
    Ok(())
}

fn distribution(written: &At<written::Sizes>, files: &mut Files<'_>) -> Result<Sizes, Problem> {
    let At { at, value } = written;
    let kind = &value.kind;
    let missing = |what: &str| {
        let problem = Problem::new(
            format!("{} sizes without a `{what}`", kind.value),
            format!("give them a `{what}`"),
        );
        problem.or_at(*at)
    };
    let shape_of = |what: &str, number: Option<f64>, above: f64| match number {
        None => Err(missing(what)),
        Some(number) if number.is_finite() && number > above => Ok(number),
        Some(number) => Err(Problem::new(
            format!("`{what} = {number}` of {} sizes", kind.value),
            format!("it is a number above {above}"),
        )
        .or_at(*at)),
    };
    let mean = || {
        value
            .mean
            .map(|mean| mean.0 as f64)
            .ok_or_else(|| missing("mean"))
    };
    match kind.value.as_str() {
        "lognormal" => Ok(Sizes::Lognormal {
            mean: mean()?,
            sigma: shape_of("sigma", value.sigma, 0.0)?,
        }),
        // A Pareto distribution of shape 1 or less has no mean.
        "pareto" => Ok(Sizes::Pareto {
            mean: mean()?,
            shape: shape_of("shape", value.shape, 1.0)?,
        }),
        "empirical" => {
            let file = value.file.as_ref().ok_or_else(|| missing("file"))?;
            let points = files.sizes(file)?;
            Ok(Sizes::Empirical { points })
        }
        other => {
            let known = DISTRIBUTIONS.into_iter();
            Err(unknown("distribution of sizes", other, known).or_at(kind.at))
        }
    }
}

/// The points of a cumulative distribution from lines of `size,cdf`; the error is a place in the
/// text and what is wrong there.
pub(super) fn parse(text: &str) -> Result<Vec<(u64, f64)>, (usize, String)> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let begin = offset;
        offset += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || (points.is_empty() && line == "size,cdf") {
            continue;
        }
        let wrong = || (begin, format!("\"{line}\" is no point of a distribution"));
        let (size, share) = line.split_once(',').ok_or_else(wrong)?;
        let size: u64 = size.trim().parse().map_err(|_| wrong())?;
        let share: f64 = share.trim().parse().map_err(|_| wrong())?;
        let (before, reached) = points.last().copied().unwrap_or((1, 0.0));
        if !(0.0..=1.0).contains(&share) || size < before || share < reached {
            return Err((begin, "sizes and shares rise, shares up to 1".to_owned()));
        }
        points.push((size, share));
    }
    match points.last() {
        Some((_, 1.0)) => Ok(points),
        Some(_) => Err((text.len(), "the last share is not 1".to_owned())),
        None => Err((0, "there is no point of a distribution in it".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_table_of_sizes_rises_to_one() {
        let good = "# web\nsize,cdf\n100, 0.5\n\n2000,1\n";
        assert_eq!(parse(good), Ok(vec![(100, 0.5), (2_000, 1.0)]));
        for bad in [
            "",
            "100,0.5",
            "100,0.5\n50,1",
            "100,0.5\n200,0.4\n300,1",
            "x,1",
            "100 1",
            "0,1",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
