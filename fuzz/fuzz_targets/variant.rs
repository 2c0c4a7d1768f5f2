//! Any sequence of acknowledgements, losses and timeouts to any registered variant: the laws of a
//! congestion window hold.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cclab_cc::fuzzing::fuzz_variant(data));
