//! Writes studies from the JSON Schema of the study file, so that every key it has is written
//! sooner or later, a new one without a word here. What the schema cannot say, which values make
//! sense together, is said in `sense`.

mod lines;
mod sense;
mod values;

use cclab_spec::kinds::{APPLICATIONS, RECEIVERS};
use cclab_spec::{Names, Parametric, TRAFFIC_KINDS};
use serde_json::{Map, Value, json};

use self::lines::{inline, line};
use super::choices::Bytes;

type Table = Map<String, Value>;

/// Nodes of graphs.
const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
/// Keys that no simulation takes, and those about many runs or none.
const LEFT_OUT: [&str; 9] = [
    "backend", "repeat", "sweep", "expect", "command", "server", "title", "question", "twin_of",
];

/// The keys of the bottleneck that disturb it: all but those that make it a link.
pub fn link_keys() -> Vec<String> {
    let schema = schema();
    let keys = schema["$defs"]["Bottleneck"]["properties"].as_object();
    let keys = keys.expect("a bottleneck has keys").keys();
    keys.filter(|key| !["rate", "delay", "queue"].contains(&key.as_str()))
        .cloned()
        .collect()
}

/// Every topology.
///
/// # Panics
/// If the schema has none.
pub fn topologies() -> Vec<String> {
    let schema = schema();
    let choices = schema["$defs"]["Topology"]["oneOf"].as_array();
    let choices = choices.expect("topologies are a choice").iter();
    choices
        .filter_map(|choice| choice["const"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Every application of a flow.
pub fn applications() -> Vec<String> {
    APPLICATIONS
        .iter()
        .map(|kind| kind.name.to_owned())
        .collect()
}

/// The disciplines of the simulator, without the parameters that only kernels take.
fn simulated_qdiscs() -> Vec<Parametric> {
    cclab_qdisc::simulated()
        .map(|d| Parametric::new(d.name, d.params, d.relations))
        .collect()
}

fn schema() -> Value {
    serde_json::from_str(&cclab_spec::schema()).expect("a schema is JSON")
}

/// An author of studies, who chooses as bytes say.
pub struct Author<'a> {
    bytes: Bytes<'a>,
    schema: Value,
    names: Names,
}

impl<'a> Author<'a> {
    /// An author who chooses as `data` says.
    pub fn new(data: &'a [u8]) -> Author<'a> {
        Author {
            bytes: Bytes(data),
            schema: schema(),
            names: Names {
                qdiscs: simulated_qdiscs(),
                ..Names::default()
            },
        }
    }

    /// A study as TOML.
    pub fn study(mut self) -> String {
        let schema = self.schema.clone();
        let mut study = self.table("Study", &schema);
        let duration = self.bytes.whole(100, 2_000);
        study.insert("duration".into(), json!(format!("{duration}ms")));
        if study.contains_key("warmup") {
            let warmup = self.bytes.whole(0, duration);
            study.insert("warmup".into(), json!(format!("{warmup}ms")));
        }
        self.make_sense(&mut study);
        let lines = study.iter().map(|(key, value)| line(key, value));
        lines.collect()
    }

    /// A value of `key` in the table called `table` by the schema, as TOML.
    ///
    /// # Panics
    /// If the schema has no such key.
    pub fn value(&mut self, table: &str, key: &str) -> String {
        let schema = self.schema["$defs"][table]["properties"][key].clone();
        assert!(!schema.is_null(), "the schema has no {table}.{key}");
        inline(&self.value_of(table, key, &schema))
    }

    /// A queue of the discipline `kind`, with any parameters, as TOML.
    pub fn queue(&mut self, kind: &str) -> String {
        let mut queue = self.params(kind, |names| &names.qdiscs);
        queue.insert("kind".into(), json!(kind));
        queue.insert("limit".into(), self.bytes.limit());
        inline(&queue.into())
    }

    /// Any parameters of the variant `cc`, as TOML.
    pub fn cc_params(&mut self, cc: &str) -> String {
        inline(&self.params(cc, |names| &names.variants).into())
    }

    /// A source of cross traffic of the kind `kind`, as lines of TOML.
    ///
    /// # Panics
    /// If there is no such kind.
    pub fn traffic(&mut self, kind: &str) -> String {
        let all = TRAFFIC_KINDS.iter().find(|known| known.name == kind);
        let known = all.expect("a registered kind");
        let mut source = self.params(kind, |names| &names.traffic);
        let schema = self.schema["$defs"]["Traffic"]["properties"].clone();
        for (key, schema) in schema.as_object().into_iter().flatten() {
            let taken = match key.as_str() {
                "kind" | "name" | "twin_of" => false,
                "cc" | "cc_params" => known.tcp,
                "transfer" | "sizes" => known.sized,
                _ => true,
            };
            if taken && self.wants("Traffic", key) {
                let value = self.value_of("Traffic", key, schema);
                source.insert(key.clone(), value);
            }
        }
        self.place(&mut source, 0, false, false);
        source.insert("kind".into(), json!(kind));
        source.iter().map(|(key, value)| line(key, value)).collect()
    }

    /// The application `kind` with any of its parameters, as TOML.
    pub fn application(&mut self, kind: &str) -> String {
        inline(&self.application_of(kind).into())
    }

    /// Those that it has no default of are there.
    fn application_of(&mut self, kind: &str) -> Table {
        let schema = self.schema["$defs"]["Application"]["properties"].clone();
        let known = APPLICATIONS.iter().find(|known| known.name == kind);
        let mut application = Table::new();
        for key in known.map_or(&[][..], |known| known.keys) {
            if key.default.is_none() || self.bytes.chance(150) {
                let value = self.value_of("Application", key.name, &schema[key.name]);
                application.insert(key.name.to_owned(), value);
            }
        }
        application.insert("kind".into(), json!(kind));
        application
    }

    /// A receiver of any behaviour, with any of its numbers.
    fn receiver(&mut self) -> Value {
        let kind = &RECEIVERS[self.bytes.whole(0, RECEIVERS.len() as u64 - 1) as usize];
        let mut receiver = Table::new();
        receiver.insert("kind".into(), json!(kind.name));
        for key in kind.keys {
            if self.bytes.chance(128) {
                receiver.insert(key.name.to_owned(), json!(self.bytes.whole(2, 30)));
            }
        }
        receiver.into()
    }

    fn table(&mut self, name: &str, schema: &Value) -> Table {
        let empty = Table::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut table = Table::new();
        for (key, schema) in properties {
            let wanted = required.contains(&json!(key)) || self.wants(name, key);
            if !wanted || LEFT_OUT.contains(&key.as_str()) {
                continue;
            }
            let value = self.value_of(name, key, schema);
            if !value.is_null() {
                table.insert(key.clone(), value);
            }
        }
        self.finish(name, &mut table);
        table
    }

    /// Whether to write a key that may be left out.
    fn wants(&mut self, table: &str, key: &str) -> bool {
        match (table, key) {
            ("Study", "flow") | ("Bottleneck" | "GraphLink", "rate") => true,
            ("Study", "traffic") => self.bytes.chance(100),
            ("Network", "bottleneck" | "link") => true,
            (_, "delay_at" | "delay_limit") => self.bytes.chance(2),
            ("Network", _) | ("Traffic" | "Sizes" | "Queue", _) => self.bytes.chance(128),
            ("Flow" | "Trace", _) => self.bytes.chance(40),
            (_, "outage") => self.bytes.chance(20),
            _ => self.bytes.chance(60),
        }
    }
}
