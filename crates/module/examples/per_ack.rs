//! What an acknowledgement costs in the kernel's modules and in the Rust ports of them, in one run:
//!
//!     cargo run --release -p cclab-module --example per_ack -- FOLDER
//!
//! FOLDER has the files of `net/ipv4` of Linux 6.12. Each is called as the stack calls it at an
//! acknowledgement of two segments, with a loss every 2,000 of them; what the loop costs that calls
//! nothing is taken off. The fastest of many turns counts, which module and port take one after the other.

#![allow(
    clippy::disallowed_methods,
    reason = "it measures the time that passes"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use cclab_cc::{Arithmetic, Config, SlowStart, VARIANTS, Variant};
use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, RateSample, Tcp, ack_flags};
use cclab_module::{Compiled, Sources, cache};
use cclab_units::parameter::Params;

/// Acknowledgements of a turn.
const ACKS: u32 = 40_000;
const TURNS: usize = 100;
/// Acknowledgements from one loss to the next.
const EPISODE: u32 = 2_000;
const MSS: u32 = 1_448;
/// Of the path.
const RTT: u64 = 40_000;

/// Nanoseconds for an acknowledgement with `ops`; `None`: of the loop.
fn turn(mut ops: Option<Box<dyn CongestionOps>>) -> f64 {
    let mut tcp = Tcp {
        is_cwnd_limited: 1,
        srtt_us: 8 * RTT as u32,
        rtt_min_us: RTT as u32,
        saw_tstamp: 1,
        ecn_flags: 1,
        snd_cwnd_clamp: 500,
        ..Tcp::default()
    };
    if let Some(ops) = &mut ops {
        ops.init(&mut tcp);
    }
    let mut ms = 5_000;
    let began = Instant::now();
    for ack in 1..=ACKS {
        ms += u64::from(ack % 2);
        let sample = news(&mut tcp, ms, ack);
        if let Some(ops) = &mut ops {
            call(&mut **ops, &mut tcp, &sample, ack);
        }
        black_box((&sample, &tcp));
    }
    began.elapsed().as_nanos() as f64 / f64::from(ACKS)
}

/// What the stack knows at an acknowledgement.
fn news(tcp: &mut Tcp, ms: u64, ack: u32) -> (AckSample, RateSample) {
    tcp.tcp_mstamp = ms * 1_000;
    tcp.tcp_clock_cache = ms * 1_000_000;
    tcp.tcp_wstamp_ns = tcp.tcp_clock_cache;
    tcp.delivered_mstamp = tcp.tcp_mstamp;
    tcp.jiffies = ms;
    tcp.packets_out = tcp.snd_cwnd;
    tcp.delivered = tcp.delivered.wrapping_add(2);
    tcp.snd_una = tcp.snd_una.wrapping_add(2 * MSS);
    tcp.snd_nxt = tcp.snd_una.wrapping_add(tcp.packets_out * MSS);
    tcp.rcv_tsval = ms as u32;
    tcp.rcv_tsecr = (ms - 40) as u32;
    let rtt = RTT + u64::from(ack % 16) * 100;
    let sample = AckSample {
        pkts_acked: 2,
        rtt_us: rtt as i32,
        in_flight: tcp.packets_out,
    };
    let rate = RateSample {
        prior_mstamp: tcp.tcp_mstamp - rtt,
        prior_delivered: tcp.delivered.wrapping_sub(tcp.packets_out),
        delivered: tcp.packets_out as i32,
        interval_us: rtt as i64,
        rtt_us: rtt as i64,
        acked_sacked: 2,
        prior_in_flight: tcp.packets_out,
        ..RateSample::default()
    };
    (sample, rate)
}

fn call(
    ops: &mut dyn CongestionOps,
    tcp: &mut Tcp,
    (sample, rate): &(AckSample, RateSample),
    ack: u32,
) {
    ops.pkts_acked(tcp, sample);
    ops.in_ack_event(tcp, ack_flags::WIN_UPDATE);
    if ack.is_multiple_of(EPISODE) {
        tcp.prior_ssthresh = tcp.current_ssthresh();
        tcp.prior_cwnd = tcp.snd_cwnd;
        tcp.snd_ssthresh = ops.ssthresh(tcp);
        set_state(ops, tcp, CaState::Recovery);
        if !ops.has_cong_control() {
            tcp.snd_cwnd = tcp.snd_ssthresh;
        }
        ops.cwnd_event(tcp, CaEvent::CompleteCwr);
        set_state(ops, tcp, CaState::Open);
    }
    let una = tcp.snd_una;
    if ops.has_cong_control() {
        ops.cong_control(tcp, una, 0, rate);
    } else {
        ops.cong_avoid(tcp, una, 2);
    }
}

fn set_state(ops: &mut dyn CongestionOps, tcp: &mut Tcp, new: CaState) {
    ops.set_state(tcp, new);
    tcp.ca_state = new as u8;
}

fn config(variant: &Variant) -> Config {
    Config {
        mss: MSS.into(),
        initial_window: 10 * u64::from(MSS),
        initial_ssthresh: u64::MAX,
        slow_start: SlowStart::LinuxHyStart,
        arithmetic: Arithmetic::Segments,
        params: Params::defaults(variant.params),
    }
}

/// The files of `folder` that are modules, with their texts.
fn texts(folder: &Path) -> std::io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("tcp_") && (name.ends_with(".c") || name.ends_with(".h")) {
            texts.insert(name.clone(), std::fs::read_to_string(folder.join(name))?);
        }
    }
    Ok(texts)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: per_ack FOLDER")?;
    let texts = texts(Path::new(&folder))?;
    println!(
        "{:<12} {:>10} {:>8} {:>13}",
        "variant", "module/ns", "port/ns", "port/module"
    );
    for variant in VARIANTS {
        let file = format!("tcp_{}.c", variant.name);
        let Some(build) = variant.ops.filter(|_| texts.contains_key(&file)) else {
            continue;
        };
        let headers = texts
            .iter()
            .filter(|(name, _)| **name == file || name.ends_with(".h"));
        let texts = headers.map(|(a, b)| (a.clone(), b.clone())).collect();
        let sources = Sources {
            file: &file,
            texts: &texts,
        };
        let loaded = Compiled::of(&sources, &cache())?.load(&BTreeMap::new())?;
        let mut least = [f64::INFINITY; 3];
        for _ in 0..TURNS {
            let ways: [Option<Box<dyn CongestionOps>>; 3] = [
                None,
                Some(Box::new(loaded.module())),
                Some(build(&config(variant))),
            ];
            for (least, ops) in least.iter_mut().zip(ways) {
                *least = least.min(turn(ops));
            }
        }
        let [nothing, module, port] = least;
        let (module, port) = (module - nothing, port - nothing);
        let ratio = port / module;
        println!(
            "{:<12} {module:>10.1} {port:>8.1} {ratio:>13.2}",
            variant.name
        );
    }
    Ok(())
}
