//! Dotted paths such as `flow.short.cc`, and setting what they name.

use crate::de::keys_of;
use crate::error::{Position, Problem, nearest, unknown};
use crate::node::{Key, Node, Value};
use crate::written;

/// Deeper than any key of the contract; it bounds the recursion below.
const MAX_PARTS: usize = 8;

/// A dotted path. Parts that hold dots themselves are quoted:
/// `flow.s1.sysctl."net.ipv4.tcp_sack"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(Vec<String>);

impl Path {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Path, Problem> {
        let wrong = || {
            Problem::new(
                format!("`{text}` is not a path"),
                "write keys joined by dots, such as `flow.short.cc`",
            )
        };
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
                None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
            };
            if part.is_empty() {
                return Err(wrong());
            }
            parts.push(part.to_owned());
            if parts.len() > MAX_PARTS {
                return Err(wrong());
            }
            match after.strip_prefix('.') {
                Some(after) => rest = after,
                None if after.is_empty() => return Ok(Path(parts)),
                None => return Err(wrong()),
            }
        }
    }

    /// The path made of `parts`.
    pub fn from_parts(parts: &[String]) -> Path {
        Path(parts.to_vec())
    }

    /// Its parts.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The path below `first`, if it begins so.
    pub fn below(&self, first: &str) -> Option<Path> {
        (self.0.len() > 1 && self.0[0] == first).then(|| Path(self.0[1..].to_vec()))
    }

    /// Puts `value` where the path points in `document`; `key_at` is where the path is written.
    /// Whether a key exists in the contract is found out when the document is read.
    pub fn set(&self, document: &mut Node, key_at: Position, value: Node) -> Result<(), Problem> {
        let parts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        match parts[0] {
            "flow" => {
                let keys = keys_of::<written::Flow>();
                set_in_named(document, &parts, Some(keys), key_at, value)
            }
            "traffic" => set_in_named(document, &parts, None, key_at, value),
            "probe" => {
                let keys = keys_of::<written::Probe>();
                set_in_named(document, &parts, Some(keys), key_at, value)
            }
            _ => set_below(document, &parts, &parts, key_at, value),
        }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            if part.contains('.') {
                write!(f, "{dot}\"{part}\"")?;
            } else {
                write!(f, "{dot}{part}")?;
            }
        }
        Ok(())
    }
}

/// The name of entry `index` of `[[flow]]`, `[[traffic]]` or `[[probe]]`.
pub(crate) fn default_name(kind: &str, index: usize) -> String {
    format!("{kind}{}", index + 1)
}

/// The name of a graph's link that joins `from` and `to`, where it is given none.
pub(crate) fn link_name(from: &str, to: &str) -> String {
    format!("{from}-{to}")
}

/// Sets `flow.NAME.key` in the flow called so, `flow.key` in all of them.
fn set_in_named(
    document: &mut Node,
    parts: &[&str],
    keys: Option<&'static [&'static str]>,
    key_at: Position,
    value: Node,
) -> Result<(), Problem> {
    let kind = parts[0];
    let whole = parts.join(".");
    let Value::Table(entries) = &mut document.value else {
        return Err(Problem::new("a study is a table", ""));
    };
    let list = match entries
        .iter_mut()
        .find(|(key, _)| key.name == kind)
        .map(|(_, node)| node)
    {
        Some(Node {
            value: Value::List(list),
            ..
        }) => list,
        _ => {
            return Err(Problem::new(
                format!("`{whole}` names nothing"),
                format!("there is no [[{kind}]]"),
            ));
        }
    };
    let name_of = |index: usize, node: &Node| {
        node.get("name")
            .and_then(Node::as_str)
            .map_or_else(|| default_name(kind, index), str::to_owned)
    };
    let names: Vec<String> = list
        .iter()
        .enumerate()
        .map(|(i, node)| name_of(i, node))
        .collect();
    let names_known = || names.iter().map(String::as_str);
    match parts {
        [_, name, rest @ ..] if !rest.is_empty() && names.iter().any(|known| known == name) => {
            for (node, _) in list
                .iter_mut()
                .zip(&names)
                .filter(|(_, known)| known == name)
            {
                set_below(node, parts, rest, key_at, value.clone())?;
            }
            Ok(())
        }
        [_, key, ..] if keys.map_or(parts.len() == 2, |keys| keys.contains(key)) => {
            for node in list {
                set_below(node, parts, &parts[1..], key_at, value.clone())?;
            }
            Ok(())
        }
        [_, name] if names.iter().any(|known| known == name) => Err(Problem::new(
            format!("`{whole}` names a whole {kind}"),
            format!(
                "name one of its keys, such as `{whole}.{}`",
                if kind == "flow" { "cc" } else { "kind" }
            ),
        )),
        [_, key] => Err(nothing(
            &whole,
            unknown("key", key, keys.unwrap_or_default().iter().copied()),
        )),
        [_, "*", rest @ ..] => Err(Problem::new(
            format!("`{whole}` names nothing: there is no {kind} `*`"),
            format!("`{kind}.{}` is that key of every {kind}", rest.join(".")),
        )),
        [_, name, rest @ ..] => Err(match nearest(name, names_known()) {
            Some(near) => Problem::new(
                format!("`{whole}` names nothing: there is no {kind} `{name}`"),
                format!("did you mean `{kind}.{near}.{}`?", rest.join(".")),
            ),
            None => nothing(&whole, unknown(kind, name, names_known())),
        }),
        _ => Err(Problem::new(
            format!("`{whole}` names every {kind}"),
            format!(
                "name a key, such as `{kind}.{}`",
                if kind == "flow" { "cc" } else { "kind" }
            ),
        )),
    }
}

/// The problem of a path that names nothing because of `problem`.
pub(crate) fn nothing(path: &str, problem: Problem) -> Problem {
    Problem {
        message: format!("`{path}` names nothing: {}", problem.message),
        ..problem
    }
}

/// Sets what `rest` names below `node`; `whole` is the path for messages.
fn set_below(
    node: &mut Node,
    whole: &[&str],
    rest: &[&str],
    key_at: Position,
    value: Node,
) -> Result<(), Problem> {
    let (first, rest) = rest
        .split_first()
        .expect("a path has parts, and each call leaves some");
    let described = node.describe();
    match &mut node.value {
        Value::Table(entries) => {
            let index = match entries.iter().position(|(key, _)| key.name == *first) {
                Some(index) => index,
                None => {
                    let key = Key {
                        at: key_at,
                        name: (*first).to_owned(),
                    };
                    entries.push((key, Node::new(key_at, Value::Table(Vec::new()))));
                    entries.len() - 1
                }
            };
            let (_, entry) = &mut entries[index];
            if rest.is_empty() {
                *entry = value;
                Ok(())
            } else {
                set_below(entry, whole, rest, key_at, value)
            }
        }
        Value::List(list) => {
            let length = list.len();
            match first
                .parse::<usize>()
                .ok()
                .and_then(|index| list.get_mut(index))
            {
                Some(entry) if rest.is_empty() => {
                    *entry = value;
                    Ok(())
                }
                Some(entry) => set_below(entry, whole, rest, key_at, value),
                None => Err(Problem::new(
                    format!(
                        "`{}` names nothing: `{first}` is not an entry of the list",
                        whole.join(".")
                    ),
                    format!("entries are counted from 0, and there are {length}"),
                )),
            }
        }
        _ => Err(Problem::new(
            format!(
                "`{}` names nothing: {described} has no keys",
                whole.join(".")
            ),
            format!("write it as a table to set `{first}` in it"),
        )),
    }
}
