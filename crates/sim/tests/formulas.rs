//! Rates that formulas know: a window per round trip, a full link, and loss by Mathis et al.
//! Tables by `cargo test -p cclab-sim --test formulas -- --nocapture`.

mod common;

use cclab_spec::{Limit, Place, Scenario};
use cclab_units::Time;

use common::{STACKS, dumbbell, flow, link, loss, steady_goodput};

fn off_by(measured: f64, expected: f64) -> f64 {
    measured / expected - 1.0
}

/// A flow limited by the receiver's window sends that window once per round trip.
#[test]
fn a_window_limited_flow_gets_a_window_per_round_trip() {
    println!("stack       segments  RTT [ms]  ACK every  goodput [Mbit/s]  off by");
    for (stack, payload, size) in STACKS {
        for (segments, rtt_ms) in [(4, 10), (20, 10), (20, 80), (40, 40), (100, 200), (120, 20)] {
            if stack == "ns3-3.1x" && segments == 120 {
                continue; // 120 segments are less than 65,535 bytes there too, its window's end
            }
            for delayed_ack in [1, 2] {
                let flow = flow("f", "reno").with(|flow| {
                    // Half a segment more than the window, which scaling may round down.
                    flow.rwnd = Some(segments * payload + payload / 2);
                    flow.delayed_ack = Some(delayed_ack);
                });
                let delay = Time::from_micros(rtt_ms * 500);
                let bottleneck = link(Some(1_000_000_000), delay, Limit::Packets(10_000));
                let mut scenario = dumbbell(stack, bottleneck, vec![flow], Time::from_secs(30));
                scenario.warmup = Time::from_secs(10);
                let measured = steady_goodput(&scenario, 1)[0];
                // Serialisation of the data segment; that of the ACK is 1 µs at most.
                let rtt = rtt_ms as f64 / 1e3 + size as f64 * 8.0 / 1e9;
                let expected = (segments * payload) as f64 * 8.0 / rtt;
                let off = off_by(measured, expected);
                println!(
                    "{stack:<10} {segments:>9} {rtt_ms:>9} {delayed_ack:>10} {:>17.3} {:>6.2}%",
                    measured / 1e6,
                    off * 100.0
                );
                // Linux may wait a millisecond for the next acknowledgement before it sends less
                // than a burst (`tcp_tso_should_defer`); the kernel itself gets 21.2 Mbit/s of
                // the 23.2 that 20 segments per 10 ms are.
                let wait = if stack == "linux-6.12" { 1e-3 } else { 0.0 };
                let slowest = rtt / (rtt + wait) - 0.01;
                let fits = (slowest..1.01).contains(&(measured / expected));
                assert!(fits, "{stack}, {segments} per {rtt_ms} ms");
            }
        }
    }
}

/// What a bottleneck of `bps` with two bandwidth-delay products of queue carries of one flow,
/// as a part of what framing and headers leave.
fn share_of_full_link(stack: usize, cc: &str, bps: u64, bdp: u64) -> f64 {
    let (stack, payload, size) = STACKS[stack];
    let rtt = bdp as f64 * 8.0 / bps as f64;
    let flow = flow("f", cc).with(|flow| flow.rwnd = Some(8 * bdp.max(100_000)));
    let delay = Time::from_secs_f64(rtt / 2.0);
    let bottleneck = link(Some(bps), delay, Limit::Bytes(2 * bdp));
    // Long enough that a window of data that waits for a hole at the end hardly counts.
    let packets = 60_000;
    let seconds = 20.0 + (packets * size * 8) as f64 / bps as f64;
    let mut scenario = dumbbell(stack, bottleneck, vec![flow], Time::from_secs_f64(seconds));
    scenario.warmup = Time::from_secs(20);
    let carried = bps as f64 * payload as f64 / size as f64;
    off_by(steady_goodput(&scenario, 1)[0], carried)
}

#[test]
fn a_full_bottleneck_carries_its_rate_less_the_headers() {
    println!("stack       variant     rate [Mbit/s]  BDP [kB]   off by");
    for (index, (stack, ..)) in STACKS.iter().enumerate() {
        for cc in ["reno", "newreno", "sack", "cubic"] {
            for (bps, bdp) in [
                (2_000_000, 25_000),
                (10_000_000, 25_000),
                (10_000_000, 60_000),
                (100_000_000, 25_000),
                (100_000_000, 250_000),
            ] {
                if *stack == "ns3-3.1x" && bdp > 25_000 {
                    continue; // a window of 65,535 bytes cannot fill it
                }
                if cc == "reno" && bdp > 100_000 {
                    continue; // two losses in a window cost Reno a timeout, longer than the queue
                }
                let off = share_of_full_link(index, cc, bps, bdp);
                println!(
                    "{stack:<10}  {cc:<10} {:>14} {:>9} {:>7.3}%",
                    bps / 1_000_000,
                    bdp / 1_000,
                    off * 100.0
                );
                assert!(off.abs() < 0.005, "{stack}, {cc}, {bps}, {bdp}: {off}");
            }
        }
    }
}

/// A flow alone with independent losses of probability `p`.
fn lossy(stack: &str, cc: &str, delayed_ack: u32, p: f64) -> Scenario {
    let rtt = Time::from_millis(100);
    let flow = flow("f", cc).with(|flow| {
        flow.rwnd = Some(1 << 24);
        flow.delayed_ack = Some(delayed_ack);
    });
    // Fast enough never to lose in the queue; losses enough for a mean.
    let bottleneck = link(Some(1_000_000_000), rtt / 2, Limit::Packets(1_000));
    let cycles = 600.0;
    let seconds = (cycles * 0.1 / (1.1 * p.sqrt())).max(60.0);
    let mut scenario = dumbbell(stack, bottleneck, vec![flow], Time::from_secs_f64(seconds));
    scenario.network.bottleneck.loss = vec![loss(Place::Router, p)];
    scenario.warmup = Time::from_secs(20);
    scenario
}

/// `C` of rate = C x MSS / (RTT x sqrt(p)), measured.
fn mathis_constant(stack: usize, cc: &str, delayed_ack: u32, p: f64) -> f64 {
    let (stack, payload, _) = STACKS[stack];
    let goodput = steady_goodput(&lossy(stack, cc, delayed_ack, p), 1)[0];
    goodput / 8.0 * 0.1 * p.sqrt() / payload as f64
}

/// Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance
/// Algorithm" (CCR 27(3), 1997), table 1: with losses at random, C = 1.31 for an ACK per
/// segment and 0.93 for an ACK per two (sqrt(3/2) = 1.22 and sqrt(3/4) = 0.87 with losses at
/// regular distances). Their model repairs any loss within a round trip without a timeout: the
/// forms of recovery that do so come near it, reno falls below as losses grow frequent, and
/// windows of a few segments are rounded down. A
/// window that counts acknowledged bytes (RFC 3465) grows alike whatever the ACKs cover.
#[test]
fn throughput_under_random_loss_follows_the_square_root() {
    const LINUX: usize = 0;
    const RFC: usize = 1;
    const NS2: usize = 2;
    // Stack, variant, segments per ACK, C for random losses.
    let rows = [
        (RFC, "sack", 1, 1.31),
        (RFC, "newreno", 1, 1.31),
        (RFC, "reno", 1, 1.31),
        (RFC, "sack", 2, 1.31), // counts bytes
        (RFC, "reno", 2, 1.31),
        (LINUX, "reno", 1, 1.31), // RACK and proportional rate reduction
        (LINUX, "reno", 2, 1.31),
        (NS2, "sack", 1, 1.31),
        (NS2, "sack", 2, 0.93), // counts acknowledgements
    ];
    println!("stack  variant   ACK every  expected C  measured at p =");
    let losses = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02];
    println!("{:>41} {losses:?}", "");
    for (stack, cc, delayed_ack, expected) in rows {
        let measured = losses.map(|p| mathis_constant(stack, cc, delayed_ack, p));
        let cells: Vec<String> = measured.iter().map(|c| format!("{c:.3}")).collect();
        println!(
            "{:<6} {cc:<9} {delayed_ack:>9} {expected:>11} {:>10} {}",
            STACKS[stack].0,
            "",
            cells.join("  ")
        );
        for (c, p) in measured.into_iter().zip(losses) {
            let off = off_by(c, expected);
            let least = if p <= 0.002 { -0.2 } else { -0.5 };
            assert!(
                off > least && off < 0.1,
                "{} {cc} {delayed_ack}, p = {p}: C = {c}",
                STACKS[stack].0
            );
        }
    }
}

/// The scoreboard knows what was lost: no more and no less is sent again, timeouts included.
#[test]
fn with_sack_each_loss_costs_one_retransmission() {
    println!("stack       variant        p   losses  retransmissions  timeouts");
    for (stack, cc) in [("linux-6.12", "cubic"), ("rfc", "cubic"), ("rfc", "sack")] {
        for p in [0.02, 0.05, 0.1] {
            let mut scenario = lossy(stack, cc, 2, p);
            scenario.duration = Some(Time::from_secs(300));
            let run = common::run(&scenario, 1);
            let (flow, lost) = (&run.flows[0], run.links[0].random_drops);
            println!(
                "{stack:<10}  {cc:<8} {p:>7} {lost:>8} {:>16} {:>9}",
                flow.retransmits, flow.rtos
            );
            // Losses that the end of the run leaves unrepaired, probes of a tail that was not
            // lost, and an undo or two.
            let apart = flow.retransmits.abs_diff(lost);
            assert!(apart <= 5 + lost / 100, "{stack}, {cc}, {p}: {apart}");
        }
    }
}

/// The order in which the forms of recovery were invented is the order of their rates.
#[test]
fn a_later_form_of_recovery_is_faster_under_loss() {
    for stack in ["rfc", "ns2"] {
        for p in [0.01, 0.03] {
            let rate = |cc| {
                let mut scenario = lossy(stack, cc, 1, p);
                scenario.duration = Some(Time::from_secs(600));
                steady_goodput(&scenario, 1)[0]
            };
            let rates = ["reno", "newreno", "sack"].map(rate);
            println!("{stack:<6} p = {p}: {rates:.0?} bit/s for reno, newreno, sack");
            assert!(rates.is_sorted(), "{stack}, p = {p}: {rates:?}");
        }
    }
}
