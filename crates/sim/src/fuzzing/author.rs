//! Writes studies from the JSON Schema of the study file, so that every key it has is written
//! sooner or later, a new one without a word here. What the schema cannot say, which values make
//! sense together, is said here.

use std::collections::BTreeMap;

use cclab_spec::kinds::APPLICATIONS;
use cclab_spec::{Names, Parametric, TRAFFIC_KINDS};
use cclab_units::parameter::Relation;
use serde_json::{Map, Value, json};

use super::choices::{Bytes, write};
use crate::stack;

type Table = Map<String, Value>;

/// Keys that no simulation takes, and those about many runs or none.
const LEFT_OUT: [&str; 8] = [
    "backend", "repeat", "sweep", "expect", "command", "server", "title", "question",
];
/// Keys of which a loss has those of one group, beside its place.
const LOSSES: [&[&str]; 3] = [&["rate"], &["p", "r", "good", "bad"], &["packets", "flow"]];
/// Keys of a flow that only TCP has.
const OF_TCP: [&str; 11] = [
    "cc",
    "cc_params",
    "rwnd",
    "sndbuf",
    "mss",
    "write_size",
    "writes_per_second",
    "nodelay",
    "ecn",
    "delayed_ack",
    "sysctl",
];
/// Applications of flows over UDP, and over TCP.
const OVER_UDP: [&str; 3] = ["constant-rate", "on-off", "video"];
const OVER_TCP: [&str; 4] = ["bulk", "on-off", "request-response", "telnet"];
/// Nodes of graphs.
const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
/// Files beside the study of fuzzers, by the key that refers to them.
const TRACE: &str = "trace.opportunities";
const SIZES: &str = "sizes.csv";

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

/// What the description of `schema` quotes, which is what may be written.
fn quoted(schema: &Value) -> Vec<&str> {
    let description = schema["description"].as_str().unwrap_or("");
    description.split('"').skip(1).step_by(2).collect()
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
                "kind" | "name" => false,
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

    /// Parameters beside the keys of a table, and keys of which one excludes others.
    fn finish(&mut self, name: &str, table: &mut Table) {
        let text =
            |table: &Table, key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
        match name {
            "Queue" => {
                let kind = text(table, "kind").unwrap_or_else(|| "droptail".into());
                table.extend(self.params(&kind, |names| &names.qdiscs));
            }
            "Traffic" => {
                let kind = text(table, "kind").unwrap_or_default();
                table.extend(self.params(&kind, |names| &names.traffic));
            }
            "Loss" => {
                let keep = *self.bytes.one_of(&LOSSES);
                let schema = self.schema["$defs"]["Loss"]["properties"].clone();
                for group in LOSSES {
                    for key in group {
                        table.remove(*key);
                    }
                }
                table.remove("kind");
                for (place, key) in keep.iter().enumerate() {
                    if place < 2.min(keep.len()) && *key != "flow" || self.bytes.chance(80) {
                        let value = self.value_of("Loss", key, &schema[*key]);
                        table.insert((*key).to_owned(), value);
                    }
                }
            }
            "Change" if table.len() < 2 => {
                table.insert("delay".into(), self.bytes.time());
            }
            "Flow" => {
                let over_udp = text(table, "transport").is_some_and(|name| name == "udp");
                if over_udp {
                    table.retain(|key, _| !OF_TCP.contains(&key.as_str()));
                }
                if over_udp || table.contains_key("application") {
                    let kinds: &[&str] = if over_udp { &OVER_UDP } else { &OVER_TCP };
                    let kind = *self.bytes.one_of(kinds);
                    let application = self.application_of(kind);
                    table.insert("application".into(), application.into());
                }
                if table.contains_key("sndbuf") {
                    let sizes = ["4608B", "20kB", "300kB"];
                    table.insert("sndbuf".into(), json!(self.bytes.one_of(&sizes)));
                }
                let cc = text(table, "cc").unwrap_or_else(|| "cubic".into());
                if table.contains_key("cc_params") {
                    let params = self.params(&cc, |names| &names.variants);
                    table.insert("cc_params".into(), params.into());
                }
                if let Some(rate) = table.get("writes_per_second").and_then(Value::as_f64) {
                    table.insert("writes_per_second".into(), json!(rate + 1.0));
                    let size = self.bytes.size();
                    table.entry("write_size").or_insert(size);
                }
            }
            _ => {}
        }
    }

    /// Some of the parameters that `name` takes: two of which one lies below the other are turned
    /// round where they fall wrongly. The rest of what has to fit may be refused.
    fn params(&mut self, name: &str, of: fn(&Names) -> &Vec<Parametric>) -> Table {
        let Some(known) = of(&self.names)
            .iter()
            .find(|known| known.name == name)
            .cloned()
        else {
            return Table::new();
        };
        let mut drawn: BTreeMap<&str, f64> = BTreeMap::new();
        for parameter in &known.params {
            if self.bytes.chance(90) {
                drawn.insert(parameter.name, self.bytes.number_of(parameter));
            }
        }
        for relation in &known.relations {
            if let Relation::Below(low, high) | Relation::AtMost(low, high) = *relation
                && let (Some(&below), Some(&above)) = (drawn.get(low), drawn.get(high))
                && below > above
            {
                drawn.extend([(low, above), (high, below)]);
            }
        }
        let parameters = known.params.iter();
        let written = parameters.filter_map(|taken| {
            let value = drawn.get(taken.name)?;
            Some((taken.name.to_owned(), write(taken, *value)))
        });
        written.collect()
    }

    fn value_of(&mut self, table: &str, key: &str, schema: &Value) -> Value {
        let registered = |all: &[Parametric]| -> Vec<String> {
            all.iter().map(|one| one.name.clone()).collect()
        };
        let names = match (table, key) {
            (_, "cc") => cclab_cc::simulated().map(|v| v.name.to_owned()).collect(),
            ("Queue", "kind") => registered(&self.names.qdiscs),
            ("Traffic", "kind") => registered(&self.names.traffic),
            ("Flow", "mss") => return json!(format!("{}B", self.bytes.whole(88, 3_000))),
            ("Study", "stack") => self.names.stacks.iter().map(|s| s.name.clone()).collect(),
            ("Flow" | "Traffic" | "GraphLink", "from" | "to") => NODES.map(str::to_owned).to_vec(),
            ("Bottleneck" | "Reverse" | "Access" | "GraphLink", "trace") => vec![TRACE.to_owned()],
            ("Sizes", "file") => vec![SIZES.to_owned()],
            ("Loss", "flow") => vec!["f0".to_owned()],
            (_, "name") => (0..9)
                .map(|i| format!("{}{i}", table.to_lowercase()))
                .collect(),
            ("Trace", "capture") => return json!(["bottleneck"]),
            (_, "sysctl") => {
                let settings: Vec<&str> = stack::settings().collect();
                let name = *self.bytes.one_of(&settings);
                return json!({ name: self.bytes.whole(0, 1) });
            }
            ("Network", "topology") if !self.bytes.chance(170) => return json!("dumbbell"),
            _ => return self.any(table, key, schema),
        };
        json!(self.bytes.one_of(&names))
    }

    /// A whole number.
    fn integer(&mut self, key: &str, least: u64) -> Value {
        let (from, to) = match key {
            _ if self.bytes.chance(4) => (0, 65_535),
            "packet_rate" | "router_packet_rate" => (100, 20_000),
            "router_backlog" => (1, 200),
            "count" | "delayed_ack" => (u64::from(!self.bytes.chance(20)), 4),
            "bottlenecks" | "crosses" => (1, 5),
            "packets" => (1, 300),
            _ => (0, 1_000),
        };
        json!(self.bytes.whole(from.max(least), to))
    }

    /// Whatever the schema allows; null for nothing.
    fn any(&mut self, table: &str, key: &str, schema: &Value) -> Value {
        if let Some(target) = schema["$ref"].as_str() {
            let name = target.trim_start_matches("#/$defs/").to_owned();
            let target = self.schema["$defs"][&name].clone();
            return match target["properties"].is_object() {
                true => self.table(&name, &target).into(),
                false => self.any(&name, key, &target),
            };
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(all) = schema[choice].as_array() {
                let real: Vec<&Value> = all.iter().filter(|one| one["type"] != "null").collect();
                let chosen = *self.bytes.one_of(&real);
                return self.value_of(table, key, chosen);
            }
        }
        if let Some(all) = schema["enum"].as_array() {
            return self.bytes.one_of(all).clone();
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        match types.first() {
            Some(&"string") => self.text(schema),
            Some(&"integer") => {
                let least = schema["minimum"].as_f64().unwrap_or(0.0) as u64;
                self.integer(key, least)
            }
            Some(&"number") if schema["maximum"] == json!(1.0) || schema["maximum"] == json!(1) => {
                self.bytes.probability()
            }
            Some(&"number") => json!(self.bytes.whole(0, 2_000) as f64 / 10.0),
            Some(&"boolean") => json!(self.bytes.chance(128)),
            Some(&"array") => self.list(table, key, schema),
            _ => json!({}),
        }
    }

    fn list(&mut self, table: &str, key: &str, schema: &Value) -> Value {
        let length = |bound: &str, default: u64| schema[bound].as_u64().unwrap_or(default);
        let least = match (table, key) {
            ("Study", "flow") | ("Loss", "packets") => 1,
            ("Network", "link") => 3,
            _ => length("minItems", 0),
        };
        let most = match (table, key) {
            ("Study", "flow") => 4,
            ("Network", "link") => 7,
            ("Loss", "packets") => 8,
            _ => length("maxItems", 2),
        };
        let items = self.bytes.whole(least, most.max(least));
        let mut list: Vec<Value> = (0..items)
            .map(|_| self.value_of(table, key, &schema["items"]))
            .collect();
        if list.iter().all(Value::is_u64) {
            list.sort_by_key(Value::as_u64); // numbers in a list are in order
            if key != "crosses" {
                list.dedup();
            }
        }
        list.into()
    }

    fn text(&mut self, schema: &Value) -> Value {
        let pattern = schema["pattern"].as_str().unwrap_or("");
        match pattern {
            "" => {
                let quoted = quoted(schema);
                match quoted.is_empty() {
                    true => Value::Null,
                    false => json!(*self.bytes.one_of(&quoted)),
                }
            }
            _ if pattern.contains("bdp") => self.bytes.limit(),
            _ if pattern.contains("bit") => self.bytes.rate(),
            _ if pattern.contains("ms") => self.bytes.time(),
            _ if pattern.contains("kB") => self.bytes.size(),
            _ => json!(format!("{}%", self.bytes.whole(0, 10))),
        }
    }

    /// Lets most studies be ones that run: keys that their topology lacks go, names are unique,
    /// sources fit their kinds. Some keep their faults.
    fn make_sense(&mut self, study: &mut Table) {
        let mut network = match study.remove("network") {
            Some(Value::Object(network)) => network,
            _ => Table::new(),
        };
        let topology = network.get("topology").and_then(Value::as_str);
        let topology = topology.unwrap_or("dumbbell").to_owned();
        let parking_lot = topology == "parking-lot";
        let graph = topology == "graph";
        if !self.bytes.chance(2) {
            match graph {
                true => {
                    for key in ["bottleneck", "access", "bottleneck_link"] {
                        network.remove(key);
                    }
                }
                false => {
                    network.remove("link");
                    network.remove("bottleneck_link");
                }
            }
            if !parking_lot {
                network.remove("bottlenecks");
            }
            if !network.contains_key("router_packet_rate") {
                network.remove("router_backlog");
            }
        }
        if let Some(links) = network.get_mut("link").and_then(Value::as_array_mut) {
            self.join(links);
        }
        study.insert("network".into(), network.into());
        for (kind, prefix) in [("flow", "f"), ("traffic", "t")] {
            let sources = study.get_mut(kind).and_then(Value::as_array_mut);
            for (index, source) in sources.into_iter().flatten().enumerate() {
                let Some(source) = source.as_object_mut() else {
                    continue;
                };
                source.insert("name".into(), json!(format!("{prefix}{index}")));
                if !self.bytes.chance(2) {
                    self.place(source, index, parking_lot, graph);
                }
            }
        }
    }

    /// Joins the nodes of a graph in a row, and one link of it is under study.
    fn join(&mut self, links: &mut [Value]) {
        for (index, link) in links.iter_mut().enumerate() {
            let Some(link) = link.as_object_mut() else {
                continue;
            };
            if index + 1 < NODES.len() {
                link.insert("from".into(), json!(NODES[index]));
                link.insert("to".into(), json!(NODES[index + 1]));
                link.remove("one_way");
            }
            link.insert("name".into(), json!(format!("l{index}")));
            link.insert("bottleneck".into(), json!(index == 0));
            if index == 0 {
                let rate = self.bytes.rate();
                link.insert("rate".into(), rate);
            }
        }
    }

    /// Lets a flow or a source of traffic be where its network has a place for it.
    fn place(&mut self, source: &mut Table, index: usize, parking_lot: bool, graph: bool) {
        if !parking_lot {
            source.remove("crosses");
        }
        match graph {
            true => {
                source.remove("direction");
                source.insert("from".into(), json!(NODES[index % 2]));
                source.insert("to".into(), json!(NODES[2 + index % 2]));
            }
            false => {
                // A graph's keys, which no other topology has.
                source.remove("from");
                source.remove("to");
            }
        }
        if source.contains_key("rtt") {
            let rtt = self.bytes.whole(100, 600);
            source.insert("rtt".into(), json!(format!("{rtt}ms")));
        }
    }
}

/// One line of TOML.
fn line(key: &str, value: &Value) -> String {
    format!("{key} = {}\n", inline(value))
}

/// A value as TOML writes it in a line.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries: Vec<String> = table
                .iter()
                .map(|(key, value)| format!("{key:?} = {}", inline(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Number(number) if number.is_f64() => {
            format!("{:?}", number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}
