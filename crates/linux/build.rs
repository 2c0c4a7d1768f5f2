//! Names the kernel backends by their sources.

fn main() {
    cclab_fingerprint::emit("CCLAB_LINUX_SOURCES", &cclab_fingerprint::KERNEL_BACKENDS);
}
