//! The entrance of fuzzers: whatever the bytes, a study is refused or planned, never a panic.

use crate::{Overrides, Repeats, Study};

/// Loads and plans `data` as a study. Sweeps of more than a few points are loaded only: the
/// target is the parser, not patience.
pub fn fuzz_study(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(study) = Study::load(text, "fuzz.toml") else {
        return;
    };
    if study.points().is_ok_and(|points| points <= 4) {
        // A refusal is as good as a plan here.
        let overrides = Overrides {
            repeat: Some(Repeats::Times(1)),
            ..Overrides::default()
        };
        let _ = study.plan(&overrides, &|_, _| "fuzz".to_owned());
    }
}
