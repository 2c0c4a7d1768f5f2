//! Whatever becomes of the bytes of a capture, reading them does not fail by itself.

mod wire;

use cclab_analyze::fuzzing::{fuzz_capture, fuzz_conversation};
use cclab_trace::captured::Format;
use cclab_trace::captured::fuzzing::{fuzz_file, fuzz_frame, fuzz_packets, fuzz_segment};
use proptest::prelude::*;
use proptest::sample::Index;
use wire::seeds::{Seed, pcap_files, pcapng_files, seeds};
use wire::{ACK, Segment};

/// Changes of a file: at a place, what becomes of the bytes there.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Cut(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        8 => (any::<Index>(), any::<u8>()).prop_map(|(at, to)| Change::Set(at, to)),
        2 => (any::<Index>(), bytes()).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        2 => (any::<Index>(), 1..40usize).prop_map(|(at, bytes)| Change::Remove(at, bytes)),
        1 => any::<Index>().prop_map(Change::Cut),
    ]
}

fn changed(mut data: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let place = |at: &Index| at.index(data.len().max(1)).min(data.len());
        match change {
            Change::Set(at, to) => {
                let at = place(at);
                if let Some(byte) = data.get_mut(at) {
                    *byte = *to;
                }
            }
            Change::Insert(at, bytes) => {
                let at = place(at);
                data.splice(at..at, bytes.iter().copied());
            }
            Change::Remove(at, bytes) => {
                let at = place(at);
                data.drain(at..(at + bytes).min(data.len()));
            }
            Change::Cut(at) => data.truncate(place(at)),
        }
    }
    data
}

/// What the fuzzer of the same name does.
fn fuzz(target: &str, data: &[u8]) {
    match target {
        "pcap" => fuzz_file(data, Format::Pcap),
        "pcapng" => fuzz_file(data, Format::Pcapng),
        "link" => fuzz_frame(data),
        "fragments" => fuzz_packets(data),
        "segment" => fuzz_segment(data),
        "capture" => fuzz_capture(data),
        "conversation" => fuzz_conversation(data),
        other => panic!("no target {other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]

    #[test]
    fn every_layer_takes_mutated_seeds(
        seed in any::<Index>(),
        changes in prop::collection::vec(change(), 0..20),
    ) {
        let seeds = seeds();
        let Seed { target, data } = seed.get(&seeds);
        fuzz(target, &changed(data.clone(), &changes));
    }

    #[test]
    fn any_conversation_is_analyzed(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz_conversation(&bytes);
    }

    #[test]
    fn bytes_behind_a_right_beginning_are_read_or_refused(
        pcapng in any::<bool>(),
        which in any::<Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let files = if pcapng { pcapng_files() } else { pcap_files() };
        let mut file = which.get(&files).clone();
        file.truncate(if pcapng { 28 + 24 } else { 24 });
        file.extend(bytes);
        fuzz_capture(&file);
    }
}

#[test]
fn every_fuzz_target_of_captures_has_seeds_and_takes_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/fuzz_targets");
    let seeds = seeds();
    for entry in std::fs::read_dir(folder).expect("fuzz targets") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("its text");
        let target = path.file_stem().expect("a name").to_string_lossy();
        if text.contains("captured::") || text.contains("cclab_analyze::") {
            let has = seeds.iter().any(|seed| seed.target == target);
            assert!(has, "no seeds for {target}");
        }
    }
    for seed in &seeds {
        fuzz(seed.target, &seed.data);
    }
}

#[test]
fn data_that_a_closed_window_took_after_all_have_their_time() {
    let probed = [
        (0, Segment::new(ACK, 1, 1).window(0).back()),
        (100, Segment::new(ACK, 1, 1).data(1000)),
        (200, Segment::new(ACK, 1, 1001).back()),
    ];
    let whole = wire::analysis(&probed).together.whole.expect("a flow");
    assert!(whole.from_s < whole.to_s, "{whole:?}");
    assert!(whole.throughput_bps > 0.0, "{whole:?}");
    assert_eq!(whole.flows[0].bytes, 1000);
}

#[test]
fn an_interval_of_nanoseconds_after_years_has_a_rate() {
    // At the very beginning of a bin of the timeline, whose width is 2^20 ns.
    let years = (1 << 14) * 57_000_000;
    let of = |n: u32| Segment::new(ACK, 1 + n, 1).data(1);
    let whole = wire::analysis(&[(0, Segment::new(ACK, 1, 1).back()), (years, of(0))]);
    let whole = whole.together.whole.expect("a flow");
    assert!(whole.throughput_bps.is_finite(), "{whole:?}");
}
