//! Changes of a link during a run: at instants, or when the variant of a flow comes into a state.

use std::borrow::Cow;
use std::fmt;

use cclab_units::{Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use crate::link::{Link, Slots};
use crate::scenario::Scenario;

/// A change of a link at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When: since the beginning of the run, or, of a change that waits for a state, since that.
    pub at: Time,
    /// New rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// New one-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// New probability of independent loss in front of the queue, instead of those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// New largest extra delay of the jitter, or its new average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
    /// New slots instead of those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Slots>,
}

/// A change of a link that waits for the state of a flow's variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Triggered {
    /// What it waits for.
    pub when: When,
    /// What becomes of the link then.
    pub change: Change,
}

/// A column of the inner state of a flow's variant becomes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The flow.
    pub flow: String,
    /// The column of the state of its variant.
    pub column: String,
    /// The value, which was another before.
    pub is: StateValue,
    /// The n-th time that it becomes this value counts.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub nth: u64,
}

fn first() -> u64 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_first(nth: &u64) -> bool {
    *nth == first()
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let When {
            flow,
            column,
            is,
            nth,
        } = self;
        write!(f, "{column} of {flow} becomes {is}")?;
        match *nth {
            1 => Ok(()),
            nth => write!(f, " for time {nth}"),
        }
    }
}

/// A value in a column of a variant's state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StateValue {
    /// A word of a list.
    Word(String),
    /// A truth value.
    Flag(bool),
    /// A number.
    Number(f64),
}

impl fmt::Display for StateValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateValue::Word(word) => write!(f, "{word:?}"),
            StateValue::Flag(flag) => write!(f, "{flag}"),
            StateValue::Number(number) => write!(f, "{number}"),
        }
    }
}

impl<'de> Deserialize<'de> for StateValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StateValue, D::Error> {
        struct Value;
        impl Visitor<'_> for Value {
            type Value = StateValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word such as \"drain\", true or false, or a number")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<StateValue, E> {
                Ok(StateValue::Word(word.to_owned()))
            }
            fn visit_bool<E: de::Error>(self, flag: bool) -> Result<StateValue, E> {
                Ok(StateValue::Flag(flag))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<StateValue, E> {
                Ok(StateValue::Number(number as f64))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<StateValue, E> {
                Ok(StateValue::Number(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<StateValue, E> {
                Ok(StateValue::Number(number))
            }
        }
        deserializer.deserialize_any(Value)
    }
}

impl JsonSchema for StateValue {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "StateValue".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "boolean", "number"] })
    }
}

impl Change {
    /// What of it holds for the other direction too: of the rate, of the delay.
    fn mirrored(&self, rate: bool, delay: bool) -> Option<Change> {
        let other = Change {
            at: self.at,
            rate: self.rate.filter(|_| rate),
            delay: self.delay.filter(|_| delay),
            ..Change::default()
        };
        (other.rate.is_some() || other.delay.is_some()).then_some(other)
    }
}

/// The changes of a schedule that hold for the other direction too: of the rate, of the delay.
pub(crate) fn mirrored(schedule: &[Change], rate: bool, delay: bool) -> Vec<Change> {
    let changes = schedule.iter();
    changes
        .filter_map(|change| change.mirrored(rate, delay))
        .collect()
}

/// As [`mirrored`], of the changes that wait for a state.
pub(crate) fn mirrored_triggered(all: &[Triggered], rate: bool, delay: bool) -> Vec<Triggered> {
    let others = all.iter().filter_map(|triggered| {
        Some(Triggered {
            when: triggered.when.clone(),
            change: triggered.change.mirrored(rate, delay)?,
        })
    });
    others.collect()
}

/// The rates of a link over time: the first, and each later one with its instant.
#[derive(Clone, Debug)]
pub struct Rates {
    steps: Vec<(Time, Rate)>,
    /// Whether more may follow.
    open: bool,
}

impl Rates {
    /// The rates of a link of `rate` with the changes of `schedule`, in the order of time.
    pub fn new(rate: Option<Rate>, schedule: &[Change]) -> Rates {
        let first = rate.map(|rate| (Time::ZERO, rate));
        let later = schedule.iter().filter_map(|c| Some((c.at, c.rate?)));
        Rates {
            steps: first.into_iter().chain(later).collect(),
            open: false,
        }
    }

    /// Those of `link`, of which some may yet be inserted.
    pub fn of(link: &Link) -> Rates {
        let waits = |triggered: &Triggered| triggered.change.rate.is_some();
        Rates {
            open: link.triggered.iter().any(waits),
            ..Rates::new(link.rate, &link.schedule)
        }
    }

    /// From `at` on it is `rate`, until the next.
    pub fn insert(&mut self, at: Time, rate: Rate) {
        let place = self.steps.partition_point(|&(earlier, _)| earlier <= at);
        self.steps.insert(place, (at, rate));
    }

    /// The bytes that the link could have transmitted by `now`; `None` if its rate is constant.
    pub fn capacity(&self, now: Time) -> Option<u64> {
        if self.steps.len() < 2 && !self.open {
            return None;
        }
        let ends = self.steps.iter().skip(1).map(|&(at, _)| at).chain([now]);
        let parts = self.steps.iter().zip(ends);
        Some(
            parts
                .map(|(&(from, rate), to)| rate.bytes_in(to.min(now) - from.min(now)))
                .sum(),
        )
    }

    /// The largest of them that is in force before `end`.
    pub fn largest(&self, end: Time) -> Option<Rate> {
        let in_force = self.steps.iter().filter(|&&(at, _)| at < end);
        in_force
            .map(|&(_, rate)| rate)
            .max_by_key(|rate| rate.bps())
    }
}

impl Scenario {
    /// What changes of its links wait for, each once.
    pub fn whens(&self) -> Vec<&When> {
        let mut whens: Vec<&When> = Vec::new();
        let triggered = self.links().into_iter().flat_map(|link| &link.triggered);
        for Triggered { when, .. } in triggered {
            if !whens.contains(&when) {
                whens.push(when);
            }
        }
        whens
    }

    /// It as a run of it went, in which [`Scenario::whens`] came at the instants `met`, or never:
    /// what waited for them is scheduled then, or left out.
    #[must_use]
    pub fn as_it_went(&self, met: &[Option<Time>]) -> Scenario {
        let whens = self.whens();
        if whens.is_empty() {
            return self.clone();
        }
        let came = |when: &When| {
            let index = whens.iter().position(|known| *known == when)?;
            met.get(index).copied().flatten()
        };
        let mut went = self.clone();
        went.each_link(|link| {
            for Triggered { when, change } in std::mem::take(&mut link.triggered) {
                link.schedule.extend(came(&when).map(|came| Change {
                    at: came + change.at,
                    ..change
                }));
            }
            link.schedule.sort_by_key(|change| change.at);
        });
        went
    }

    /// Its links as written: each way back of its own behind the way there.
    fn links(&self) -> Vec<&Link> {
        let network = &self.network;
        let edges = network.graph.iter().flat_map(|graph| &graph.links);
        let there = [&network.bottleneck, &network.access].into_iter();
        there
            .chain(edges.map(|edge| &edge.link))
            .flat_map(|link| [Some(link), link.reverse.as_deref()])
            .flatten()
            .collect()
    }

    fn each_link(&mut self, mut act: impl FnMut(&mut Link)) {
        let network = &mut self.network;
        let edges = network.graph.iter_mut().flat_map(|graph| &mut graph.links);
        let there = [&mut network.bottleneck, &mut network.access].into_iter();
        for link in there.chain(edges.map(|edge| &mut edge.link)) {
            act(link);
            if let Some(back) = &mut link.reverse {
                act(back);
            }
        }
    }
}
