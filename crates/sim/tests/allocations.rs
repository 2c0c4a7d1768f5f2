//! No allocation per packet: once rings have grown, simulating longer allocates no more.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use cclab_spec::{Limit, Place, Scenario};
use cclab_units::Time;

use common::{STACKS, dumbbell, flow, link, loss};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[expect(
    unsafe_code,
    reason = "counting what the program allocates takes an allocator of one's own"
)]
// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps to what the system's allocator asks as well.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to what the system's allocator asks as well.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps to what the system's allocator asks as well.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that a ring, a list of gaps or a histogram may still make when something larger
/// than ever before happens late in a run.
const LATE_GROWTH: u64 = 32;

fn scenario(stack: &str, variants: [&str; 2], seconds: u64) -> Scenario {
    let bottleneck = link(Some(300_000_000), Time::from_millis(5), Limit::Packets(300));
    let mut flows = vec![
        flow("a", variants[0]),
        flow("b", variants[1]).with(|flow| flow.extra_delay = Time::from_millis(1)),
    ];
    for flow in &mut flows {
        flow.rwnd = Some(2_000_000);
    }
    let mut scenario = dumbbell(stack, bottleneck, flows, Time::from_secs(seconds));
    scenario.network.access.rate = Some(common::rate(1_000_000_000));
    scenario.network.bottleneck.loss = vec![loss(Place::Receiver, 1e-5)];
    scenario
}

/// Allocations and packets of a run.
fn cost(scenario: &Scenario) -> (u64, u64) {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let summary = common::run(scenario, 1);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    (after - before, summary.links[0].delivered)
}

/// One test in this binary, so that nothing else allocates meanwhile.
#[test]
fn ten_more_seconds_allocate_no_more() {
    for (stack, ..) in STACKS {
        for variants in [["cubic", "reno"], ["newreno", "sack"]] {
            let (short, packets) = cost(&scenario(stack, variants, 10));
            let (long, more_packets) = cost(&scenario(stack, variants, 20));
            let (more, packets) = (long.saturating_sub(short), more_packets - packets);
            println!(
                "{stack:<10} {variants:?}: {short} allocations in 10 s, {more} in the next 10 s \
                 with {packets} data packets"
            );
            assert!(packets > 100_000, "{stack}: only {packets} packets");
            assert!(
                more <= LATE_GROWTH,
                "{stack} {variants:?}: {more} allocations"
            );
        }
    }
}
