//! Many flows on many links, without a trace: how fast they go, what memory they take, and what
//! would cross between the parts of a network that is cut up.
//!
//! `scale fat-tree|random FLOWS LINKS RATE_BPS DELAY_US QUEUE_PACKETS DURATION_S [idle|study]` prints
//! one line of JSON; with `study` a study file of the same instead. Links are alike. Flows go
//! between two hosts drawn at random and start within 0.1 s; idle ones open and send one byte. A
//! fat tree has the ports whose number of links is nearest to LINKS in the ratio; its hosts are
//! one a port at the edge. In a random graph each node has four links, and is a host.

mod cut;
mod network;
mod resources;

use std::process::ExitCode;

use cclab_layout::Layout;
use cclab_sim::Progress;
use cclab_spec::{
    Flow, Graph, GraphLink, Limit, Link, Network, Queue, Routing, Scenario, Start, Topology,
    TraceOptions,
};
use cclab_units::{Rate, Stream, Time};
use serde_json::json;

use network::Wiring;

const USAGE: &str = "usage: scale fat-tree|random FLOWS LINKS RATE_BPS DELAY_US QUEUE_PACKETS \
                     DURATION_S [idle|study]";
/// Of the network, the pairs of hosts, and the run.
const SEED: u64 = 1;
const SPREAD: Time = Time::from_millis(100);
/// Into so many parts networks are cut.
const PARTS: [usize; 3] = [2, 4, 8];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(load) = Load::of(&args) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if load.kind == Kind::Study {
        print!("{}", load.study());
        return ExitCode::SUCCESS;
    }
    match load.measure() {
        Ok(measured) => {
            println!("{measured}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::from(3)
        }
    }
}

/// What the flows do, or that a study of it is to be printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Busy,
    Idle,
    Study,
}

/// What is run.
struct Load {
    wiring: Wiring,
    /// The hosts that each flow goes from and to.
    pairs: Vec<[usize; 2]>,
    rate: Rate,
    delay: Time,
    queue: u64,
    duration: Time,
    kind: Kind,
}

impl Load {
    fn of(args: &[String]) -> Option<Load> {
        let [
            topology,
            flows,
            links,
            rate,
            delay,
            queue,
            duration,
            rest @ ..,
        ] = args
        else {
            return None;
        };
        let links: usize = links.parse().ok().filter(|&links| links >= 16)?;
        let mut dice = Stream::new(SEED, "scale");
        let wiring = match topology.as_str() {
            "fat-tree" => network::fat_tree(network::ports(links)),
            "random" => network::random(links / 2, &mut dice),
            _ => return None,
        };
        let flows: usize = flows.parse().ok()?;
        let hosts = wiring.hosts.len();
        let mut below = |bound: usize| (dice.uniform() * bound as f64) as usize;
        let pairs = (0..flows).map(|_| {
            let from = below(hosts);
            [from, (from + 1 + below(hosts - 1)) % hosts]
        });
        Some(Load {
            pairs: pairs.collect(),
            wiring,
            rate: Rate::from_bps(rate.parse().ok()?)?,
            delay: Time::from_micros(delay.parse().ok()?),
            queue: queue.parse().ok()?,
            duration: Time::from_secs_f64(duration.parse().ok()?),
            kind: match rest {
                [] => Kind::Busy,
                [kind] if kind == "idle" => Kind::Idle,
                [kind] if kind == "study" => Kind::Study,
                _ => return None,
            },
        })
    }

    fn measure(&self) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
        let began = resources::cpu_seconds()?;
        let mut scenario = self.scenario();
        let built = resources::cpu_seconds()?;
        drop(Layout::of(&scenario));
        let laid = resources::cpu_seconds()?;
        // A run that ends at once is its set-up.
        scenario.duration = Some(Time::from_nanos(1));
        cclab_sim::run(&scenario, SEED, &mut (), &Progress::default())?;
        let set_up = resources::cpu_seconds()?;
        scenario.duration = Some(self.duration);
        let summary = cclab_sim::run(&scenario, SEED, &mut (), &Progress::default())?;
        let over = resources::cpu_seconds()?;
        let flows = || summary.flows.iter();
        let delivered = flows().map(|flow| flow.bytes_received / u64::from(flow.mss));
        let crossings: u64 = summary.links.iter().map(|link| link.delivered).sum();
        let cuts = PARTS.map(|parts| cut::measured(&self.wiring, parts, &summary));
        let waits = resources::synchronisation()?;
        Ok(json!({
            "data_packets": delivered.sum::<u64>(),
            "data_packets_sent": flows().map(|flow| flow.segments_sent).sum::<u64>(),
            "retransmits": flows().map(|flow| flow.retransmits).sum::<u64>(),
            "events": summary.events,
            "crossings": crossings,
            "flows": summary.flows.len(),
            "silent_flows": flows().filter(|flow| flow.bytes_received == 0).count(),
            "hosts": self.wiring.hosts.len(),
            "links": self.wiring.links.len(),
            "busy": self.busy(&summary),
            "cpu_s": {
                "scenario": built - began,
                "layout": laid - built,
                "set_up": set_up - laid,
                "run": over - set_up,
            },
            "peak_bytes": resources::peak_bytes()?,
            "packet_bytes": size_of::<cclab_packet::Packet>(),
            "duration_s": self.duration.as_secs_f64(),
            "cuts": cuts,
            "synchronisation_s": waits,
        }))
    }

    /// How much of the time links transmitted in the mean, both ways.
    fn busy(&self, summary: &cclab_trace::schema::RunSummary) -> f64 {
        let directions = 2 * self.wiring.links.len();
        let bytes: u64 = summary.links.iter().map(|link| link.tx_bytes).sum();
        let most = self.rate.bps() as f64 / 8.0 * self.duration.as_secs_f64();
        bytes as f64 / most / directions as f64
    }

    fn scenario(&self) -> Scenario {
        let queue = Queue {
            kind: "droptail".into(),
            limit: Limit::Packets(self.queue),
            params: Default::default(),
        };
        let link = Link::new(Some(self.rate), self.delay, queue);
        let links = self.wiring.links.iter().map(|[from, to]| GraphLink {
            name: format!("{from}-{to}"),
            from: from.clone(),
            to: to.clone(),
            one_way: false,
            link: link.clone(),
        });
        let graph = Graph {
            links: links.collect(),
            bottleneck: 0,
            routing: Routing::Ecmp,
            reroutes: Vec::new(),
        };
        Scenario {
            duration: Some(self.duration),
            warmup: Time::ZERO,
            stack: "linux-6.12".into(),
            kernel: None,
            network: Network {
                by: None,
                topology: Topology::Graph,
                bottleneck: link.clone(),
                access: link,
                bottlenecks: 1,
                router: None,
                graph: Some(graph),
            },
            flows: self.flows(),
            traffic: vec![],
            probes: vec![],
            variant_files: Vec::new(),
            trace: TraceOptions {
                interval: Time::ZERO,
                events: vec![],
                capture: vec![],
                snaplen: 96,
                from: Time::ZERO,
                until: None,
            },
        }
    }

    fn flows(&self) -> Vec<Flow> {
        let idle = self.kind == Kind::Idle;
        let flow = |(index, &[from, to]): (usize, &[usize; 2])| {
            Flow::bulk(format!("flow{index}"), "cubic").with(|flow| {
                flow.start = Start {
                    at: Time::ZERO,
                    spread: SPREAD,
                };
                flow.write_size = idle.then_some(1);
                flow.writes_per_second = idle.then_some(1e-6);
                flow.from = Some(self.wiring.hosts[from].clone());
                flow.to = Some(self.wiring.hosts[to].clone());
            })
        };
        self.pairs.iter().enumerate().map(flow).collect()
    }

    /// The study of the same, every flow in a table of its own.
    fn study(&self) -> String {
        let mut text = format!(
            "duration = \"{}ns\"\ntrace = {{ interval = \"{}ns\" }}\n\n[network]\n\
             topology = \"graph\"\nrouting = \"ecmp\"\n",
            self.duration.as_nanos(),
            self.duration.as_nanos(),
        );
        for (index, [from, to]) in self.wiring.links.iter().enumerate() {
            text += &format!(
                "\n[[network.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{}bit\"\n\
                 delay = \"{}ns\"\nqueue = {{ limit = \"{}p\" }}\n{}",
                self.rate.bps(),
                self.delay.as_nanos(),
                self.queue,
                if index == 0 {
                    "bottleneck = true\n"
                } else {
                    ""
                },
            );
        }
        for [from, to] in &self.pairs {
            text += &format!(
                "\n[[flow]]\nfrom = \"{}\"\nto = \"{}\"\nstart = {{ at = \"0s\", spread = \"{}ns\" }}\n",
                self.wiring.hosts[*from],
                self.wiring.hosts[*to],
                SPREAD.as_nanos(),
            );
        }
        text
    }
}
