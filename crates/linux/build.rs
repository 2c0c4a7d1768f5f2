//! Names the kernel backends by their sources.

fn main() {
    let crates = [
        "units", "packet", "trace", "testbed", "agent", "harvest", "linux",
    ];
    cclab_fingerprint::emit("CCLAB_LINUX_SOURCES", &crates);
}
