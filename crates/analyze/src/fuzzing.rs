//! The entrance of fuzzers: whatever the bytes, a capture is refused or analysed, never a panic.

use std::io::Cursor;
use std::num::NonZeroUsize;
use std::path::Path;

use cclab_trace::captured::CaptureFile;
use cclab_units::Time;

use crate::{Analysis, Options, analyze_file};

/// Analyses `data` as a capture file and checks what holds of every analysis.
pub fn fuzz_capture(data: &[u8]) {
    let Ok(file) = CaptureFile::from_reader(Cursor::new(data.to_vec()), Path::new("fuzz")) else {
        return;
    };
    // Few connections, so that some are given up.
    let options = Options {
        max_connections: NonZeroUsize::new(4).expect("not zero"),
        interval: Some((Time::from_secs(1), Time::from_secs(5))),
    };
    check(&analyze_file(file, options, &mut ()));
}

fn check(analysis: &Analysis) {
    let all = |count: fn(&crate::Direction) -> u64| -> u64 {
        analysis.connections.iter().map(count).sum()
    };
    let together = &analysis.together;
    let intervals = [&together.whole, &together.overlap, &together.congested];
    for interval in intervals.into_iter().flatten() {
        assert!(interval.from_s < interval.to_s);
        let least = 1.0 / together.flows as f64;
        let fair = interval
            .jain
            .is_none_or(|jain| (least - 1e-9..=1.0 + 1e-9).contains(&jain));
        assert!(fair, "{:?}", interval.jain);
    }
    assert!(analysis.tcp_packets <= analysis.packets);
    assert!(all(|row| row.packets) <= analysis.tcp_packets);
    for row in &analysis.connections {
        assert!(row.data_packets + row.pure_acks <= row.packets);
        assert!(row.unique_bytes + row.retransmitted_bytes <= row.total_bytes);
        assert!(row.retransmitted_packets <= row.data_packets);
        assert!(row.timer_retransmits <= row.retransmitted_packets);
        assert!(row.rtt_min_s <= row.rtt_mean_s && row.rtt_mean_s <= row.rtt_max_s);
        assert!(row.window_min_bytes <= row.window_max_bytes);
        assert!(row.elapsed_s >= 0.0);
        assert!(row.spurious_retransmits <= row.retransmitted_packets);
        assert!(row.interval_bytes <= row.unique_bytes);
        assert!(row.dsacks <= row.sacks && row.sacks <= row.sack_blocks);
        let shares = [row.limited_cwnd, row.limited_rwnd, row.limited_application];
        if let [Some(cwnd), Some(rwnd), Some(application)] = shares {
            assert!((cwnd + rwnd + application - 1.0).abs() < 1e-6);
        }
        assert_eq!(row.limited_by.is_some(), row.limited_because.is_some());
    }
}
