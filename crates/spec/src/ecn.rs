//! How the two ends of a flow tell each other of marks.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Visitor};
use serde::{Serialize, Serializer};

/// What study files call accurate feedback.
const ACCURATE: &str = "accecn";

/// The feedback of marks that an end of a flow asks for, or agrees to at most. It is written `false`,
/// `true` or `"accecn"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ecn {
    /// None: packets are lost, not marked.
    #[default]
    Off,
    /// Echoes of marks (RFC 3168).
    Classic,
    /// Counts of marks (RFC 9768).
    Accurate,
}

impl Ecn {
    /// Whether packets of the flow may be marked.
    pub fn is_on(self) -> bool {
        self != Ecn::Off
    }
}

impl Serialize for Ecn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Ecn::Off => serializer.serialize_bool(false),
            Ecn::Classic => serializer.serialize_bool(true),
            Ecn::Accurate => serializer.serialize_str(ACCURATE),
        }
    }
}

impl<'de> Deserialize<'de> for Ecn {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Ecn, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Ecn;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"accecn\"")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Ecn, E> {
                Ok(if on { Ecn::Classic } else { Ecn::Off })
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ecn, E> {
                match text {
                    ACCURATE => Ok(Ecn::Accurate),
                    other => Err(E::custom(format!(
                        "unknown feedback of marks `{other}`; expected true (echoes, RFC 3168), false, \
                         or \"accecn\" (counts, RFC 9768)"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for Ecn {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Ecn".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "const": ACCURATE }] })
    }
}
