//! What a recorder wants to be told.

use cclab_interface::StateColumn;
use cclab_trace::{Probe, Recorder, Recording};
use tempfile::TempDir;

#[test]
fn packets_are_looked_at_only_where_something_of_them_is_recorded() {
    let looks = |recording: Recording| {
        let folder = TempDir::new().expect("a folder");
        let recorder = Recorder::create(folder.path(), recording).expect("a recorder");
        recorder.looks_at_packets()
    };
    const STATE: &[StateColumn] = &[StateColumn::number("gain", "a gain")];
    let none = Recording::default;
    assert!(!looks(none()));
    #[rustfmt::skip]
    let some = [
        Recording { acks: true, ..none() },
        Recording { queue: true, ..none() },
        Recording { drops: true, ..none() },
        Recording { states: vec![STATE], ..none() },
        Recording { capture: vec!["bottleneck".into()], ..none() },
    ];
    for recording in some {
        assert!(looks(recording.clone()), "{recording:?}");
    }
}
