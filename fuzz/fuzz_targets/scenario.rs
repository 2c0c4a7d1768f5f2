//! Any study that the study file can express: refused at a place, or run by the book.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cclab_sim::fuzzing::fuzz_scenario(data));
