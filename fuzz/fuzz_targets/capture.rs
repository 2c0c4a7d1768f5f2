//! Any bytes as a packet capture: refused, or analysed by the book; never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cclab_analyze::fuzzing::fuzz_capture(data));
