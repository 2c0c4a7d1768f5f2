//! Runs with files of users': what these are called with is the core's.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cclab_cc::{BuildOfFile, EcnFeedback};
use cclab_module::{Compiled, Sources};
use cclab_sim::{OwnVariant, OwnVariants};
use cclab_spec::{Language, Overrides, Scenario, Study, VariantFile};

use super::{Case, How};

const TEXT: &str = r#"
duration = "10s"
[network.bottleneck]
rate = "8Mbit"
delay = "15ms"
queue = { limit = "30p" }
loss = "0.3%"
outage = { start = "6s", duration = "600ms" }
[[flow]]
cc = "FILE"
ecn = true
[[flow]]
cc = "FILE"
start = "1s"
transfer = "2MB"
"#;

pub(super) fn cases() -> Vec<Case> {
    let files = [("a module in C", "asks.c"), ("a Rust file", "steers.rs")];
    let case = |(name, file): (&str, &str)| Case {
        subject: "core".to_owned(),
        name: name.to_owned(),
        scenarios: vec![scenario(file)],
        how: How::OfFile,
    };
    files.into_iter().map(case).collect()
}

fn scenario(file: &str) -> Scenario {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/pins.toml");
    let text = TEXT.replace("FILE", &format!("./{file}"));
    let plan = Study::load(&text, &study)
        .and_then(|study| study.plan(&Overrides::default(), &|_, _| String::new()));
    let mut plan = plan.unwrap_or_else(|why| panic!("{why}\n{text}"));
    plan.scenarios.swap_remove(0).scenario
}

/// The variants of the files of `scenario`, for a run in this thread.
pub(super) fn own(scenario: &Scenario) -> OwnVariants {
    let own = |file: &VariantFile| OwnVariant {
        label: file.label.clone(),
        params: BTreeMap::new(),
        ecn: EcnFeedback::Classic,
        make: make(file),
    };
    OwnVariants::new(scenario.variant_files.iter().map(own).collect())
}

fn make(file: &VariantFile) -> BuildOfFile {
    let params = BTreeMap::new();
    if file.language == Language::C {
        let sources = Sources {
            file: &file.file,
            texts: &file.texts,
        };
        let loaded = Compiled::of(&sources, &cclab_module::cache())
            .and_then(|compiled| compiled.load(&params));
        let make = loaded.unwrap_or_else(|why| panic!("{why}")).make();
        return Arc::new(move |_| Box::new(make()));
    }
    let loaded = cclab_rust::load(file).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    Arc::new(loaded.make(&params).unwrap_or_else(|why| panic!("{why}")))
}
