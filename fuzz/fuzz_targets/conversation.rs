//! Any bytes as a conversation of TCP: analysed by the book.

#![no_main]

use cclab_analyze::fuzzing::fuzz_conversation;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz_conversation(data));
