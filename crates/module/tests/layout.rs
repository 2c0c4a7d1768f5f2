//! The connection is the same memory in Rust and in the C of modules.

mod common;

use std::mem::offset_of;
use std::process::Command;

use cclab_interface::{AckSample, RateSample, Tcp};
use cclab_module::Compiled;

macro_rules! pairs {
    ($rust:ty, $c:literal: $($field:ident $path:literal),* $(,)?) => {
        vec![
            (format!("sizeof({})", $c), size_of::<$rust>()),
            $((format!("offsetof({}, {})", $c, $path), offset_of!($rust, $field)),)*
        ]
    };
}

fn expected() -> Vec<(String, usize)> {
    let mut all = pairs!(Tcp, "struct tcp_sock":
        pacing_rate "inet_conn.sk.sk_pacing_rate",
        max_pacing_rate "inet_conn.sk.sk_max_pacing_rate",
        pacing_status "inet_conn.sk.sk_pacing_status",
        gso_max_size "inet_conn.sk.sk_gso_max_size",
        pacing_shift "inet_conn.sk.sk_pacing_shift",
        state "inet_conn.sk.sk_state",
        sock_end "inet_conn.sk.cclab_sock_end",
        ca_state "inet_conn.icsk_ca_state",
        ack_pending "inet_conn.icsk_ack.pending",
        before_rto "inet_conn.cclab_before_rto",
        rto "inet_conn.icsk_rto",
        ca_ops "inet_conn.icsk_ca_ops",
        ca_priv "inet_conn.cclab_private",
        tcp_mstamp "tcp_mstamp",
        tcp_clock_cache "tcp_clock_cache",
        tcp_wstamp_ns "tcp_wstamp_ns",
        delivered_mstamp "delivered_mstamp",
        first_tx_mstamp "first_tx_mstamp",
        jiffies "cclab_ticks",
        snd_cwnd "snd_cwnd",
        snd_cwnd_cnt "snd_cwnd_cnt",
        snd_cwnd_clamp "snd_cwnd_clamp",
        snd_cwnd_stamp "snd_cwnd_stamp",
        snd_ssthresh "snd_ssthresh",
        prior_cwnd "prior_cwnd",
        prior_ssthresh "prior_ssthresh",
        packets_out "packets_out",
        sacked_out "sacked_out",
        lost_out "lost_out",
        retrans_out "retrans_out",
        max_packets_out "max_packets_out",
        is_cwnd_limited "is_cwnd_limited",
        delivered "delivered",
        delivered_ce "delivered_ce",
        lost "lost",
        app_limited "app_limited",
        srtt_us "srtt_us",
        mdev_us "mdev_us",
        rtt_min_time "rtt_min.s[0].t",
        rtt_min_us "rtt_min.s[0].v",
        rtt_min_others "rtt_min.s[1]",
        lsndtime "lsndtime",
        mss_cache "mss_cache",
        snd_una "snd_una",
        snd_nxt "snd_nxt",
        high_seq "high_seq",
        undo_marker "undo_marker",
        prr_delivered "prr_delivered",
        prr_out "prr_out",
        rcv_nxt "rcv_nxt",
        ecn_flags "ecn_flags",
        rcv_tsval "rx_opt.rcv_tsval",
        rcv_tsecr "rx_opt.rcv_tsecr",
        saw_tstamp "rx_opt.saw_tstamp",
        dice "cclab_dice",
    );
    all.extend(pairs!(AckSample, "struct ack_sample":
        pkts_acked "pkts_acked",
        rtt_us "rtt_us",
        in_flight "in_flight",
    ));
    all.extend(pairs!(RateSample, "struct rate_sample":
        prior_mstamp "prior_mstamp",
        prior_delivered "prior_delivered",
        prior_delivered_ce "prior_delivered_ce",
        delivered "delivered",
        delivered_ce "delivered_ce",
        interval_us "interval_us",
        snd_interval_us "snd_interval_us",
        rcv_interval_us "rcv_interval_us",
        rtt_us "rtt_us",
        losses "losses",
        acked_sacked "acked_sacked",
        prior_in_flight "prior_in_flight",
        last_end_seq "last_end_seq",
        is_app_limited "is_app_limited",
        is_retrans "is_retrans",
        is_ack_delayed "is_ack_delayed",
    ));
    all
}

/// A program against the headers of modules prints where the compiler put each field.
#[test]
fn every_field_is_where_rust_has_it() {
    let expected = expected();
    // The headers are where the first compiled module put them.
    let _: Compiled = common::own(&common::reno_but("", "")).expect("it compiles");
    let ours = std::fs::read_dir(common::cache_folder()).expect("the cache");
    let includes = ours
        .filter_map(|entry| Some(entry.ok()?.path().join("include")))
        .filter(|include| include.join("net/tcp.h").is_file());
    let newest = includes.max_by_key(|include| {
        let facts = std::fs::metadata(include).and_then(|facts| facts.modified());
        facts.expect("a time")
    });
    let folder = tempfile::tempdir().expect("a folder");
    let lines: String = expected
        .iter()
        .map(|(what, _)| format!("printf(\"%zu\\n\", (size_t){what});\n"))
        .collect();
    let text = format!(
        "#include <net/tcp.h>\nint printf(const char *format, ...);\n\
         int main(void)\n{{\n{lines}return 0;\n}}\n"
    );
    std::fs::write(folder.path().join("offsets.c"), text).expect("a file");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    // Thread-local and other variables of the headers are declared, not used.
    let done = Command::new(compiler)
        .args([
            "-std=gnu11",
            "-O1",
            "-nostdinc",
            "-o",
            "offsets",
            "offsets.c",
            "-isystem",
        ])
        .arg(newest.expect("headers"))
        .current_dir(folder.path())
        .status();
    assert!(done.expect("a compiler").success());
    let printed = Command::new(folder.path().join("offsets")).output();
    let printed = String::from_utf8(printed.expect("it runs").stdout).expect("text");
    let found: Vec<usize> = printed
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(found.len(), expected.len());
    for ((what, rust), c) in expected.iter().zip(found) {
        assert_eq!(*rust, c, "{what}");
    }
}
