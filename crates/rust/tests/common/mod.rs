//! Files for tests, and what is said of them.

#![allow(
    dead_code,
    reason = "each test binary uses its own part of what all of them share"
)]

use std::collections::BTreeMap;

use cclab_cc::{Arithmetic, Config, CongestionOps, SlowStart};
use cclab_rust::Loaded;
use cclab_spec::{Language, VariantFile};
use cclab_units::parameter::Params;

pub const RENO: &str = include_str!("../variants/reno.rs");
pub const EAGER: &str = include_str!("../variants/eager.rs");

/// A file of this text, as a study would bring it in.
pub fn file(name: &str, text: &str) -> VariantFile {
    VariantFile {
        label: "own".to_owned(),
        language: Language::Rust,
        file: name.to_owned(),
        name: "own".to_owned(),
        sha256: String::new(),
        texts: BTreeMap::from([(name.to_owned(), text.to_owned())]),
    }
}

/// What is said of a file that cannot be.
pub fn refused(name: &str, text: &str) -> Vec<String> {
    match cclab_rust::check(&file(name, text)) {
        Ok(told) => panic!("{name} is taken: {told:?}"),
        Err(wrong) => wrong.iter().map(ToString::to_string).collect(),
    }
}

/// The variant of a file that is sound.
pub fn load(name: &str, text: &str) -> Loaded {
    match cclab_rust::load(&file(name, text)) {
        Ok(loaded) => loaded,
        Err(wrong) => panic!("{}", wrong[0]),
    }
}

/// One of it, with the values of its parameters.
pub fn made(loaded: &Loaded, values: &[(&str, f64)]) -> Box<dyn CongestionOps> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    let make = loaded.make(&values.collect());
    make.unwrap_or_else(|wrong| panic!("{wrong}"))(&config())
}

pub fn config() -> Config {
    Config {
        mss: 1_448,
        initial_window: 14_480,
        initial_ssthresh: u64::MAX,
        slow_start: SlowStart::Plain,
        arithmetic: Arithmetic::Segments,
        params: Params::defaults(&[]),
    }
}
