//! Any bytes as IP packets, whole and in fragments: put together or counted, in bounded memory.

#![no_main]

use cclab_trace::captured::fuzzing::fuzz_packets;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_packets(data));
