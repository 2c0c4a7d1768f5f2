//! Any bytes as a study file: an error with a place in the file, or a plan; never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cclab_spec::fuzzing::fuzz_study(data));
