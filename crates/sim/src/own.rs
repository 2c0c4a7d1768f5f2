//! Variants that a scenario brings in files of its own. What they are written in, and how they are
//! reached, whoever runs the scenario knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use cclab_cc::{BuildOfFile, EcnFeedback, Maker};
use cclab_spec::Flow;

/// A variant of a file, with the parameters that flows give it.
#[derive(Clone)]
pub struct OwnVariant {
    /// What the flows of the scenario call it, as their `cc`.
    pub label: String,
    /// Their `cc_params`.
    pub params: BTreeMap<String, f64>,
    /// How marks come back to it.
    pub ecn: EcnFeedback,
    /// Makes it.
    pub make: BuildOfFile,
}

/// The variants of files that a run uses: one for each label and set of parameters.
#[derive(Clone, Default)]
pub struct OwnVariants(Arc<Vec<OwnVariant>>);

impl OwnVariants {
    /// These.
    pub fn new(variants: Vec<OwnVariant>) -> OwnVariants {
        OwnVariants(Arc::new(variants))
    }

    /// The variant of `flow`, if it is of a file.
    pub fn of(&self, flow: &Flow) -> Option<&OwnVariant> {
        let mut all = self.0.iter();
        all.find(|own| own.label == flow.cc && own.params == flow.cc_params)
    }

    /// Whether there is one that flows call `label`.
    pub fn knows(&self, label: &str) -> bool {
        self.0.iter().any(|own| own.label == label)
    }
}

impl OwnVariant {
    /// What makes it for a connection.
    pub fn maker(&self) -> Maker {
        Maker::File(Arc::clone(&self.make))
    }
}
