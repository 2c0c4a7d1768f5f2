//! Names the agent by the sources of all that a run on a kernel goes through.

fn main() {
    cclab_fingerprint::emit("CCLAB_LINUX_SOURCES", &cclab_fingerprint::KERNEL_BACKENDS);
}
