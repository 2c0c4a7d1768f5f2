//! Where a study says what a backend refuses: from the key of a scenario to file, line and column.

use crate::error::{Position, Problem, Sources, StudyError};
use crate::node::{Node, Value};
use crate::path::default_name;

/// The places of a sweep point's keys.
pub struct Places {
    document: Node,
    sources: Sources,
}

impl Places {
    pub(crate) fn new(document: Node, sources: Sources) -> Places {
        Places { document, sources }
    }

    /// `FILE:LINE:COLUMN` of the key `path` of the scenario, or of the innermost table around it that
    /// is written. `None`: the study has nothing of it.
    ///
    /// A path is as scenarios have it: `network.bottleneck.queue.kind`, `flow.NAME.cc`,
    /// `network.link.NAME.rate`; the copies of a flow (`NAME.2`) stand where the flow does.
    pub fn find(&self, path: &str) -> Option<String> {
        let problem = Problem::new("", "").or_at(position(&self.document, path)?);
        let StudyError {
            file, line, column, ..
        } = self.sources.locate(problem);
        Some(format!("{file}:{line}:{column}"))
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
        Value::List(items) => {
            let named = items.iter().enumerate();
            let mut named = named.filter_map(|(index, item)| {
                let name = item.get("name").and_then(Node::as_str);
                let name = name.map_or_else(|| default_name(first, index), str::to_owned);
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
        assert_eq!(found("flow.flow2.cc"), at("9:1"));
        assert_eq!(found("stack"), None);
    }

    #[test]
    fn what_is_swept_or_set_stands_there() {
        let at = |place: &str| Some(place.to_owned());
        assert_eq!(place(&[], 1, "flow.a.1.mss"), at("x.toml:12:1"));
        let set = place(&["flow.a.cc=cdg"], 0, "flow.a.2.cc");
        assert_eq!(set, at("--set:1:11"));
        let set = place(&["stack=ns2"], 0, "stack");
        assert_eq!(set, at("--set:1:7"));
    }
}
