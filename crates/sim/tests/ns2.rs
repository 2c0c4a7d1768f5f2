//! The profile `ns2` against what ns-2 itself printed (`tests/oracles/ns2`).
//! The table by `cargo test -p cclab-sim --test ns2 -- --nocapture`.

mod common;

use cclab_spec::Limit;
use cclab_trace::schema::RunSummary;
use cclab_units::Time;

use common::{dumbbell, flow, link};

const PRINTED: &str = include_str!("../../../tests/oracles/ns2/expected.jsonl");

struct Row {
    variant: String,
    window: u64,
    queue: u64,
    ack_every: u64,
    seconds: u64,
    delivered: u64,
    retransmissions: u64,
    timeouts: u64,
    drops: u64,
}

fn rows() -> Vec<Row> {
    let parse = |line| {
        let row: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        let number = |key: &str| row[key].as_u64().expect(key);
        Row {
            variant: row["variant"].as_str().expect("variant").to_string(),
            window: number("window_packets"),
            queue: number("queue_packets"),
            ack_every: number("ack_every"),
            seconds: number("duration_s"),
            delivered: number("packets_delivered"),
            retransmissions: number("retransmissions"),
            timeouts: number("timeouts"),
            drops: number("drops"),
        }
    };
    PRINTED.lines().map(parse).collect()
}

fn simulate(row: &Row) -> RunSummary {
    let flow = flow("f", &row.variant).with(|flow| {
        flow.rwnd = Some(row.window * 1_000);
        flow.delayed_ack = Some(row.ack_every as u32);
    });
    let bottleneck = link(
        Some(10_000_000),
        Time::from_millis(20),
        Limit::Packets(row.queue),
    );
    let mut scenario = dumbbell("ns2", bottleneck, vec![flow], Time::from_secs(row.seconds));
    scenario.network.access = link(
        Some(100_000_000),
        Time::from_millis(2),
        Limit::Packets(1_000_000),
    );
    common::run(&scenario, 1)
}

#[test]
fn printed_goodputs_are_matched() {
    println!(
        "variant  window  queue  ACK every  packets: ns-2   here   off by  resent: ns-2  here  \
         timeouts: ns-2  here  drops: ns-2  here"
    );
    let rows = rows();
    assert_eq!(rows.len(), 16);
    for row in rows {
        let run = simulate(&row);
        let flow = &run.flows[0];
        let delivered = flow.bytes_received / 1_000;
        let off = delivered as f64 / row.delivered as f64 - 1.0;
        let drops = run.links[0].queue_drops;
        println!(
            "{:<8} {:>6} {:>6} {:>10} {:>14} {:>6} {:>7.2}% {:>13} {:>5} {:>15} {:>5} {:>12} {:>5}",
            row.variant,
            row.window,
            row.queue,
            row.ack_every,
            row.delivered,
            delivered,
            off * 100.0,
            row.retransmissions,
            flow.retransmits,
            row.timeouts,
            flow.rtos,
            row.drops,
            drops,
        );
        // What is left comes from one loss more or less, which moves all that follow.
        let tolerance = if row.drops == 0 { 0.0005 } else { 0.01 };
        let name = &row.variant;
        assert!(off.abs() < tolerance, "{name}: {delivered} packets");
        assert!(drops.abs_diff(row.drops) <= 3, "{name}: {drops} drops");
        assert!(flow.rtos.abs_diff(row.timeouts) <= 1, "{name}: timeouts");
    }
}
