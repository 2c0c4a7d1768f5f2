//! The dumbbell that other simulators are measured on, without a trace: access 1 Gbit/s 1 ms,
//! bottleneck 20 ms one way, a queue limited in packets, an ACK per ACK_EVERY packets, starts
//! spread over 0.1 s.
//!
//! `dumbbell FLOWS RATE_BPS DURATION_S QUEUE_PACKETS CC STACK ACK_EVERY [QDISC [idle]]` prints
//! one line of JSON. The queue is droptail unless QDISC says otherwise; idle flows open and send
//! one byte.

use std::process::ExitCode;

use cclab_sim::Progress;
use cclab_spec::{Flow, Limit, Link, Network, Queue, Scenario, Start, Topology, TraceOptions};
use cclab_units::{Rate, Time};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(scenario) = scenario(&args) else {
        eprintln!(
            "usage: dumbbell FLOWS RATE_BPS DURATION_S QUEUE_PACKETS CC STACK ACK_EVERY \
             [QDISC [idle]]"
        );
        return ExitCode::from(2);
    };
    match cclab_sim::run(&scenario, 1, &mut (), &Progress::default()) {
        Ok(summary) => {
            let delivered: u64 = summary
                .flows
                .iter()
                .map(|flow| flow.bytes_received / u64::from(flow.mss))
                .sum();
            let sent: u64 = summary.flows.iter().map(|flow| flow.segments_sent).sum();
            let retransmits: u64 = summary.flows.iter().map(|flow| flow.retransmits).sum();
            println!(
                "{{\"data_packets\": {delivered}, \"data_packets_sent\": {sent}, \
                 \"retransmits\": {retransmits}, \"events\": {}}}",
                summary.events
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("dumbbell: {error}");
            ExitCode::from(3)
        }
    }
}

fn scenario(args: &[String]) -> Option<Scenario> {
    let [
        flows,
        rate,
        duration,
        packets,
        cc,
        stack,
        ack_every,
        rest @ ..,
    ] = args
    else {
        return None;
    };
    let (qdisc, idle) = match rest {
        [] => ("droptail", false),
        [qdisc] => (qdisc.as_str(), false),
        [qdisc, idle] if idle == "idle" => (qdisc.as_str(), true),
        _ => return None,
    };
    let flows: usize = flows.parse().ok()?;
    let ack_every = ack_every.parse().ok()?;
    let link = |rate, delay, kind: &str, packets| {
        let queue = Queue {
            kind: kind.into(),
            limit: Limit::Packets(packets),
            params: Default::default(),
        };
        Link::new(Some(rate), delay, queue)
    };
    let bottleneck = Rate::from_bps(rate.parse().ok()?)?;
    let packets = packets.parse().ok()?;
    let access = Rate::from_bps(1_000_000_000.max(bottleneck.bps()))?;
    let like = flow(cc, ack_every, idle);
    Some(Scenario {
        duration: Some(Time::from_secs(duration.parse().ok()?)),
        warmup: Time::ZERO,
        stack: stack.clone(),
        kernel: None,
        network: Network {
            by: None,
            topology: Topology::Dumbbell,
            bottleneck: link(bottleneck, Time::from_millis(20), qdisc, packets),
            access: link(access, Time::from_millis(1), "droptail", 1_000_000),
            bottlenecks: 1,
            router: None,
            graph: None,
        },
        flows: (0..flows)
            .map(|index| like.named(format!("flow{index}")))
            .collect(),
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
    })
}

/// A flow that sends as much as it may or, idle, opens and then has nothing to send but a byte.
fn flow(cc: &str, ack_every: u32, idle: bool) -> Flow {
    Flow::bulk("flow", cc).with(|flow| {
        flow.start = Start {
            at: Time::ZERO,
            spread: Time::from_millis(100),
        };
        flow.write_size = idle.then_some(1);
        flow.writes_per_second = idle.then_some(1e-6);
        flow.delayed_ack = Some(ack_every);
    })
}
