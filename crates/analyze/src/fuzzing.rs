//! The entrance of fuzzers: whatever the bytes, a capture is refused or analysed, never a panic.

use std::io::Cursor;
use std::num::NonZeroUsize;
use std::path::Path;

use cclab_trace::captured::CaptureFile;

use crate::{Analysis, Options, analyze_file};

/// Analyses `data` as a capture file and checks what holds of every analysis.
pub fn fuzz_capture(data: &[u8]) {
    let Ok(file) = CaptureFile::from_reader(Cursor::new(data.to_vec()), Path::new("fuzz")) else {
        return;
    };
    // Few connections, so that some are given up.
    let options = Options {
        max_connections: NonZeroUsize::new(4).expect("not zero"),
    };
    check(&analyze_file(file, options));
}

fn check(analysis: &Analysis) {
    let all = |count: fn(&crate::Direction) -> u64| -> u64 {
        analysis.connections.iter().map(count).sum()
    };
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
    }
}
