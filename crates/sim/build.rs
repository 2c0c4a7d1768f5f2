//! Names the simulator by its sources.

fn main() {
    let crates = [
        "units", "packet", "cc", "tcp", "qdisc", "trace", "layout", "net", "sim",
    ];
    cclab_fingerprint::emit("CCLAB_SIM_SOURCES", &crates);
}
