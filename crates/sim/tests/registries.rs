//! The laws, for everything that the registries and the study file's schema have: each variant,
//! each discipline, each impairment, each kind of cross traffic, application and topology. What is
//! new there is under the laws without a line here.

mod common;

use std::collections::BTreeSet;

use cclab_sim::fuzzing::{Author, applications, audit, first_run, link_keys, topologies};
use cclab_spec::{Scenario, TRAFFIC_KINDS};
use cclab_trace::schema::{DropReason, QueueAction};
use cclab_trace::{Event, Probe};
use cclab_units::{Stream, Time};

use common::capture_everywhere;
use common::log::Log;

/// How many sets of parameters each thing is tried with.
const SETS: u64 = 3;
const SEED: u64 = 7;

/// What a study is made of, as TOML.
#[derive(Clone, Debug)]
struct Parts {
    /// What is tried.
    name: String,
    cc: String,
    cc_params: String,
    /// More keys of the flow.
    flow: String,
    topology: String,
    queue: String,
    /// Keys of the bottleneck.
    link: Vec<(String, String)>,
    /// More tables.
    more: String,
}

impl Parts {
    fn plain(name: &str) -> Parts {
        Parts {
            name: name.to_owned(),
            cc: "cubic".to_owned(),
            cc_params: "{}".to_owned(),
            flow: String::new(),
            topology: "dumbbell".to_owned(),
            queue: "{ limit = \"30p\" }".to_owned(),
            link: Vec::new(),
            more: String::new(),
        }
    }

    /// The network, whose bottleneck has the queue and the keys.
    fn network(&self) -> String {
        let keys = self.link.iter();
        let keys: String = keys
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect();
        let queue = &self.queue;
        match self.topology.as_str() {
            // There over two links, and back a shorter way.
            "graph" => format!(
                r#"
            [network]
            topology = "graph"
            [[network.link]]
            name = "under-study"
            bottleneck = true
            from = "a"
            to = "r"
            rate = "4Mbit"
            delay = "9ms"
            queue = {queue}
            {keys}
            [[network.link]]
            name = "last"
            from = "r"
            to = "b"
            delay = "1ms"
            [[network.link]]
            name = "shortcut"
            from = "b"
            to = "a"
            one_way = true
            rate = "20Mbit"
            delay = "2ms"
            queue = {{ limit = "100p" }}
            "#
            ),
            topology => format!(
                r#"
            [network]
            topology = "{topology}"
            [network.access]
            delay = "1ms"
            [network.bottleneck]
            rate = "4Mbit"
            delay = "9ms"
            queue = {queue}
            {keys}
            "#
            ),
        }
    }

    /// The scenario, or why it is refused.
    fn scenario(&self) -> Result<Scenario, String> {
        let Parts {
            cc,
            cc_params,
            flow,
            more,
            ..
        } = self;
        let network = self.network();
        let (there, back) = match self.topology.as_str() {
            "graph" => ("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\""),
            _ => ("", "direction = \"reverse\""),
        };
        let of_tcp = match flow.contains(OVER_UDP) {
            true => String::new(),
            false => format!("cc = \"{cc}\"\ncc_params = {cc_params}\necn = true"),
        };
        let text = format!(
            r#"
            duration = "900ms"
            {network}
            [[flow]]
            name = "f0"
            {of_tcp}
            start = {{ at = "10ms", spread = "30ms" }}
            {there}
            {flow}
            [[flow]]
            name = "back"
            {back}
            transfer = "30kB"
            start = "20ms"
            {more}
            "#
        );
        let (mut scenario, _) = first_run(&text).map_err(|why| format!("{why}\n{text}"))?;
        if let Some(refused) = cclab_sim::unsupported(&scenario).first() {
            return Err(format!("{}: {}\n{text}", refused.path, refused.what));
        }
        capture_everywhere(&mut scenario);
        scenario.trace.interval = Time::from_millis(50);
        Ok(scenario)
    }
}

/// What a flow over UDP has beside its application.
const OVER_UDP: &str = "transport = \"udp\"\n";

/// Whether the application `kind` is one of flows over UDP alone.
fn over_udp(kind: &str) -> bool {
    matches!(kind, "constant-rate" | "video")
}

fn bytes(seed: u64, name: &str) -> Vec<u8> {
    let mut dice = Stream::new(seed, name);
    (0..60).flat_map(|_| dice.bits().to_le_bytes()).collect()
}

/// Everything there is, each with its own parameters drawn by `seed`.
fn everything(seed: u64) -> Vec<(Parts, Scenario)> {
    let drawn = |name: &str, make: &dyn Fn(&mut Author<'_>) -> Parts| {
        // A draw may not make sense, such as an outage after the end: then the next.
        let tries = (0..50).map(|attempt| {
            let data = bytes(seed * 1_000 + attempt, name);
            let parts = make(&mut Author::new(&data));
            parts.scenario().map(|scenario| (parts, scenario))
        });
        let mut refusal = String::new();
        for tried in tries {
            match tried {
                Ok(found) => return found,
                Err(why) => refusal = why,
            }
        }
        panic!("nothing was accepted for {name}: {refusal}");
    };
    let variants = cclab_cc::simulated().map(|variant| {
        drawn(variant.name, &|author| Parts {
            cc: variant.name.to_owned(),
            cc_params: author.cc_params(variant.name),
            ..Parts::plain(variant.name)
        })
    });
    let disciplines = cclab_qdisc::simulated().map(|discipline| {
        drawn(discipline.name, &|author| Parts {
            queue: author.queue(discipline.name),
            ..Parts::plain(discipline.name)
        })
    });
    let impairments = link_keys();
    let impairments = impairments.iter().map(|key| {
        drawn(key, &|author| Parts {
            link: vec![(key.clone(), author.value("Bottleneck", key))],
            ..Parts::plain(key)
        })
    });
    let traffic = TRAFFIC_KINDS.iter().map(|kind| {
        drawn(kind.name, &|author| Parts {
            more: format!(
                "[[traffic]]\nname = \"cross\"\n{}",
                author.traffic(kind.name)
            ),
            ..Parts::plain(kind.name)
        })
    });
    let applications = applications();
    let applications = applications.iter().map(|kind| {
        drawn(kind, &|author| Parts {
            flow: format!(
                "{}application = {}",
                if over_udp(kind) { OVER_UDP } else { "" },
                author.application(kind)
            ),
            ..Parts::plain(kind)
        })
    });
    let topologies = topologies();
    let topologies = topologies.iter().map(|topology| {
        let ends = match topology.as_str() {
            "graph" => "from = \"a\"\nto = \"b\"\n",
            _ => "",
        };
        let mice =
            "[[traffic]]\nname = \"mice\"\nkind = \"poisson\"\nload = 0.3\ntransfer = \"5kB\"\n";
        drawn(topology, &|author| Parts {
            topology: topology.clone(),
            queue: author.queue("fq_codel"),
            more: format!("{mice}{ends}"),
            ..Parts::plain(topology)
        })
    });
    let links = variants.chain(disciplines).chain(impairments);
    links
        .chain(traffic)
        .chain(applications)
        .chain(topologies)
        .collect()
}

#[test]
fn everything_conserves_packets() {
    let mut carried = BTreeSet::new();
    for seed in 0..SETS {
        for (parts, scenario) in everything(seed) {
            let summary = audit(&scenario, SEED);
            let summary = summary.unwrap_or_else(|broken| panic!("{broken}\n{parts:?}"));
            let sources = summary.traffic.into_iter().filter(|source| source.sent > 0);
            carried.extend(sources.map(|source| source.kind));
        }
    }
    let kinds = TRAFFIC_KINDS.iter().map(|kind| kind.name.to_owned());
    assert_eq!(carried, kinds.collect(), "kinds of traffic that sent");
}

#[test]
fn everything_is_a_function_of_its_seed() {
    for (parts, scenario) in everything(SETS) {
        let mut first = Log::empty(&scenario);
        let summary = common::run_with(&scenario, SEED, &mut first);
        let mut second = Log::empty(&scenario);
        let again = common::run_with(&scenario, SEED, &mut second);
        assert_eq!(summary, again, "{parts:?}");
        let differ = first
            .events
            .iter()
            .zip(&second.events)
            .find(|(a, b)| a != b);
        assert!(differ.is_none(), "{parts:?}: {differ:?}");
        assert_eq!(first.events.len(), second.events.len(), "{parts:?}");
    }
}

/// Additions that draw random numbers for every packet, or would, and change nothing.
fn additions() -> Vec<(&'static str, &'static str, &'static str)> {
    let never = "1e-300";
    vec![
        ("loss", "1e-300", ""),
        (
            "loss",
            "{ p = 0.5, r = 0.5, good = 1e-300, bad = 1e-300 }",
            "",
        ),
        ("loss", "{ rate = 1e-300, at = \"sender\" }", ""),
        ("loss", "{ packets = [60000] }", ""),
        ("duplicate", never, ""),
        ("corrupt", never, ""),
        ("reorder", "{ probability = 1e-300, delay = \"5ms\" }", ""),
        ("jitter", "{ max = \"1ns\" }", ""),
        ("slots", "{ every = [\"0s\", \"1ns\"], packets = 3 }", ""),
        (
            "outage",
            "{ start = \"899999999ns\", duration = \"1ns\" }",
            "",
        ),
        ("schedule", "{ at = \"899999999ns\", loss = 1e-300 }", ""),
        ("reverse", "{ loss = 1e-300, duplicate = 1e-300 }", ""),
        (
            "",
            "",
            "[[flow]]\nname = \"never\"\ncc = \"bbr\"\nstart = \"2s\"\n",
        ),
        (
            "",
            "",
            "[[traffic]]\nname = \"never\"\nkind = \"random\"\nrate = \"1Mbit\"\nstart = \"2s\"\n",
        ),
    ]
}

/// Each element draws from a stream of its own: one that is added, and whose dice never strike,
/// leaves every event of the others as it was.
#[test]
fn what_is_added_does_not_move_the_dice_of_anything() {
    let mut compared = 0;
    for (parts, scenario) in everything(SETS + 1) {
        let before = sorted(Log::of(&scenario, SEED));
        for (key, value, more) in additions() {
            if parts.link.iter().any(|(has, _)| has == key) {
                continue;
            }
            let mut added = parts.clone();
            if !key.is_empty() {
                added.link.push((key.to_owned(), value.to_owned()));
            }
            added.more.push_str(more);
            // Such as a schedule beside a trace.
            let Ok(with) = added.scenario() else {
                continue;
            };
            let after = sorted(Log::of(&with, SEED));
            let differ = before.iter().zip(&after).find(|(a, b)| a != b);
            assert!(
                differ.is_none(),
                "{} with {key} {value}{more}: {differ:#?}",
                parts.name
            );
            assert_eq!(before.len(), after.len(), "{} with {key}", parts.name);
            compared += 1;
        }
    }
    let things =
        cclab_cc::simulated().count() + cclab_qdisc::simulated().count() + TRAFFIC_KINDS.len();
    assert!(compared >= things * additions().len(), "{compared}");
}

/// What happened at each instant, in whichever order within it.
fn sorted(log: Log) -> Vec<(Time, String)> {
    let mut events: Vec<_> = log
        .events
        .into_iter()
        .filter(|(_, text)| !text.starts_with("never: "))
        .collect();
    events.sort();
    events
}

/// What became of each packet that came to the bottleneck, in their order: `true` for a loss by
/// chance.
#[derive(Default)]
struct Fates(Vec<bool>);

impl Probe for Fates {
    fn wants_queue(&self, _: Time) -> bool {
        true
    }
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, _: Time, event: Event<'_>) {
        match event {
            Event::Drop(drop) if drop.link == 0 => match drop.reason {
                DropReason::Random | DropReason::Burst => self.0.push(true),
                DropReason::Queue => self.0.push(false),
                _ => {}
            },
            Event::Queue(queue) if queue.link == 0 && queue.action == QueueAction::Enqueue => {
                self.0.push(false);
            }
            _ => {}
        }
    }
}

/// Whose packets they are does not matter to a lossy link: the n-th is lost or it is not. And a
/// flow starts when its own dice say.
#[test]
fn another_flow_moves_neither_the_pattern_of_losses_nor_a_start() {
    for loss in ["0.05", "{ p = 0.05, r = 0.4, good = 0.01 }"] {
        for seed in 0..5 {
            let mut parts = Parts::plain(loss);
            parts.queue = "{ limit = \"5000p\" }".to_owned();
            parts.link = vec![("loss".to_owned(), loss.to_owned())];
            let alone = parts.scenario().expect("a good study");
            parts.more = "[[flow]]\nname = \"more\"\ncc = \"reno\"\nstart = \"5ms\"\n".to_owned();
            let together = parts.scenario().expect("a good study");
            let (mut few, mut many) = (Fates::default(), Fates::default());
            let first = common::run_with(&alone, seed, &mut few);
            let second = common::run_with(&together, seed, &mut many);
            let both = few.0.len().min(many.0.len());
            assert_eq!(few.0[..both], many.0[..both], "{loss}, seed {seed}");
            let lost = few.0[..both].iter().filter(|lost| **lost).count();
            assert!(both > 60 && lost > 0, "{lost} of {both} packets were lost");
            assert_eq!(first.flows[0].started, second.flows[0].started, "{seed}");
        }
    }
}
