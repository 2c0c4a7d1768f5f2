//! A parsed TOML document in which every key and value knows where it was written.

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Position, Problem};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub at: Position,
    pub value: Value,
    /// How a number is spelt: 6.10 is another text than 6.1.
    spelling: Option<Spelling>,
}

/// How a number is spelt, and where.
#[derive(Clone, Debug)]
enum Spelling {
    /// In a document or in a list: who means a text quotes it.
    InToml(String),
    /// As all that the command line says of a key: it may mean a text.
    Alone(String),
}

/// A TOML value. Tables keep the order of the file.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Datetime(String),
    List(Vec<Node>),
    Table(Vec<(Key, Node)>),
}

/// A key and its place.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub at: Position,
    pub name: String,
}

impl Node {
    /// The `value` that is written at `at`.
    pub fn new(at: Position, value: Value) -> Node {
        Node {
            at,
            value,
            spelling: None,
        }
    }

    /// Parses a whole document.
    pub fn document(text: &str, source: u32) -> Result<Node, Problem> {
        let table = DeTable::parse(text).map_err(|error| syntax(error, source, 0))?;
        let at = Position { source, offset: 0 };
        let entries = from_table(table.get_ref(), source, 0)?;
        Ok(Node::new(at, Value::Table(entries)))
    }

    /// Parses a single value that begins `shift` bytes into its source.
    pub fn value(text: &str, source: u32, shift: usize) -> Result<Node, Problem> {
        let value = DeValue::parse(text).map_err(|error| syntax(error, source, shift))?;
        from_value(&value, source, shift)
    }

    /// The same value as all that the command line says of a key.
    pub fn alone(self) -> Node {
        let spelling = self.spelling.map(|spelling| match spelling {
            Spelling::InToml(text) | Spelling::Alone(text) => Spelling::Alone(text),
        });
        Node { spelling, ..self }
    }

    /// The text that it stands for where a text is wanted: a number is one if nothing else is said.
    ///
    /// # Errors
    /// A number that has to be quoted.
    pub fn text(&self) -> Result<Option<&str>, Problem> {
        match (&self.value, &self.spelling) {
            (Value::String(text), _) => Ok(Some(text)),
            (_, Some(Spelling::Alone(text))) => Ok(Some(text)),
            (_, Some(Spelling::InToml(text))) => Err(Problem::new(
                format!("expected a text, found `{text}`"),
                format!("a text stands in quotes: \"{text}\""),
            )),
            (_, None) => Ok(None),
        }
    }

    /// The value under `name`, if this is a table that has it.
    pub fn get(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries
                .iter()
                .find(|(key, _)| key.name == name)
                .map(|(_, node)| node),
            _ => None,
        }
    }

    /// Whether a value of it is written at `at`.
    pub fn holds(&self, at: Position) -> bool {
        self.at == at
            || match &self.value {
                Value::List(nodes) => nodes.iter().any(|node| node.holds(at)),
                Value::Table(entries) => entries.iter().any(|(_, node)| node.holds(at)),
                _ => false,
            }
    }

    /// The string this is, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The same value as JSON. Integers beyond 64 bits and non-finite floats, which JSON has
    /// not, become text.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::String(text) | Value::Datetime(text) => Json::from(text.as_str()),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => Json::from(number),
                (_, Ok(number)) => Json::from(number),
                _ => Json::from(number.to_string()),
            },
            Value::Float(number) => serde_json::Number::from_f64(*number)
                .map_or_else(|| Json::from(number.to_string()), Json::Number),
            Value::Boolean(value) => Json::from(*value),
            Value::List(nodes) => Json::Array(nodes.iter().map(Node::to_json).collect()),
            Value::Table(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// What it is, for messages: `"text"`, `60`, `a list`.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::String(text) => format!("\"{text}\""),
            Value::Integer(number) => format!("`{number}`"),
            Value::Float(number) => format!("`{number}`"),
            Value::Boolean(value) => format!("`{value}`"),
            Value::Datetime(text) => format!("`{text}`"),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

fn syntax(error: toml::de::Error, source: u32, shift: usize) -> Problem {
    let offset = shift + error.span().map_or(0, |span| span.start);
    let message = format!("this is not TOML: {}", error.message());
    Problem::new(message, "").or_at(Position { source, offset })
}

fn from_value(value: &Spanned<DeValue<'_>>, source: u32, shift: usize) -> Result<Node, Problem> {
    let at = Position {
        source,
        offset: shift + value.span().start,
    };
    let spelling = match value.get_ref() {
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        _ => None,
    };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => Value::Integer(
            i128::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| Problem::new(format!("`{number}` is too large"), "").or_at(at))?,
        ),
        DeValue::Float(number) => Value::Float(
            number
                .as_str()
                .parse()
                .map_err(|_| Problem::new(format!("`{number}` is not a number"), "").or_at(at))?,
        ),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(date) => Value::Datetime(date.to_string()),
        DeValue::Array(values) => Value::List(
            values
                .iter()
                .map(|value| from_value(value, source, shift))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => Value::Table(from_table(table, source, shift)?),
    };
    Ok(Node {
        at,
        value,
        spelling: spelling.map(Spelling::InToml),
    })
}

fn from_table(table: &DeTable<'_>, source: u32, shift: usize) -> Result<Vec<(Key, Node)>, Problem> {
    let mut entries = table
        .iter()
        .map(|(key, value)| {
            let at = Position {
                source,
                offset: shift + key.span().start,
            };
            let name = key.get_ref().to_string();
            Ok((Key { at, name }, from_value(value, source, shift)?))
        })
        .collect::<Result<Vec<_>, Problem>>()?;
    entries.sort_by_key(|(key, _)| key.at.offset);
    Ok(entries)
}
