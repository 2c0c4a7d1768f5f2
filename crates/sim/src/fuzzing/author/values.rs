//! Values, as their schema describes them and the registries name them.

use std::collections::BTreeMap;

use cclab_spec::{Names, Parametric};
use cclab_units::parameter::Relation;
use serde_json::{Value, json};

use super::{Author, NODES, Table};
use crate::fuzzing::choices::write;
use crate::stack;

/// Files beside the study of fuzzers, by the key that refers to them.
const TRACE: &str = "trace.opportunities";
const SIZES: &str = "sizes.csv";

impl Author<'_> {
    /// Some of the parameters that `name` takes: two of which one lies below the other are turned
    /// round where they fall wrongly. The rest of what has to fit may be refused.
    pub(super) fn params(&mut self, name: &str, of: fn(&Names) -> &Vec<Parametric>) -> Table {
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

    pub(super) fn value_of(&mut self, table: &str, key: &str, schema: &Value) -> Value {
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
            ("Reroute", "without") => {
                let number = self.bytes.whole(0, 2);
                let links = (0..number).map(|_| format!("l{}", self.bytes.whole(3, 5)));
                return json!(links.collect::<Vec<String>>());
            }
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
}

/// What the description of `schema` quotes, which is what may be written.
fn quoted(schema: &Value) -> Vec<&str> {
    let description = schema["description"].as_str().unwrap_or("");
    description.split('"').skip(1).step_by(2).collect()
}
