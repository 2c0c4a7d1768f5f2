//! `[expect]`: checks over metrics, such as `jain > 0.95`.

use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;
use crate::error::{Problem, unknown};

/// A check; one that fails makes `cclab run` exit non-zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Its name in the study.
    pub label: String,
    /// The text of the study: `flow.short.goodput_bps > 40e6`.
    pub expression: String,
    /// What is measured.
    pub subject: Subject,
    /// Name of the metric, as in the output of `cclab run --json`.
    pub metric: String,
    /// How the metric is compared.
    pub operator: Operator,
    /// What it is compared with, in the metric's unit.
    pub value: f64,
}

impl Expectation {
    /// Whether a measured value meets it. NaN meets nothing but `!=`.
    pub fn holds(&self, measured: f64) -> bool {
        match self.operator {
            Operator::Less => measured < self.value,
            Operator::LessOrEqual => measured <= self.value,
            Operator::Greater => measured > self.value,
            Operator::GreaterOrEqual => measured >= self.value,
            Operator::Equal => measured == self.value,
            Operator::NotEqual => measured != self.value,
        }
    }
}

/// What a metric belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// The run as a whole.
    Run,
    /// The bottleneck.
    Bottleneck,
    /// The flow of this name.
    Flow(String),
    /// The cross traffic of this name.
    Traffic(String),
    /// The probe of this name.
    Probe(String),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    LessOrEqual,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    GreaterOrEqual,
    /// `==`
    #[serde(rename = "==")]
    Equal,
    /// `!=`
    #[serde(rename = "!=")]
    NotEqual,
}

/// Two letters come before one: `<=` is not `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// The metrics that a study may name. By default none is known and any may be named: whoever
/// measures them registers them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<Known>);

/// A metric.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    /// What it belongs to: `run`, `bottleneck`, `flow`, `traffic` or `probe`.
    subject: &'static str,
    name: String,
    /// The runs beside a run's own that it needs.
    baseline: Option<Baseline>,
}

impl Metrics {
    /// Adds the metric `name` of a `subject`: `run`, `bottleneck`, `flow`,
    /// `traffic` or `probe`.
    pub fn register(&mut self, subject: &'static str, name: &str, baseline: Option<Baseline>) {
        self.0.push(Known {
            subject,
            name: name.to_owned(),
            baseline,
        });
    }

    /// The runs beside a run's own that a metric of it needs.
    pub(crate) fn needs(&self, subject: &Subject, metric: &str) -> Option<Baseline> {
        let mut known = self.0.iter();
        known
            .find(|known| known.subject == subject.word() && known.name == metric)
            .and_then(|known| known.baseline)
    }

    /// The names of those of a subject.
    fn of(&self, subject: &str) -> Vec<&str> {
        let known = self.0.iter().filter(|known| known.subject == subject);
        known.map(|known| known.name.as_str()).collect()
    }

    /// Whether `metric` is one of a subject, as far as is known.
    fn has(&self, subject: &str, metric: &str) -> bool {
        self.0.is_empty() || self.of(subject).contains(&metric)
    }
}

impl Subject {
    /// The word that metrics of it begin with; those of a run have none.
    fn word(&self) -> &'static str {
        match self {
            Subject::Run => "run",
            Subject::Bottleneck => "bottleneck",
            Subject::Flow(_) => "flow",
            Subject::Traffic(_) => "traffic",
            Subject::Probe(_) => "probe",
        }
    }
}

/// The names that a scenario gives what metrics belong to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named<'a> {
    /// Its flows.
    pub flows: Vec<&'a str>,
    /// Its cross traffic.
    pub traffic: Vec<&'a str>,
    /// Its probes.
    pub probes: Vec<&'a str>,
}

/// Reads the check `label` of a scenario with what is `named`.
pub(crate) fn parse(
    label: &str,
    expression: &str,
    named: &Named<'_>,
    known: &Metrics,
) -> Result<Expectation, Problem> {
    let form = |message: String| {
        Problem::new(
            message,
            "write a metric, a comparison and a number, such as \"jain > 0.95\"",
        )
    };
    let split = |(sign, operator): &(&str, Operator)| {
        expression
            .split_once(sign)
            .map(|(left, right)| (left.trim(), *operator, right.trim()))
    };
    let (name, operator, number) = OPERATORS
        .iter()
        .find_map(split)
        .ok_or_else(|| form(format!("\"{expression}\" compares nothing")))?;
    let value: f64 = number
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| form(format!("\"{number}\" is not a number")))?;
    let (subject, metric) = metric(name, named, known)?;
    Ok(Expectation {
        label: label.to_owned(),
        expression: expression.to_owned(),
        subject,
        metric: metric.to_owned(),
        operator,
        value,
    })
}

/// What the metric `name` belongs to, and its name there.
pub(crate) fn metric<'a>(
    name: &'a str,
    named: &Named<'_>,
    known: &Metrics,
) -> Result<(Subject, &'a str), Problem> {
    if let Some(rest) = name.strip_prefix("flow.") {
        // Flows of a `count` have a dot in their names, metrics have none.
        let (flow, metric) = rest.rsplit_once('.').unwrap_or((rest, ""));
        is_there("flow", flow, &named.flows, name)?;
        check(metric, name, &format!("flow.{flow}."), "flow", known)?;
        Ok((Subject::Flow(flow.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("traffic.") {
        let (source, metric) = rest.split_once('.').unwrap_or((rest, ""));
        is_there("cross traffic", source, &named.traffic, name)?;
        check(
            metric,
            name,
            &format!("traffic.{source}."),
            "traffic",
            known,
        )?;
        Ok((Subject::Traffic(source.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("probe.") {
        let (probe, metric) = rest.split_once('.').unwrap_or((rest, ""));
        is_there("probe", probe, &named.probes, name)?;
        check(metric, name, &format!("probe.{probe}."), "probe", known)?;
        Ok((Subject::Probe(probe.to_owned()), metric))
    } else if let Some(metric) = name.strip_prefix("bottleneck.") {
        check(metric, name, "bottleneck.", "bottleneck", known)?;
        Ok((Subject::Bottleneck, metric))
    } else if known.has("run", name) {
        Ok((Subject::Run, name))
    } else {
        let of_run = known.of("run").into_iter().map(str::to_owned);
        let bottleneck = known.of("bottleneck").into_iter();
        let every: Vec<String> = of_run
            .chain(bottleneck.map(|metric| format!("bottleneck.{metric}")))
            .chain(named.flows.iter().flat_map(|flow| {
                let metrics = known.of("flow").into_iter();
                metrics.map(move |metric| format!("flow.{flow}.{metric}"))
            }))
            .chain(named.probes.iter().flat_map(|probe| {
                let metrics = known.of("probe").into_iter();
                metrics.map(move |metric| format!("probe.{probe}.{metric}"))
            }))
            .collect();
        // A bare metric of a flow or of the bottleneck lacks its subject.
        let whole = every
            .iter()
            .find(|whole| whole.rsplit('.').next() == Some(name));
        Err(match whole {
            Some(whole) => Problem::new(
                format!("whose `{name}`?"),
                format!("write for example `{whole}`"),
            ),
            None => unknown("metric", name, every.iter().map(String::as_str)),
        })
    }
}

/// A problem unless the `what` called `one`, which `whole` names, is among those that are `known`.
fn is_there(what: &str, one: &str, known: &[&str], whole: &str) -> Result<(), Problem> {
    if known.contains(&one) {
        return Ok(());
    }
    let problem = unknown(what, one, known.iter().copied());
    Err(Problem {
        message: format!("{} in `{whole}`", problem.message),
        ..problem
    })
}

fn check(
    metric: &str,
    whole: &str,
    prefix: &str,
    subject: &str,
    known: &Metrics,
) -> Result<(), Problem> {
    if known.has(subject, metric) {
        return Ok(());
    }
    let every = known.of(subject).into_iter();
    let every: Vec<String> = every.map(|known| format!("{prefix}{known}")).collect();
    Err(unknown("metric", whole, every.iter().map(String::as_str)))
}
