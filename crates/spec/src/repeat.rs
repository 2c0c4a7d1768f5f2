//! `repeat`: how often each scenario runs. A number of times, or until its results are sure
//! enough: `until ci95(flow.short.goodput_bps, jain) < 2%, at least 5, at most 100`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{self, Deserialize, Visitor};

use crate::error::Problem;
use crate::expect::{self, Metrics, Named, Subject, Subjects};
use crate::expression::{Part, parse, parse_beginning};

/// Runs before the interval is looked at, if the study does not say: with fewer it is far too
/// narrow (docs/compare.md).
const LEAST: u64 = 5;

/// Runs after which a scenario is given up, if the study does not say.
const MOST: u64 = 50;

const FORM: &str = "write a number, or \"until ci95 < 2%\", \"until ci95(METRIC, ...) < 2%, at least 5, at most 100\"";

/// `repeat` as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Repeat {
    /// So many times.
    Times(u64),
    /// Until the results are sure enough.
    Until(Rule),
}

/// A rule that has been read; its metrics are only text yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    text: String,
    /// What has to be sure; nothing: the goodput of each flow.
    measures: Vec<String>,
    width: f64,
    least: u64,
    most: u64,
}

/// When a scenario has been repeated often enough.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The text of the study.
    pub text: String,
    /// What has to be sure: all of it.
    pub measures: Vec<Measure>,
    /// Half the width of the 95% interval over the mean must be below this: 0.02 for 2%.
    pub width: f64,
    /// Runs before the interval is looked at, at least 2.
    pub least: u64,
    /// Runs after which the scenario is given up.
    pub most: u64,
}

/// A metric, or what is computed from several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The text: `flow.short.goodput_bps`, `bottleneck.drops / duration_s`.
    pub expression: String,
    /// The metrics in it, each once.
    pub metrics: Vec<Named>,
}

impl Repeat {
    /// The most runs that a scenario can have.
    pub fn most(&self) -> u64 {
        match self {
            Repeat::Times(times) => *times,
            Repeat::Until(rule) => rule.most,
        }
    }
}

impl Rule {
    /// The rule for a scenario with these subjects.
    pub fn resolve(&self, subjects: &Subjects<'_>, known: &Metrics) -> Result<Until, Problem> {
        let measures = if self.measures.is_empty() {
            subjects.flows.iter().map(|flow| goodput(flow)).collect()
        } else {
            let all = self.measures.iter();
            all.map(|text| measure(text, subjects, known))
                .collect::<Result<_, Problem>>()?
        };
        Ok(Until {
            text: self.text.clone(),
            measures,
            width: self.width,
            least: self.least,
            most: self.most,
        })
    }
}

/// What `text` measures in a scenario with these subjects.
fn measure(text: &str, subjects: &Subjects<'_>, known: &Metrics) -> Result<Measure, Problem> {
    let tree =
        parse(text, &subjects.beginnings()).map_err(|refusal| expect::refused(text, &refusal))?;
    let metrics = expect::named(&tree, subjects, known)?;
    if metrics.is_empty() || !expect::is_number(&tree) {
        let what = format!("`{text}` is nothing that a run measures");
        return Err(Problem::new(what, FORM));
    }
    for named in &metrics {
        if known.needs(&named.subject, &named.metric).is_some() {
            let what = format!("`{}` is of several runs", named.name);
            return Err(Problem::new(what, "name metrics that a run has by itself"));
        }
    }
    Ok(Measure {
        expression: text.to_owned(),
        metrics,
    })
}

fn goodput(flow: &str) -> Measure {
    let name = format!("flow.{flow}.goodput_bps");
    Measure {
        expression: name.clone(),
        metrics: vec![Named {
            name,
            subject: Subject::Flow(flow.to_owned()),
            metric: "goodput_bps".to_owned(),
        }],
    }
}

/// Reads a rule; the error says what is wrong with it.
fn rule(text: &str) -> Result<Rule, String> {
    let wrong = |what: &str| format!("\"{text}\" {what}; {FORM}");
    let rest = text.trim().strip_prefix("until").map(str::trim_start);
    let rest = rest
        .and_then(|rest| rest.strip_prefix("ci95"))
        .ok_or_else(|| wrong("is no rule for repeats"))?;
    let (measures, rest) = match rest.trim_start().strip_prefix('(') {
        Some(listed) => list(listed).map_err(wrong)?,
        None => (Vec::new(), rest),
    };
    let rest = rest
        .trim_start()
        .strip_prefix('<')
        .ok_or_else(|| wrong("has no `<` after what is to be sure"))?;
    let (bound, rest) = parse_beginning(rest, &[])
        .map_err(|refusal| wrong(&format!("has no width: {}", refusal.message)))?;
    let width = match bound.part {
        Part::Number {
            value,
            dimension: Some("share"),
        } if value > 0.0 && value <= 1.0 => value,
        _ => {
            return Err(wrong(
                "has no width such as `2%`, above 0% and at most 100%",
            ));
        }
    };
    let mut parts = rest.split(',').map(str::trim);
    if parts.next().is_some_and(|between| !between.is_empty()) {
        return Err(wrong(&format!("has `{}`", rest.trim())));
    }
    let (mut least, mut most) = (None, None);
    for part in parts {
        let (bound, number) = match (
            part.strip_prefix("at least "),
            part.strip_prefix("at most "),
        ) {
            (Some(number), _) => (&mut least, number),
            (_, Some(number)) => (&mut most, number),
            _ => return Err(wrong(&format!("has `{part}`"))),
        };
        let number = number
            .trim()
            .parse::<u64>()
            .map_err(|_| wrong(&format!("has `{part}`")))?;
        if bound.replace(number).is_some() {
            return Err(wrong(&format!("says `{part}` after another")));
        }
    }
    let most = most.unwrap_or_else(|| MOST.max(least.unwrap_or(0)));
    let least = least.unwrap_or_else(|| LEAST.min(most));
    if least < 2 {
        return Err(wrong("looks at fewer than 2 runs, which have no interval"));
    }
    if most < least {
        return Err(wrong("ends before it begins"));
    }
    Ok(Rule {
        text: text.trim().to_owned(),
        measures,
        width,
        least,
        most,
    })
}

/// The expressions that `text` lists up to a closing parenthesis, and what follows it.
fn list(text: &str) -> Result<(Vec<String>, &str), &'static str> {
    let mut listed = Vec::new();
    let mut depth = 0usize;
    let mut begin = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' | ',' if depth == 0 => {
                let expression = text[begin..at].trim();
                if expression.is_empty() {
                    return Err("lacks the name of a metric");
                }
                listed.push(expression.to_owned());
                begin = at + 1;
                if letter == ')' {
                    return Ok((listed, &text[begin..]));
                }
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    Err("lacks a closing parenthesis")
}

impl<'de> Deserialize<'de> for Repeat {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Repeat, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Repeat;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or a rule such as \"until ci95 < 2%\"")
            }
            fn visit_u64<E: de::Error>(self, times: u64) -> Result<Repeat, E> {
                Ok(Repeat::Times(times))
            }
            fn visit_i64<E: de::Error>(self, times: i64) -> Result<Repeat, E> {
                u64::try_from(times)
                    .map(Repeat::Times)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(times), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Repeat, E> {
                rule(text).map(Repeat::Until).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Repeat {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Repeat".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            {
                "type": "string",
                "pattern": r"^\s*until\s*ci95\s*(\([^()]+\)\s*)?<\s*[0-9.]+\s*%(\s*,\s*at (least|most) [0-9]+)*\s*$",
                "examples": ["until ci95 < 2%"],
            },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows<'a>(names: &[&'a str]) -> Subjects<'a> {
        Subjects {
            flows: names.to_vec(),
            ..Subjects::default()
        }
    }

    #[test]
    fn a_rule_has_bounds_of_its_own_where_the_study_has_none() {
        let bounds = |text: &str| rule(text).map(|rule| (rule.width, rule.least, rule.most));
        assert_eq!(bounds("until ci95 < 2%"), Ok((0.02, 5, 50)));
        assert_eq!(bounds("until ci95<0.5 %, at most 3"), Ok((0.005, 3, 3)));
        assert_eq!(bounds("until ci95 < 2%, at least 80"), Ok((0.02, 80, 80)));
        assert_eq!(
            bounds("until ci95 < 10%, at most 100, at least 7"),
            Ok((0.1, 7, 100))
        );
    }

    #[test]
    fn names_of_metrics_are_those_of_expectations() {
        let read = rule("until ci95(flow.a.goodput_bps, jain) < 2%").expect("a rule");
        let until = read
            .resolve(&flows(&["a", "b"]), &Metrics::default())
            .expect("names that are known");
        assert_eq!(until.measures[0], goodput("a"));
        assert_eq!(until.measures[1].metrics[0].subject, Subject::Run);
        let unknown = read
            .resolve(&flows(&["b"]), &Metrics::default())
            .expect_err("there is no flow a");
        assert!(unknown.message.contains("`a`"), "{}", unknown.message);
        let every = rule("until ci95 < 2%").expect("a rule");
        let every = every
            .resolve(&flows(&["a", "b"]), &Metrics::default())
            .expect("no names");
        assert_eq!(every.measures, [goodput("a"), goodput("b")]);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_its_form() {
        for (text, said) in [
            ("5 times", "is no rule for repeats"),
            ("until jain < 2%", "is no rule for repeats"),
            ("until ci95(jain < 2%", "lacks a closing parenthesis"),
            ("until ci95(jain, ) < 2%", "lacks the name of a metric"),
            ("until ci95 > 2%", "has no `<`"),
            ("until ci95 < 2", "has no width"),
            ("until ci95 < 0%", "has no width"),
            ("until ci95 < nan%", "has no width"),
            ("until ci95 < 2% of it", "has `of it`"),
            ("until ci95 < 2%, 7 runs", "has `7 runs`"),
            ("until ci95 < 2%, at most few", "has `at most few`"),
            ("until ci95 < 2%, at most 9, at most 8", "after another"),
            ("until ci95 < 2%, at least 1", "fewer than 2 runs"),
            (
                "until ci95 < 2%, at least 9, at most 8",
                "ends before it begins",
            ),
        ] {
            let refused = rule(text).expect_err(text);
            assert!(refused.contains(said), "{text}: {refused}");
            assert!(refused.ends_with(FORM), "{text}: {refused}");
        }
    }
}
