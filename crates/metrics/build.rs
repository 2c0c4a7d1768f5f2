//! Names the metrics by their sources.

fn main() {
    // What reads a trace and what describes paths decide the numbers as well.
    let crates = ["units", "spec", "trace", "tcp", "layout", "metrics"];
    cclab_fingerprint::emit("CCLAB_METRICS_SOURCES", &crates);
}
