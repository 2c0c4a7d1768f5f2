//! The leaves of a study file: values that are written as text, or as text or a number.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use cclab_units::{Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Visitor};

use crate::application::Pace;
use crate::de::At;
use crate::quantity::{self, LimitText, pattern};

/// Declares a type that is written as one text and read by `$parse`.
macro_rules! text {
    ($name:ident($inner:ty), $parse:path, $pattern:path, $expected:literal, $example:literal) => {
        #[doc = concat!("Reads ", $expected, ".")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct $name(pub $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        $parse(text).map($name).map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$name, E> {
                        self.visit_f64(number as f64)
                    }
                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$name, E> {
                        Err(E::custom(format!("`{number}` has no unit; expected {}", $expected)))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern(), "examples": [$example] })
            }
        }
    };
}

text!(
    TimeText(Time),
    quantity::time,
    pattern::time,
    "a time such as \"20ms\"",
    "20ms"
);
text!(
    RateText(Rate),
    quantity::rate,
    pattern::rate,
    "a rate such as \"100Mbit\"",
    "100Mbit"
);
text!(
    SizeText(u64),
    quantity::size,
    pattern::size,
    "a size such as \"64kB\"",
    "64kB"
);
text!(
    QueueLimit(LimitText),
    quantity::limit,
    pattern::limit,
    "the limit of a queue such as \"64kB\", \"100p\", \"1bdp\" or \"50ms\"",
    "1bdp"
);

/// Reads how much an application writes: a rate, `"0"` or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PaceText(pub Pace);

impl<'de> Deserialize<'de> for PaceText {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<PaceText, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = PaceText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"2Mbit\", \"0\" for a pause, or \"unlimited\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PaceText, E> {
                quantity::pace(text).map(PaceText).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for PaceText {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PaceText".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "enum": ["0", "unlimited"] },
            { "type": "string", "pattern": pattern::rate(), "examples": ["2Mbit"] },
        ] })
    }
}

/// A probability: `"1%"` or `0.01`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Share;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability such as \"1%\" or 0.01")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                quantity::percentage(text).map(Share).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Share, E> {
                self.visit_f64(number as f64)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Share, E> {
                quantity::probability(number).map(Share).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "pattern": pattern::percentage() },
            { "type": "number", "minimum": 0, "maximum": 1 },
        ] })
    }
}

/// What a parameter was written as a quantity of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// A number without a unit.
    Number,
    /// `true` or `false`.
    Switch,
    /// A time, in seconds.
    Time,
    /// A size, in bytes.
    Size,
    /// A rate, in bits per second.
    Rate,
    /// Per cent, as a part of 1.
    Share,
    /// Packets.
    Packets,
}

impl Dimension {
    /// Its name; none of what has no unit.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Dimension::Number | Dimension::Switch => None,
            Dimension::Time => Some("time"),
            Dimension::Size => Some("size"),
            Dimension::Rate => Some("rate"),
            Dimension::Share => Some("share"),
            Dimension::Packets => Some("packets"),
        }
    }
}

/// A parameter of a variant, a discipline or cross traffic, in its SI unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    /// Its value.
    pub value: f64,
    /// What that is a quantity of.
    pub dimension: Dimension,
    /// As it is written.
    pub text: String,
}

impl<'de> Deserialize<'de> for Param {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Param, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Param;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, true, false or a quantity such as \"5ms\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Param, E> {
                let (value, dimension) = quantity::si(text).map_err(E::custom)?;
                Ok(Param {
                    value,
                    dimension,
                    text: format!("\"{text}\""),
                })
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Param, E> {
                Ok(Param {
                    value: f64::from(u8::from(value)),
                    dimension: Dimension::Switch,
                    text: value.to_string(),
                })
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Param, E> {
                self.visit_f64(number as f64)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Param, E> {
                if !number.is_finite() {
                    return Err(E::custom(format!("`{number}` is not a finite number")));
                }
                Ok(Param {
                    value: number,
                    dimension: Dimension::Number,
                    text: number.to_string(),
                })
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Param {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Param".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "boolean", "string"] })
    }
}

/// A value of sysctl: a number, a word, or a list of them that is joined by spaces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SysctlValue(pub String);

impl<'de> Deserialize<'de> for SysctlValue {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<SysctlValue, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = SysctlValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a text or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<SysctlValue, E> {
                Ok(SysctlValue(text.to_owned()))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<SysctlValue, E> {
                Ok(SysctlValue(u8::from(value).to_string()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<SysctlValue, E> {
                Ok(SysctlValue(number.to_string()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<SysctlValue, E> {
                Ok(SysctlValue(number.to_string()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<SysctlValue, A::Error> {
                let mut parts = Vec::new();
                while let Some(SysctlValue(part)) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(SysctlValue(parts.join(" ")))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for SysctlValue {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "SysctlValue".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "boolean", "string", "array"] })
    }
}

/// A program and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Command(pub Vec<At<String>>);

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Command, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Command;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of a program and its arguments")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Command, E> {
                // Of what a shell would take apart otherwise an example says enough.
                let plain = !text.contains(['"', '\'', '\\', '`', '$']);
                let text = Some(text).filter(|text| plain && !text.trim().is_empty());
                let words = text.unwrap_or("iperf3 -c {dst} -t {duration}");
                let words = words.split_whitespace().map(|word| format!("\"{word}\""));
                Err(E::custom(format!(
                    "a program and its arguments are a list; write [{}]",
                    words.collect::<Vec<_>>().join(", ")
                )))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Command, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Command)
            }
        }
        deserializer.deserialize_any(List)
    }
}

impl JsonSchema for Command {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Command".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Vec<At<String>>>()
    }
}

/// Something written briefly (a text or a number) or in full (a table).
#[derive(Clone, Debug)]
pub(crate) enum BriefOrFull<B, F> {
    /// The brief form.
    Brief(B),
    /// The table.
    Full(F),
}

impl<'de, B: Deserialize<'de>, F: Deserialize<'de>> Deserialize<'de> for BriefOrFull<B, F> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<B, F>(PhantomData<(B, F)>);
        impl<'de, B: Deserialize<'de>, F: Deserialize<'de>> Visitor<'de> for Either<B, F> {
            type Value = BriefOrFull<B, F>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number or a table")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                B::deserialize(de::value::StrDeserializer::new(text)).map(BriefOrFull::Brief)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                B::deserialize(de::value::I64Deserializer::new(number)).map(BriefOrFull::Brief)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                B::deserialize(de::value::F64Deserializer::new(number)).map(BriefOrFull::Brief)
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                B::deserialize(de::value::BoolDeserializer::new(value)).map(BriefOrFull::Brief)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                F::deserialize(MapAccessDeserializer::new(map)).map(BriefOrFull::Full)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<B: JsonSchema, F: JsonSchema> JsonSchema for BriefOrFull<B, F> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", B::schema_name(), F::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            generator.subschema_for::<B>(),
            generator.subschema_for::<F>(),
        ] })
    }
}

/// One value or a list of them.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(de::value::StrDeserializer::new(text))
                    .map(|one| OneOrMany(vec![one]))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                T::deserialize(de::value::I64Deserializer::new(number))
                    .map(|one| OneOrMany(vec![one]))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                T::deserialize(de::value::F64Deserializer::new(number))
                    .map(|one| OneOrMany(vec![one]))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                T::deserialize(de::value::BoolDeserializer::new(value))
                    .map(|one| OneOrMany(vec![one]))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| OneOrMany(vec![one]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrMany)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            generator.subschema_for::<T>(),
            { "type": "array", "items": generator.subschema_for::<T>() },
        ] })
    }
}
