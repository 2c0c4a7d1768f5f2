//! Any bytes as a pcap file: read to its end, every byte at most once.

#![no_main]

use cclab_trace::captured::{Format, fuzzing::fuzz_file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_file(data, Format::Pcap));
