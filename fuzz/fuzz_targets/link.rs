//! Any bytes as a frame of any link layer: a TCP segment, something else, or a fault.

#![no_main]

use cclab_trace::captured::fuzzing::fuzz_frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_frame(data));
