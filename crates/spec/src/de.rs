//! From a [`Node`] to the structs of `written`, through `serde`, keeping places: a problem is
//! placed at the key or value it was found in, and [`At`] hands a value's place on.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, DeserializeSeed, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Position, Problem};
use crate::node::{Key, Node, Value};

/// A struct with a field of this name takes the keys it does not know there.
pub(crate) const PARAMS: &str = "params";

/// Name of the newtype by which [`At`] asks for a place.
const AT: &str = "$At";

/// A value and the place it was written at.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub at: Position,
    pub value: T,
}

impl<T: Ord> Ord for At<T> {
    fn cmp(&self, other: &At<T>) -> Ordering {
        self.value.cmp(&other.value)
    }
}

impl<T: Ord> PartialOrd for At<T> {
    fn partial_cmp(&self, other: &At<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for At<T> {
    fn eq(&self, other: &At<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Ord> Eq for At<T> {}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<At<T>, D::Error> {
        struct Placed<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Placed<T> {
            type Value = At<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<At<T>, A::Error> {
                let absent = || de::Error::custom("a value and its place are missing");
                let source = seq.next_element()?.ok_or_else(absent)?;
                let offset = seq.next_element::<u64>()?.ok_or_else(absent)? as usize;
                let value = seq.next_element()?.ok_or_else(absent)?;
                Ok(At {
                    at: Position { source, offset },
                    value,
                })
            }
        }
        deserializer.deserialize_newtype_struct(AT, Placed(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Reads a `T` from `node`.
pub(crate) fn from_node<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<T, Problem> {
    T::deserialize(Deserializer(node))
}

/// The keys that the struct `T` takes, as its declaration has them.
pub(crate) fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // The result is an error by construction: only the question is of interest.
    let _ = T::deserialize(KeyQuestion(&mut keys));
    keys
}

struct KeyQuestion<'a>(&'a mut &'static [&'static str]);

impl<'de> de::Deserializer<'de> for KeyQuestion<'_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Problem> {
        Err(Problem::new("not a struct", ""))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Problem> {
        *self.0 = fields;
        Err(Problem::new("asked for keys only", ""))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
        ignored_any
    }
}

/// Among the parameters of a struct that takes any, a key one letter away from a key of the
/// struct is a misspelling of it.
fn misspelt(params: &[&(Key, Node)], fields: &[&str]) -> Result<(), Problem> {
    for (key, _) in params {
        let near = |field: &&&str| {
            **field != PARAMS && strsim::damerau_levenshtein(&key.name.to_lowercase(), field) <= 1
        };
        if let Some(field) = fields.iter().find(near) {
            let message = format!("unknown key `{}`", key.name);
            return Err(Problem::new(message, format!("did you mean `{field}`?")).or_at(key.at));
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Deserializer<'de>(&'de Node);

impl<'de> de::Deserializer<'de> for Deserializer<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let visited = match &self.0.value {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => Err(Problem::new(format!("`{number}` is too large"), "")),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Datetime(text) => Err(Problem::new(
                format!("`{text}` is a date"),
                "a study has no dates",
            )),
            Value::List(nodes) => visitor.visit_seq(Items(nodes.iter())),
            Value::Table(entries) => {
                visitor.visit_map(Entries::new(entries.iter().collect(), None))
            }
        };
        visited.map_err(|problem| problem.or_at(self.0.at))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.text().map_err(|problem| problem.or_at(self.0.at))? {
            Some(text) => visitor
                .visit_borrowed_str(text)
                .map_err(|problem: Problem| problem.or_at(self.0.at)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if name == AT {
            visitor.visit_seq(PlacedParts {
                at: self.0.at,
                value: self,
                next: 0,
            })
        } else {
            visitor
                .visit_newtype_struct(self)
                .map_err(|problem| problem.or_at(self.0.at))
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match &self.0.value {
            Value::Table(entries) if fields.contains(&PARAMS) => {
                let known = |entry: &&(Key, Node)| {
                    entry.0.name != PARAMS && fields.contains(&entry.0.name.as_str())
                };
                let (known, params): (Vec<_>, Vec<_>) = entries.iter().partition(known);
                misspelt(&params, fields)?;
                visitor
                    .visit_map(Entries::new(known, Some(params)))
                    .map_err(|problem| problem.or_at(self.0.at))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let visited = match &self.0.value {
            Value::String(text) => {
                visitor.visit_enum(de::value::BorrowedStrDeserializer::new(text))
            }
            _ => Err(Problem::new(
                format!("expected a name, found {}", self.0.describe()),
                "",
            )),
        };
        visited.map_err(|problem| problem.or_at(self.0.at))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        self.0
            .next()
            .map(|node| seed.deserialize(Deserializer(node)))
            .transpose()
    }
}

/// The three parts [`At`] reads: source, offset, value.
struct PlacedParts<D> {
    at: Position,
    value: D,
    next: u8,
}

impl<'de, D: de::Deserializer<'de, Error = Problem> + Copy> de::SeqAccess<'de> for PlacedParts<D> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        self.next += 1;
        match self.next {
            1 => seed
                .deserialize(de::value::U32Deserializer::new(self.at.source))
                .map(Some),
            2 => seed
                .deserialize(de::value::U64Deserializer::new(self.at.offset as u64))
                .map(Some),
            3 => seed.deserialize(self.value).map(Some),
            _ => Ok(None),
        }
    }
}

/// The name of a key, with its place.
#[derive(Clone, Copy)]
struct KeyName<'de>(&'de Key);

impl<'de> de::Deserializer<'de> for KeyName<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_borrowed_str(&self.0.name)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_seq(PlacedParts {
            at: self.0.at,
            value: self,
            next: 0,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct seq tuple tuple_struct struct map enum identifier ignored_any
    }
}

/// The entries of a table, then, for a struct that takes parameters, the rest as one table.
struct Entries<'de> {
    entries: std::vec::IntoIter<&'de (Key, Node)>,
    value: Option<&'de Node>,
    params: Option<Vec<&'de (Key, Node)>>,
}

impl<'de> Entries<'de> {
    fn new(entries: Vec<&'de (Key, Node)>, params: Option<Vec<&'de (Key, Node)>>) -> Entries<'de> {
        Entries {
            entries: entries.into_iter(),
            value: None,
            params,
        }
    }
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        if let Some((key, node)) = self.entries.next() {
            self.value = Some(node);
            seed.deserialize(KeyName(key))
                .map(Some)
                .map_err(|problem| problem.or_at(key.at))
        } else if self.params.is_some() {
            seed.deserialize(de::value::BorrowedStrDeserializer::new(PARAMS))
                .map(Some)
        } else {
            Ok(None)
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        if let Some(node) = self.value.take() {
            return seed.deserialize(Deserializer(node));
        }
        let params = Entries::new(self.params.take().unwrap_or_default(), None);
        seed.deserialize(de::value::MapAccessDeserializer::new(params))
    }
}
