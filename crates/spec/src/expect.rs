//! `[expect]`: checks over metrics, such as `jain > 0.95`.

use cclab_qdisc::find;
use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;
use crate::error::{Problem, unknown};
use crate::scenario::Scenario;

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
    /// The group of flows of this name.
    Group(String),
    /// The queue of this name of the bottleneck's discipline.
    Band(String),
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
    /// What it belongs to: `run`, `bottleneck`, `band`, `flow`, `group`, `traffic` or `probe`.
    subject: &'static str,
    name: String,
    /// The runs beside a run's own that it needs.
    baseline: Option<Baseline>,
}

impl Metrics {
    /// Adds the metric `name` of a `subject`: `run`, `bottleneck`, `band`, `flow`, `group`,
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
            Subject::Group(_) => "group",
            Subject::Band(_) => "band",
            Subject::Traffic(_) => "traffic",
            Subject::Probe(_) => "probe",
        }
    }
}

/// The names of a scenario's subjects of which there may be several.
#[derive(Clone, Debug, Default)]
pub struct Subjects<'a> {
    pub(crate) flows: Vec<&'a str>,
    pub(crate) groups: Vec<&'a str>,
    pub(crate) bands: Vec<&'a str>,
    pub(crate) traffic: Vec<&'a str>,
    pub(crate) probes: Vec<&'a str>,
}

impl<'a> From<&'a Scenario> for Subjects<'a> {
    fn from(scenario: &'a Scenario) -> Subjects<'a> {
        let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
        let traffic = scenario.traffic.iter().map(|source| source.name.as_str());
        let probes = scenario.probes.iter().map(|probe| probe.name.as_str());
        Subjects {
            flows: flows.collect(),
            groups: scenario.groups(),
            bands: find(&scenario.network.bottleneck.queue.kind)
                .map_or(Vec::new(), |discipline| discipline.bands.to_vec()),
            traffic: traffic.collect(),
            probes: probes.collect(),
        }
    }
}

/// Reads the check `label` of a scenario with `subjects`.
pub(crate) fn parse(
    label: &str,
    expression: &str,
    subjects: &Subjects<'_>,
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
    let (subject, metric) = metric(name, subjects, known)?;
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
    subjects: &Subjects<'_>,
    known: &Metrics,
) -> Result<(Subject, &'a str), Problem> {
    if let Some(rest) = name.strip_prefix("flow.") {
        // Flows of a `count` have a dot in their names, metrics have none.
        let (flow, metric) = rest.rsplit_once('.').unwrap_or((rest, ""));
        if subjects.groups.contains(&flow) && !subjects.flows.contains(&flow) {
            return Err(Problem::new(
                format!("`{flow}` in `{name}` is a group of flows"),
                format!("write `group.{flow}.METRIC`, or `flow.{flow}.1.METRIC` of its first"),
            ));
        }
        one_of("flow", flow, &subjects.flows, name)?;
        check(metric, name, &format!("flow.{flow}."), "flow", known)?;
        Ok((Subject::Flow(flow.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("group.") {
        let (group, metric) = rest.split_once('.').unwrap_or((rest, ""));
        if subjects.flows.contains(&group) && !subjects.groups.contains(&group) {
            return Err(Problem::new(
                format!("`{group}` in `{name}` is a single flow, not a group"),
                format!("write `group = \"{group}\"` in its [[flow]], or `flow.{group}.METRIC`"),
            ));
        }
        one_of("group", group, &subjects.groups, name)?;
        check(metric, name, &format!("group.{group}."), "group", known)?;
        Ok((Subject::Group(group.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("traffic.") {
        let (source, metric) = rest.split_once('.').unwrap_or((rest, ""));
        one_of("cross traffic", source, &subjects.traffic, name)?;
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
        one_of("probe", probe, &subjects.probes, name)?;
        check(metric, name, &format!("probe.{probe}."), "probe", known)?;
        Ok((Subject::Probe(probe.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("bottleneck.band.") {
        let (band, metric) = rest.split_once('.').unwrap_or((rest, ""));
        if subjects.bands.is_empty() {
            return Err(Problem::new(
                format!("`{name}`: the bottleneck's discipline has no named queues"),
                "write `bottleneck.METRIC`; dualpi2 has the queues `L` and `C`",
            ));
        }
        one_of("queue", band, &subjects.bands, name)?;
        check(
            metric,
            name,
            &format!("bottleneck.band.{band}."),
            "band",
            known,
        )?;
        Ok((Subject::Band(band.to_owned()), metric))
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
            .chain(of_each("flow", &subjects.flows, known))
            .chain(of_each("group", &subjects.groups, known))
            .chain(of_each("probe", &subjects.probes, known))
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

/// Refuses a `subject`, in the check of `whole`, that is not one of `there`.
fn one_of(kind: &str, subject: &str, there: &[&str], whole: &str) -> Result<(), Problem> {
    if there.contains(&subject) {
        return Ok(());
    }
    let problem = unknown(kind, subject, there.iter().copied());
    Err(Problem {
        message: format!("{} in `{whole}`", problem.message),
        ..problem
    })
}

/// Every metric of each subject of a kind, as checks write it.
fn of_each(kind: &str, subjects: &[&str], known: &Metrics) -> Vec<String> {
    let metrics = known.of(kind);
    let of = |subject: &&str| {
        let whole = |metric: &&str| format!("{kind}.{subject}.{metric}");
        metrics.iter().map(whole).collect::<Vec<_>>()
    };
    subjects.iter().flat_map(of).collect()
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
