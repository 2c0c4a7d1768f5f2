//! The speed of a variant in a file beside that of the same variant built in: Reno, both called by
//! way of `CongestionOps`.
//!
//! `beside [ROUNDS]` compiles tests/variants/reno.rs and prints, of as many rounds (default 9) in
//! which the two take turns, the medians: of an acknowledgement's hooks, in nanoseconds, and of a
//! simulated run of four flows over 1 Gbit/s, in seconds; with the ratio of built in to file, by
//! which a file is as fast where it is 1.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use cclab_cc::BuildOfFile;
use cclab_cc::interface::{AckSample, CongestionOps, Tcp, ack_flags};
use cclab_cc::{Arithmetic, Config, EcnFeedback, SlowStart};
use cclab_sim::{OwnVariant, OwnVariants, Progress};
use cclab_spec::{
    Flow, Language, Limit, Link, Network, Queue, Scenario, Topology, TraceOptions, VariantFile,
};
use cclab_units::parameter::Params;
use cclab_units::{Rate, Time};

/// Acknowledgements that are timed at once.
const ACKS: u32 = 2_000_000;
/// Virtual time of a run.
const DURATION: Time = Time::from_secs(20);

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = match std::env::args().nth(1) {
        Some(rounds) => rounds.parse()?,
        None => 9_usize,
    };
    let makers = [built_in()?, of_file()?];
    let mut hooks = [Vec::new(), Vec::new()];
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (which, make) in makers.iter().enumerate() {
            hooks[which].push(acknowledgements(&mut *make(&config())) / f64::from(ACKS) * 1e9);
        }
        for (which, make) in makers.iter().enumerate() {
            runs[which].push(run(make)?);
        }
    }
    for (what, unit, times) in [
        ("hooks", "ns per acknowledgement", hooks),
        ("run", "s", runs),
    ] {
        let [built_in, file] = times.map(median);
        let ratio = built_in / file;
        println!("{what}: built in {built_in:.3} {unit}, file {file:.3} {unit}, ratio {ratio:.3}");
    }
    Ok(())
}

fn built_in() -> Result<BuildOfFile, &'static str> {
    let reno = cclab_cc::find("reno").and_then(|reno| reno.ops);
    Ok(Arc::new(reno.ok_or("Reno has no hooks")?))
}

fn of_file() -> Result<BuildOfFile, String> {
    let text = include_str!("../tests/variants/reno.rs").to_owned();
    let file = VariantFile {
        label: "own-reno".to_owned(),
        language: Language::Rust,
        file: "reno.rs".to_owned(),
        name: "own-reno".to_owned(),
        sha256: String::new(),
        texts: BTreeMap::from([("reno.rs".to_owned(), text)]),
    };
    let loaded = cclab_rust::load(&file).map_err(|wrong| wrong[0].to_string())?;
    let make = loaded.make(&BTreeMap::new());
    Ok(Arc::new(make.map_err(|wrong| wrong.to_string())?))
}

fn config() -> Config {
    Config {
        mss: 1_448,
        initial_window: 14_480,
        initial_ssthresh: u64::MAX,
        slow_start: SlowStart::Plain,
        arithmetic: Arithmetic::Segments,
        params: Params::defaults(&[]),
    }
}

/// Seconds that the hooks of [`ACKS`] acknowledgements take, with a loss every thousand.
fn acknowledgements(ops: &mut dyn CongestionOps) -> f64 {
    let mut tcp = Tcp {
        is_cwnd_limited: 1,
        ..Tcp::default()
    };
    let sample = AckSample {
        pkts_acked: 2,
        rtt_us: 40_000,
        in_flight: 10,
    };
    ops.init(&mut tcp);
    let begun = now();
    for ack in 0..ACKS {
        let tcp = black_box(&mut tcp);
        ops.pkts_acked(tcp, &sample);
        ops.in_ack_event(tcp, ack_flags::SLOWPATH);
        ops.cong_avoid(tcp, ack, 2);
        if ack % 1_000 == 0 {
            tcp.snd_ssthresh = ops.ssthresh(tcp);
            tcp.snd_cwnd = tcp.snd_ssthresh;
        }
    }
    black_box(tcp);
    begun.elapsed().as_secs_f64()
}

/// Seconds that a run takes whose flows have the variants of `make`.
fn run(make: &BuildOfFile) -> Result<f64, Box<dyn Error>> {
    let own = OwnVariants::new(vec![OwnVariant {
        label: "own-reno".to_owned(),
        params: BTreeMap::new(),
        ecn: EcnFeedback::Classic,
        make: Arc::clone(make),
    }]);
    let scenario = scenario()?;
    let begun = now();
    cclab_sim::run_with(&scenario, 1, &mut (), &Progress::default(), &own)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn scenario() -> Result<Scenario, &'static str> {
    let rate = Rate::from_bps(1_000_000_000).ok_or("no rate")?;
    let link = |rate, delay, packets| {
        let queue = Queue {
            kind: "droptail".into(),
            limit: Limit::Packets(packets),
            params: BTreeMap::new(),
        };
        Link::new(rate, delay, queue)
    };
    Ok(Scenario {
        duration: Some(DURATION),
        warmup: Time::ZERO,
        stack: "linux-6.12".into(),
        kernel: None,
        network: Network {
            by: None,
            topology: Topology::Dumbbell,
            bottleneck: link(Some(rate), Time::from_millis(10), 1_000),
            access: link(None, Time::ZERO, 1_000_000),
            bottlenecks: 1,
            router: None,
            graph: None,
        },
        flows: (0..4)
            .map(|index| Flow::bulk(format!("flow{index}"), "own-reno"))
            .collect(),
        traffic: Vec::new(),
        probes: Vec::new(),
        variant_files: Vec::new(),
        trace: TraceOptions {
            interval: Time::ZERO,
            events: Vec::new(),
            capture: Vec::new(),
            snaplen: 0,
            from: Time::ZERO,
            until: None,
        },
    })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[allow(
    clippy::disallowed_methods,
    reason = "what is measured is this program, not the run"
)]
fn now() -> Instant {
    Instant::now()
}
