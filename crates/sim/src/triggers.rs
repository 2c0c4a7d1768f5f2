//! What changes of links wait for: that the variant of a flow comes into a state.

use cclab_cc::StateColumn;
use cclab_cc::interface::state::{ABSENT, StateKind, flagged};
use cclab_spec::{Link, Scenario, StateValue, Triggered, When};
use cclab_units::Time;

use crate::Unsupported;
use crate::flow::Flow;
use crate::own::OwnVariants;
use crate::states::{columns_of, state_of};

/// What has not come about yet, and when the rest did.
pub struct Triggers<'a> {
    waiting: Vec<Waiting<'a>>,
    /// In the order of [`Scenario::whens`].
    met: Vec<Option<Time>>,
    state: Vec<f64>,
}

/// Something that has not come about yet.
struct Waiting<'a> {
    when: &'a When,
    /// Its place in [`Scenario::whens`].
    place: usize,
    flow: usize,
    column: usize,
    value: f64,
    /// Whether the column has the value.
    is: bool,
    /// How often it is yet to come to it.
    left: u64,
}

impl<'a> Triggers<'a> {
    /// Those of `scenario`, whose flows are `flows`. The caller has made sure that there are such columns
    /// and values.
    pub fn new(scenario: &'a Scenario, flows: &[Flow]) -> Triggers<'a> {
        let whens = scenario.whens();
        let met = vec![None; whens.len()];
        let waiting = whens.into_iter().enumerate().filter_map(|(place, when)| {
            let mut names = scenario.flows.iter();
            let flow = names.position(|flow| flow.name == when.flow)?;
            let columns = flows[flow].tcp()?.sender.state_columns();
            let column = position(columns, &when.column)?;
            Some(Waiting {
                when,
                place,
                flow,
                column,
                value: number_of(columns[column].kind, &when.is)?,
                is: false,
                left: when.nth,
            })
        });
        Triggers {
            waiting: waiting.collect(),
            met,
            state: Vec::new(),
        }
    }

    /// Whether something has not come about yet.
    #[inline]
    pub fn wait(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What has come about by the state of `flow`, which is at `index`.
    pub fn look(&mut self, index: usize, flow: &Flow, now: Time) -> Vec<&'a When> {
        let mut come = Vec::new();
        let concerned = self.waiting.iter().any(|waiting| waiting.flow == index);
        if !concerned || !state_of(flow, &mut self.state) {
            return come;
        }
        let (state, met) = (&self.state, &mut self.met);
        self.waiting.retain_mut(|waiting| {
            if waiting.flow != index {
                return true;
            }
            let was = waiting.is;
            waiting.is = state[waiting.column] == waiting.value;
            waiting.left -= u64::from(waiting.is && !was);
            if waiting.left == 0 {
                come.push(waiting.when);
                met[waiting.place] = Some(now);
            }
            waiting.left > 0
        });
        come
    }

    /// When each came about.
    pub fn met(self) -> Vec<Option<Time>> {
        self.met
    }
}

fn position(columns: &[StateColumn], name: &str) -> Option<usize> {
    columns.iter().position(|column| column.name == name)
}

/// `value` as the number of a column of `kind`; `None`: it never has it.
fn number_of(kind: StateKind, value: &StateValue) -> Option<f64> {
    match (kind, value) {
        (StateKind::Word(words), StateValue::Word(word)) => {
            let place = words.iter().position(|known| known == word)?;
            Some(place as f64)
        }
        (StateKind::Flag, StateValue::Flag(flag)) => Some(flagged(*flag)),
        (StateKind::Number, StateValue::Number(number)) => Some(*number),
        (StateKind::Count, StateValue::Number(number)) => {
            (*number >= 0.0 && number.fract() == 0.0).then_some(*number)
        }
        _ => None,
    }
}

/// What columns of `kind` have.
fn values_of(kind: StateKind) -> String {
    match kind {
        StateKind::Number => "a number".to_owned(),
        StateKind::Count => "a whole number".to_owned(),
        StateKind::Flag => "true or false".to_owned(),
        StateKind::Word(words) => {
            let words = words.iter().map(|word| format!("{word:?}"));
            format!("one of {}", words.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What changes of `scenario` wait for that never comes about, the variants of whose files are `own`;
/// `None`: they are not known yet.
pub fn unsupported(scenario: &Scenario, own: Option<&OwnVariants>) -> Vec<Unsupported> {
    let none = OwnVariants::default();
    let network = &scenario.network;
    let edges = network.graph.iter().flat_map(|graph| &graph.links);
    let edges = edges.map(|edge| (format!("network.link.{}", edge.name), &edge.link));
    let own_links = [
        ("network.bottleneck".to_owned(), &network.bottleneck),
        ("network.access".to_owned(), &network.access),
    ];
    let links = own_links
        .into_iter()
        .filter(|_| network.graph.is_none())
        .chain(edges)
        .flat_map(|(path, link)| {
            let back = link.reverse.as_deref();
            let back = back.map(|back| (format!("{path}.reverse"), back));
            [Some((path, link)), back].into_iter().flatten()
        });
    let mut found = Vec::new();
    for (path, link) in links {
        for (nth, when) in whens_of(link) {
            if scenario.variant_file(&cc_of(scenario, when)).is_some() && own.is_none() {
                continue;
            }
            let refused = refused(scenario, own.unwrap_or(&none), when);
            found.extend(refused.map(|(key, what)| Unsupported {
                path: format!("{path}.schedule.when{nth}.{key}"),
                what,
            }));
        }
    }
    found
}

/// What the changes of `link` wait for, counted from 1.
fn whens_of(link: &Link) -> impl Iterator<Item = (usize, &When)> {
    let whens = link.triggered.iter().map(|Triggered { when, .. }| when);
    (1..).zip(whens)
}

fn cc_of(scenario: &Scenario, when: &When) -> String {
    let mut flows = scenario.flows.iter();
    let flow = flows.find(|flow| flow.name == when.flow);
    flow.map_or_else(String::new, |flow| flow.cc.clone())
}

/// The key of `when` that never comes about, and what is asked for there.
fn refused(scenario: &Scenario, own: &OwnVariants, when: &When) -> Option<(&'static str, String)> {
    let flow = &when.flow;
    let mut flows = scenario.flows.iter();
    let spec = flows.find(|spec| spec.name == *flow)?;
    let columns = columns_of(scenario, spec, own);
    if columns.is_empty() {
        let why = match spec.udp {
            Some(_) => "which is over UDP and has no variant".to_owned(),
            None => format!("whose variant {} tells none", spec.cc),
        };
        return Some(("flow", format!("a change at the state of {flow}, {why}")));
    }
    let Some(column) = position(columns, &when.column) else {
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let what = format!(
            "a change at the column {:?} of {flow}: its variant {} has {}",
            when.column,
            spec.cc,
            names.join(", ")
        );
        return Some(("column", what));
    };
    let kind = columns[column].kind;
    if number_of(kind, &when.is).is_none_or(|number| number.to_bits() == ABSENT.to_bits()) {
        let what = format!(
            "a change where the column {} of {flow} is {}: it is {}",
            when.column,
            when.is,
            values_of(kind)
        );
        return Some(("is", what));
    }
    None
}
