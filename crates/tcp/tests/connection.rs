//! Connections under random operations: the fuzz target's laws, from seeds that stay.

use cclab_tcp::fuzzing::{fuzz_connection, fuzz_linux_stack};
use cclab_units::Stream;

const SEEDS: u64 = 2_000;

fn operations(seed: u64, len: usize) -> Vec<u8> {
    let mut dice = Stream::new(seed, "operations");
    (0..len).map(|_| dice.bits() as u8).collect()
}

#[test]
fn random_operations_break_no_law() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        fuzz_connection(&operations(seed, 200 + 4 * (seed % 600) as usize));
    }
}

/// Without forgery (the two operations that forge are replaced by deliveries), so that the law
/// of completion applies.
#[test]
fn honest_connections_complete() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        fuzz_connection(&honest_operations(seed));
    }
}

fn honest_operations(seed: u64) -> Vec<u8> {
    let mut operations = operations(seed.wrapping_add(1 << 32), 200 + 4 * (seed % 600) as usize);
    for operation in &mut operations {
        if matches!(*operation % 40, 37 | 38) {
            *operation -= 37;
        }
    }
    operations
}

/// The same where the stack keeps the window.
#[test]
fn linux_connections_break_no_law_and_complete() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        fuzz_linux_stack(&operations(seed, 200 + 4 * (seed % 600) as usize));
        fuzz_linux_stack(&honest_operations(seed));
    }
}

#[test]
fn short_inputs_are_connections_too() {
    for len in 0..12 {
        fuzz_connection(&operations(7, len));
    }
}
