//! Any segments, in any order and at any time, to a connection: no panic, and its laws hold.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cclab_tcp::fuzzing::fuzz_connection(data));
