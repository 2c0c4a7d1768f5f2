//! As `tcp`, to a connection whose window Linux's stack keeps.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cclab_tcp::fuzzing::fuzz_linux_stack(data));
