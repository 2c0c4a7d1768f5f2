//! `[expect]`: checks over metrics, such as `jain > 0.95`.

use cclab_qdisc::find;
use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;
use crate::error::{Problem, nearest, unknown};
use crate::expression::{self, Node, Part, Refusal};
use crate::scenario::Scenario;

/// A check; one that fails makes `cclab run` exit non-zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Its name in the study.
    pub label: String,
    /// The text of the study: `flow.short.goodput_bps > 40Mbit`.
    pub expression: String,
    /// The metrics in it, each once.
    pub metrics: Vec<Named>,
}

/// A metric by the name that an expression has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// As it is written: `flow.short.goodput_bps`.
    pub name: String,
    /// What is measured.
    pub subject: Subject,
    /// Name of the metric, as in the output of `cclab run --json`.
    pub metric: String,
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

impl Subjects<'_> {
    /// What the names of metrics begin with: names of subjects have characters that others have not.
    pub(crate) fn beginnings(&self) -> Vec<String> {
        let kinds = [
            ("flow", &self.flows),
            ("group", &self.groups),
            ("bottleneck.band", &self.bands),
            ("traffic", &self.traffic),
            ("probe", &self.probes),
        ];
        let of = |(kind, names): (&str, &Vec<&str>)| -> Vec<String> {
            let whole = names.iter().map(|name| format!("{kind}.{name}"));
            whole.collect()
        };
        kinds.into_iter().flat_map(of).collect()
    }
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

/// What a check is, for a message.
const FORM: &str = "write a metric, a comparison and a number, such as \"jain > 0.95\"";

/// Reads the check `label` of a scenario with `subjects`.
pub(crate) fn parse(
    label: &str,
    expression: &str,
    subjects: &Subjects<'_>,
    known: &Metrics,
) -> Result<Expectation, Problem> {
    let tree = expression::parse(expression, &subjects.beginnings())
        .map_err(|refusal| refused(expression, &refusal))?;
    if !is_check(&tree) {
        return Err(Problem::new(
            format!("\"{expression}\" compares nothing"),
            FORM,
        ));
    }
    let metrics = named(&tree, subjects, known)?;
    if metrics.is_empty() {
        return Err(Problem::new(
            format!("\"{expression}\" names no metric"),
            FORM,
        ));
    }
    Ok(Expectation {
        label: label.to_owned(),
        expression: expression.to_owned(),
        metrics,
    })
}

/// The problem with a text that is no expression.
pub(crate) fn refused(text: &str, refusal: &Refusal) -> Problem {
    Problem::new(
        format!(
            "\"{text}\", character {}: {}",
            refusal.at + 1,
            refusal.message
        ),
        FORM,
    )
}

/// The metrics that `tree` names, each once.
pub(crate) fn named(
    tree: &Node,
    subjects: &Subjects<'_>,
    known: &Metrics,
) -> Result<Vec<Named>, Problem> {
    let mut metrics: Vec<Named> = Vec::new();
    for (_, name) in tree.names() {
        let (subject, metric) = metric(name, subjects, known)?;
        if !metrics.iter().any(|named| named.name == name) {
            metrics.push(Named {
                name: name.to_owned(),
                subject,
                metric,
            });
        }
    }
    Ok(metrics)
}

/// Whether `node` compares numbers.
fn is_check(node: &Node) -> bool {
    match &node.part {
        Part::And { parts } | Part::Or { parts } => parts.iter().all(is_check),
        Part::Not { operand } => is_check(operand),
        Part::Comparison { first, rest } => {
            let ordered = ["<", "<=", ">", ">=", "==", "!="];
            is_number(first)
                && rest
                    .iter()
                    .all(|(relation, node)| ordered.contains(relation) && is_number(node))
        }
        _ => false,
    }
}

/// Whether `node` is computed from metrics and numbers.
pub(crate) fn is_number(node: &Node) -> bool {
    match &node.part {
        Part::Number { .. } | Part::Name { .. } => true,
        Part::Negative { operand } => is_number(operand),
        Part::Arithmetic {
            operator,
            left,
            right,
        } => !["&", "|"].contains(operator) && is_number(left) && is_number(right),
        Part::Call {
            function,
            arguments,
        } => FUNCTIONS.contains(&function.as_str()) && arguments.iter().all(is_number),
        _ => false,
    }
}

/// What a check may call.
const FUNCTIONS: [&str; 3] = ["abs", "max", "min"];

/// What the metric `name` belongs to, and its name there.
pub(crate) fn metric(
    name: &str,
    subjects: &Subjects<'_>,
    known: &Metrics,
) -> Result<(Subject, String), Problem> {
    if let Some(rest) = name.strip_prefix("flow.") {
        let (flow, metric) = of_flow(rest, subjects);
        if subjects.groups.contains(&flow) && !subjects.flows.contains(&flow) {
            return Err(Problem::new(
                format!("`{flow}` in `{name}` is a group of flows"),
                format!("write `group.{flow}.METRIC`, or `flow.{flow}.1.METRIC` of its first"),
            ));
        }
        one_of("flow", flow, &subjects.flows, name)?;
        let metric = check(metric, name, &format!("flow.{flow}."), "flow", known)?;
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
        let metric = check(metric, name, &format!("group.{group}."), "group", known)?;
        Ok((Subject::Group(group.to_owned()), metric))
    } else if let Some(rest) = name.strip_prefix("traffic.") {
        let (source, metric) = rest.split_once('.').unwrap_or((rest, ""));
        one_of("cross traffic", source, &subjects.traffic, name)?;
        let metric = check(
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
        let metric = check(metric, name, &format!("probe.{probe}."), "probe", known)?;
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
        let metric = check(
            metric,
            name,
            &format!("bottleneck.band.{band}."),
            "band",
            known,
        )?;
        Ok((Subject::Band(band.to_owned()), metric))
    } else if let Some(metric) = name.strip_prefix("bottleneck.") {
        let metric = check(metric, name, "bottleneck.", "bottleneck", known)?;
        Ok((Subject::Bottleneck, metric))
    } else if known.has("run", name) {
        Ok((Subject::Run, name.to_owned()))
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

/// The flow that `rest` begins with, and what follows: names of flows of a `count` have a dot in
/// them, and so have metrics as they are documented.
fn of_flow<'a>(rest: &'a str, subjects: &Subjects<'_>) -> (&'a str, &'a str) {
    let named = subjects.flows.iter().chain(&subjects.groups);
    let splits = named.filter_map(|name| Some((name.len(), rest.strip_prefix(name)?)));
    let splits = splits.filter_map(|(at, after)| Some((&rest[..at], after.strip_prefix('.')?)));
    splits
        .max_by_key(|(name, _)| name.len())
        .or_else(|| rest.rsplit_once('.'))
        .unwrap_or((rest, ""))
}

/// The name of the metric of a `subject` that `metric` spells, as results have it or as it is
/// documented: `datagrams_loss` or `datagrams.loss`.
fn check(
    metric: &str,
    whole: &str,
    prefix: &str,
    subject: &str,
    known: &Metrics,
) -> Result<String, Problem> {
    let joined = metric.replace('.', "_");
    // Numbers of transfers have no word that says so.
    let of_transfers = joined.strip_prefix("transfers_").unwrap_or(&joined);
    let spellings = [metric, &joined, of_transfers];
    if let Some(found) = spellings.into_iter().find(|name| known.has(subject, name)) {
        return Ok(found.to_owned());
    }
    let every = known.of(subject);
    // Words first: letters alone make `rtos` of `loss`.
    let by_words = alike(&joined, &every);
    let names = |metrics: &[&str]| -> Vec<String> {
        let whole = metrics.iter().map(|metric| format!("{prefix}{metric}"));
        whole.collect()
    };
    let (all, by_words) = (names(&every), names(&by_words));
    let by_letters = nearest(whole, all.iter().map(String::as_str)).map(str::to_owned);
    let meant = match by_letters.filter(|name| by_words.is_empty() || by_words.contains(name)) {
        Some(name) => vec![name],
        None => by_words,
    };
    let quoted = |names: &[String], between: &str| {
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        quoted.join(between)
    };
    let help = match meant.is_empty() {
        true => format!("one of {}", quoted(&all, ", ")),
        false => format!("did you mean {}?", quoted(&meant, " or ")),
    };
    Err(Problem::new(format!("unknown metric `{whole}`"), help))
}

/// Words that people have for what metrics are called by others.
const CALLED: [(&str, &str); 8] = [
    ("bandwidth", "goodput"),
    ("bitrate", "goodput"),
    ("drops", "loss"),
    ("latency", "delay"),
    ("losses", "loss"),
    ("lost", "loss"),
    ("owd", "delay"),
    ("rate", "goodput"),
];

/// How many metrics a message offers.
const OFFERED: usize = 3;

/// The metrics of `every` that have each word of `asked` or what it is called there, the likeliest
/// first.
fn alike<'a>(asked: &str, every: &[&'a str]) -> Vec<&'a str> {
    let words: Vec<&str> = asked.split('_').filter(|word| word.len() > 2).collect();
    let means = |word: &str, other: &str| {
        word == other || CALLED.contains(&(word, other)) || other == format!("s{word}")
    };
    let has = |name: &&&str| {
        let mut asked = words.iter();
        asked.all(|word| name.split('_').any(|other| means(word, other)))
    };
    let mut found: Vec<&str> = match words.is_empty() {
        true => Vec::new(),
        false => every.iter().filter(has).copied().collect(),
    };
    // Less asked for: what is of the way back, of a window, and of several runs.
    let special = |name: &str| {
        let prefixes = ["back_", "window_", "harm_", "reverse_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    found.sort_by_key(|name| (special(name), name.len()));
    found.truncate(OFFERED);
    found
}
