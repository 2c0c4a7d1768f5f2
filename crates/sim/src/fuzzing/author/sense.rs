//! Which values make sense together.

use serde_json::{Value, json};

use super::{Author, NODES, Table};

/// Keys of which a loss has those of one group, beside its place.
const LOSSES: [&[&str]; 3] = [&["rate"], &["p", "r", "good", "bad"], &["packets", "flow"]];
/// Keys of a flow that only TCP has.
const OF_TCP: [&str; 13] = [
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
    "receiver",
    "remembered",
    "sysctl",
];
/// Phases of the variant of a flow that names none.
const PHASES: [&str; 3] = ["slow_start", "cubic", "reno_friendly"];
/// Applications of flows over UDP, and over TCP.
const OVER_UDP: [&str; 3] = ["constant-rate", "on-off", "video"];
const OVER_TCP: [&str; 6] = [
    "bulk",
    "scheduled",
    "frames",
    "on-off",
    "request-response",
    "telnet",
];

impl Author<'_> {
    /// Parameters beside the keys of a table, and keys of which one excludes others.
    pub(super) fn finish(&mut self, name: &str, table: &mut Table) {
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
            "Jitter" => {
                let wifi = text(table, "distribution").is_some_and(|name| name == "wifi");
                let (size, foreign) = if wifi {
                    ("average", "max")
                } else {
                    ("max", "average")
                };
                table.remove(foreign);
                let time = self.bytes.time();
                table.entry(size).or_insert(time);
            }
            "When" => {
                let phase = *self.bytes.one_of(&PHASES);
                let what = json!({ "flow": "f0", "column": "phase", "is": phase });
                table.extend(what.as_object().cloned().unwrap_or_default());
                if table.contains_key("nth") {
                    let nth = self.bytes.whole(1, 3);
                    table.insert("nth".into(), json!(nth));
                }
            }
            "Slots" => {
                let shortest = self.bytes.whole(0, 10);
                let longest = shortest + self.bytes.whole(0, 10);
                let every = [shortest, longest].map(|ms| json!(format!("{ms}ms")));
                table.insert("every".into(), json!(every));
            }
            "Bottleneck" | "Reverse" | "Access" | "GraphLink" if !table.contains_key("jitter") => {
                let changes = match table.get_mut("schedule") {
                    Some(Value::Array(changes)) => changes.iter_mut().collect(),
                    Some(change) => vec![change],
                    None => Vec::new(),
                };
                for change in changes.into_iter().filter_map(Value::as_object_mut) {
                    change.remove("jitter");
                    let waits = ["at", "when", "after"];
                    if change.keys().all(|key| waits.contains(&key.as_str())) {
                        change.insert("delay".into(), json!("3ms"));
                    }
                }
            }
            "Change" => {
                match table.contains_key("when") {
                    true => table.remove("at"),
                    false => table.remove("after"),
                };
                if !table.contains_key("when") && !table.contains_key("at") {
                    table.insert("at".into(), self.bytes.time());
                }
                let waits = ["at", "when", "after"];
                if table.keys().all(|key| waits.contains(&key.as_str())) {
                    table.insert("delay".into(), self.bytes.time());
                }
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
                if table.contains_key("receiver") {
                    let receiver = self.receiver();
                    table.insert("receiver".into(), receiver);
                }
                if table.contains_key("remembered") {
                    let windows = ["40kB", "300kB", "3MB"];
                    let rtts = ["2ms", "30ms", "300ms"];
                    let window = self.bytes.one_of(&windows);
                    let rtt = self.bytes.one_of(&rtts);
                    let remembered = json!({ "window": window, "rtt": rtt });
                    table.insert("remembered".into(), remembered);
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

    /// Lets most studies be ones that run: keys that their topology lacks go, names are unique,
    /// sources fit their kinds. Some keep their faults.
    pub(super) fn make_sense(&mut self, study: &mut Table) {
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
                    for key in ["link", "bottleneck_link", "routing", "reroute"] {
                        network.remove(key);
                    }
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
            let links = links.len();
            if let Some(reroutes) = network.get_mut("reroute") {
                beside_the_row(reroutes, links);
            }
        }
        let stack = text(study, "stack").unwrap_or_default();
        let of_linux = stack.is_empty() || stack.starts_with("linux");
        let network = Value::Object(network);
        let waits = network.to_string().contains("\"when\"");
        study.insert("network".into(), network);
        for (kind, prefix) in [("flow", "f"), ("traffic", "t")] {
            let sources = study.get_mut(kind).and_then(Value::as_array_mut);
            for (index, source) in sources.into_iter().flatten().enumerate() {
                let Some(source) = source.as_object_mut() else {
                    continue;
                };
                source.insert("name".into(), json!(format!("{prefix}{index}")));
                let resumes = of_linux && resumes(source);
                if source.contains_key("remembered") && !resumes && !self.bytes.chance(8) {
                    source.remove("remembered");
                }
                if waits && index == 0 && !self.bytes.chance(20) {
                    source.remove("cc");
                    source.remove("cc_params");
                }
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
    pub(super) fn place(
        &mut self,
        source: &mut Table,
        index: usize,
        parking_lot: bool,
        graph: bool,
    ) {
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

/// Lets changes of routes leave the row of nodes joined: they leave out links beside it alone.
fn beside_the_row(reroutes: &mut Value, links: usize) {
    let reroutes = match reroutes {
        Value::Array(reroutes) => reroutes.iter_mut().collect(),
        reroute => vec![reroute],
    };
    let beside: Vec<Value> = (NODES.len() - 1..links)
        .map(|index| json!(format!("l{index}")))
        .collect();
    for reroute in reroutes.into_iter().filter_map(Value::as_object_mut) {
        if let Some(Value::Array(without)) = reroute.get_mut("without") {
            without.retain(|link| beside.contains(link));
        }
    }
}

/// Whether the variant of a flow can resume on Linux's stack.
fn resumes(flow: &Table) -> bool {
    let cc = text(flow, "cc").unwrap_or_else(|| "cubic".into());
    let variant = cclab_cc::find(&cc);
    variant.is_some_and(|variant| variant.resumes(cclab_cc::Arithmetic::Segments))
}

/// The text at `key` of `table`, if there is one.
fn text(table: &Table, key: &str) -> Option<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned)
}
