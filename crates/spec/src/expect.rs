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
    /// The runs beside the study's own that its metric needs.
    pub fn needs(&self) -> Option<Baseline> {
        needs(&self.subject, &self.metric)
    }

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

/// Metrics of a flow.
pub const FLOW_METRICS: [&str; 28] = [
    "throughput_bps",
    "goodput_bps",
    "steady_goodput_bps",
    "retransmits",
    "rtos",
    "srtt_mean_s",
    "rtt_min_s",
    "rtt_p95_s",
    "cwnd_mean_segments",
    "segments_sent",
    "bytes_received",
    "bytes_acked",
    "elapsed_s",
    "max_min_bps",
    "max_min_share",
    "least_share",
    "starved_s",
    "goodput_cov",
    "power",
    "fct_s",
    "slowdown",
    "solo_goodput_bps",
    "harm_goodput",
    "harm_delay",
    "harm_loss",
    "harm_fct",
    "self_goodput_bps",
    "friendliness",
];

/// Metrics of a flow that need runs beside its own, and which.
const BASELINES: [(&str, Baseline); 7] = [
    ("solo_goodput_bps", Baseline::Solo),
    ("harm_goodput", Baseline::Solo),
    ("harm_delay", Baseline::Solo),
    ("harm_loss", Baseline::Solo),
    ("harm_fct", Baseline::Solo),
    ("self_goodput_bps", Baseline::Own),
    ("friendliness", Baseline::Own),
];

/// The runs beside a run's own that a metric of it needs.
pub(crate) fn needs(subject: &Subject, metric: &str) -> Option<Baseline> {
    let known = BASELINES.iter().find(|(name, _)| *name == metric)?;
    matches!(subject, Subject::Flow(_)).then_some(known.1)
}

/// Metrics of the bottleneck.
pub const BOTTLENECK_METRICS: [&str; 9] = [
    "utilization",
    "drops",
    "drop_rate",
    "ecn_marks",
    "queue_delay_mean_s",
    "queue_delay_p95_s",
    "queue_delay_p99_s",
    "queue_max_bytes",
    "queue_power",
];

/// Metrics of cross traffic.
pub const TRAFFIC_METRICS: [&str; 17] = [
    "sent_bps",
    "received_bps",
    "loss_rate",
    "delay_mean_s",
    "delay_p95_s",
    "rtt_mean_s",
    "rtt_p95_s",
    "started",
    "ended",
    "fct_mean_s",
    "fct_median_s",
    "fct_p95_s",
    "fct_p99_s",
    "slowdown_mean",
    "slowdown_median",
    "slowdown_p95",
    "slowdown_p99",
];

/// Metrics of a run.
pub const RUN_METRICS: [&str; 7] = [
    "jain",
    "jain_mean",
    "jain_min",
    "convergence_s",
    "throughput_ratio",
    "smallest_share",
    "longest_starved_s",
];

/// Reads the check `label`; `flows` and `traffic` are the names of the scenario's flows and of
/// its cross traffic.
pub(crate) fn parse(
    label: &str,
    expression: &str,
    flows: &[&str],
    traffic: &[&str],
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
    let (subject, metric) = metric(name, flows, traffic)?;
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
    flows: &[&str],
    traffic: &[&str],
) -> Result<(Subject, &'a str), Problem> {
    if let Some(rest) = name.strip_prefix("flow.") {
        // Flows of a `count` have a dot in their names, metrics have none.
        let (flow, metric) = rest.rsplit_once('.').unwrap_or((rest, ""));
        if !flows.contains(&flow) {
            let problem = unknown("flow", flow, flows.iter().copied());
            return Err(Problem {
                message: format!("{} in `{name}`", problem.message),
                ..problem
            });
        }
        check(metric, name, &format!("flow.{flow}."), &FLOW_METRICS)?;
        Ok((Subject::Flow(flow.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("traffic.") {
        let (source, metric) = rest.split_once('.').unwrap_or((rest, ""));
        if !traffic.contains(&source) {
            let problem = unknown("cross traffic", source, traffic.iter().copied());
            return Err(Problem {
                message: format!("{} in `{name}`", problem.message),
                ..problem
            });
        }
        check(
            metric,
            name,
            &format!("traffic.{source}."),
            &TRAFFIC_METRICS,
        )?;
        Ok((Subject::Traffic(source.to_owned()), metric))
    } else if let Some(metric) = name.strip_prefix("bottleneck.") {
        check(metric, name, "bottleneck.", &BOTTLENECK_METRICS)?;
        Ok((Subject::Bottleneck, metric))
    } else {
        let every: Vec<String> = RUN_METRICS
            .iter()
            .map(|metric| (*metric).to_owned())
            .chain(
                BOTTLENECK_METRICS
                    .iter()
                    .map(|metric| format!("bottleneck.{metric}")),
            )
            .chain(
                flows
                    .iter()
                    .flat_map(|flow| FLOW_METRICS.iter().map(move |m| format!("flow.{flow}.{m}"))),
            )
            .collect();
        if RUN_METRICS.contains(&name) {
            Ok((Subject::Run, name))
        } else {
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
}

fn check(metric: &str, whole: &str, prefix: &str, known: &[&str]) -> Result<(), Problem> {
    if known.contains(&metric) {
        return Ok(());
    }
    let every: Vec<String> = known
        .iter()
        .map(|known| format!("{prefix}{known}"))
        .collect();
    Err(unknown("metric", whole, every.iter().map(String::as_str)))
}
