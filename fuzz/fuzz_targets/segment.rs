//! Any bytes as a TCP header with options.

#![no_main]

use cclab_trace::captured::fuzzing::fuzz_segment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_segment(data));
