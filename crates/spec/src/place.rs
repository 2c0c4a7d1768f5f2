//! Where a study says what a backend refuses: from the key of a scenario to file, line and column.

use crate::error::{Position, Problem, Sources};
use crate::node::{Node, Value};
use crate::path::{default_name, link_name};

/// The places of a sweep point's keys.
pub struct Places {
    document: Node,
    sources: Sources,
}

impl Places {
    pub(crate) fn new(document: Node, sources: Sources) -> Places {
        Places { document, sources }
    }

    /// `FILE:LINE:COLUMN`, or the argument, of the value under `keys`, one within the other.
    pub fn of(&self, keys: &[&str]) -> Option<String> {
        let mut node = &self.document;
        for key in keys {
            node = node.get(key)?;
        }
        let problem = Problem::new("", "").or_at(node.at);
        Some(self.sources.locate(problem).place())
    }

    /// `FILE:LINE:COLUMN`, or the argument, of the key `path` of the scenario, or of the innermost table around it that
    /// is written. `None`: the study has nothing of it.
    ///
    /// A path is as scenarios have it: `network.bottleneck.queue.kind`, `flow.NAME.cc`,
    /// `network.link.NAME.rate`; the copies of a flow (`NAME.2`) stand where the flow does. A text in a
    /// list is its own name: `trace.capture.NAME`. Of a schedule, what its changes wait for has names:
    /// `network.bottleneck.schedule.when2.column` is of the second that waits for a state.
    pub fn find(&self, path: &str) -> Option<String> {
        let problem = Problem::new("", "").or_at(position(&self.document, path)?);
        Some(self.sources.locate(problem).place())
    }
}

/// The place of the innermost part of `path` below `node` that is written.
fn position(node: &Node, path: &str) -> Option<Position> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let Value::Table(entries) = &node.value else {
        return None;
    };
    let (key, below) = entries.iter().find(|(key, _)| key.name == first)?;
    let inner = match &below.value {
        Value::List(items) if first == "schedule" => {
            let whens = items.iter().filter_map(|item| item.get("when"));
            waited_for(whens, rest)
        }
        Value::Table(_) if first == "schedule" => waited_for(below.get("when").into_iter(), rest),
        Value::List(items) => {
            let named = items.iter().enumerate();
            let mut named = named.filter_map(|(index, item)| {
                let name = name_of(item, first, index);
                let rest = rest.strip_prefix(name.as_str())?;
                let rest = rest.strip_prefix('.').or(rest.is_empty().then_some(""))?;
                Some((item, name.len(), of_any_copy(rest)))
            });
            // A name may begin with another's: `a` and `a.b`.
            let longest = named.by_ref().max_by_key(|(_, length, _)| *length);
            longest.map(|(item, _, rest)| position(item, rest).unwrap_or(item.at))
        }
        _ => position(below, rest),
    };
    let own = match below.value {
        Value::Table(_) | Value::List(_) => key.at,
        _ => below.at,
    };
    Some(inner.unwrap_or(own))
}

/// The place of `whenN.KEY`, what the N-th of the changes that wait for a state waits for.
fn waited_for<'a>(whens: impl Iterator<Item = &'a Node>, path: &str) -> Option<Position> {
    let (name, key) = path.split_once('.').unwrap_or((path, ""));
    let mut named = whens.enumerate();
    let (_, when) = named.find(|(index, _)| default_name("when", *index) == name)?;
    Some(position(when, key).unwrap_or(when.at))
}

/// The name of `item`, entry `index` of the list `kind`: a text is its own, and a link that has none is
/// called by its ends.
fn name_of(item: &Node, kind: &str, index: usize) -> String {
    let text = |key| item.get(key).and_then(Node::as_str);
    match (text("name").or(item.as_str()), text("from"), text("to")) {
        (Some(name), ..) => name.to_owned(),
        (None, Some(from), Some(to)) if kind == "link" => link_name(from, to),
        _ => default_name(kind, index),
    }
}

/// `rest` without the number of a copy in front.
fn of_any_copy(rest: &str) -> &str {
    match rest.split_once('.') {
        Some((number, rest)) if number.parse::<u64>().is_ok() => rest,
        None if rest.parse::<u64>().is_ok() => "",
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Study};

    const STUDY: &str = "duration = \"1s\"\n\
        [network.bottleneck]\n\
        rate = \"10Mbit\"\n\
        queue = { kind = \"cake\", limit = \"9p\" }\n\
        [[flow]]\n\
        name = \"a\"\n\
        count = 2\n\
        cc = \"nv\"\n\
        [[flow]]\n\
        [trace]\n\
        capture = [\"a.1.sender\", \"a.1.left.access\"]\n\
        [sweep]\n\
        \"flow.a.mss\" = [\"500B\",\n\
        \"600B\"]\n";

    fn place(set: &[&str], point: usize, path: &str) -> Option<String> {
        let study = Study::load(STUDY, "x.toml").expect("a study");
        let overrides = Overrides {
            set: set.iter().map(|&one| one.to_owned()).collect(),
            ..Overrides::default()
        };
        let places = study.places(&overrides, point).expect("a plan");
        places.find(path)
    }

    #[test]
    fn keys_stand_where_they_are_written() {
        let at = |place: &str| Some(format!("x.toml:{place}"));
        let found = |path| place(&[], 0, path);
        assert_eq!(found("network.bottleneck.queue.kind"), at("4:18"));
        assert_eq!(found("network.bottleneck.queue.target"), at("4:1"));
        assert_eq!(found("network.bottleneck.jitter"), at("2:10"));
        assert_eq!(found("flow.a.2.cc"), at("8:6"));
        assert_eq!(found("flow.a.1"), at("5:1"));
        assert_eq!(found("trace.capture.a.1.left.access"), at("11:26"));
        assert_eq!(found("trace.capture"), at("11:1"));
        assert_eq!(found("flow.flow2.cc"), at("9:1"));
        assert_eq!(found("stack"), None);
    }

    #[test]
    fn a_link_without_a_name_is_found_by_its_ends() {
        let text = "duration = \"1s\"\n[network]\ntopology = \"graph\"\n\
            [[network.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit\"\nbottleneck = true\n\
            [[network.link]]\nfrom = \"b\"\nto = \"c\"\ncorrupt = \"1%\"\n\
            [[flow]]\nfrom = \"a\"\nto = \"c\"\n";
        let study = Study::load(text, "graph.toml").expect("a study");
        let places = study.places(&Overrides::default(), 0).expect("a plan");
        let found = places.find("network.link.b-c.corrupt");
        assert_eq!(found.as_deref(), Some("graph.toml:12:11"));
        let found = places.find("network.link.a-b.queue.kind");
        assert_eq!(found.as_deref(), Some("graph.toml:4:1"));
    }

    #[test]
    fn what_is_swept_or_set_stands_there() {
        let at = |place: &str| Some(place.to_owned());
        assert_eq!(place(&[], 1, "flow.a.1.mss"), at("x.toml:14:1"));
        let set = place(&["flow.a.cc=cdg"], 0, "flow.a.2.cc");
        assert_eq!(set, at("--set:1:11"));
        let set = place(&["stack=ns2"], 0, "stack");
        assert_eq!(set, at("--set:1:7"));
    }
}
