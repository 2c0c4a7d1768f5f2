//! Megabytes of memory that a guest has; the host gives only what is touched.

/// For the kernel, and for programs.
pub const OWN_MB: u64 = 448;

/// For the buffers of a flow at their default limits, with the kernel's overhead.
pub const FLOW_MB: u64 = 32;

/// For what a capture has not written yet.
pub const CAPTURE_MB: u64 = 320;

/// A guest has no more, however much it is asked to do.
pub const MOST_MB: u64 = 8192;
