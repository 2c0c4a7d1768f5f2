//! What determines a run beside its scenario and seed, and what kernels it is on.

use std::collections::BTreeMap;

use cclab_spec::{Language, Scenario};

/// What each kernel of a backend is made of, by what scenarios call it; `None`: the one used by
/// default.
pub type Kernels = BTreeMap<Option<String>, String>;

/// What determines a run of `scenario` beside its seed on `backend`, which has `kernels` if it runs
/// on some.
pub fn determinants(scenario: &Scenario, backend: &str, kernels: Option<&Kernels>) -> String {
    match kernels {
        Some(kernels) => cclab_linux::determinants(scenario, kernels, backend == "linux"),
        None => cclab_sim::determinants(scenario),
    }
}

/// The modules of C files that the kernels of `scenario` have: the name of each, its file, and the
/// texts that it is compiled of by their paths.
pub fn modules(scenario: &Scenario) -> Vec<(String, &str, &BTreeMap<String, String>)> {
    let files = scenario.variant_files.iter();
    let modules = files.filter(|file| file.language == Language::C);
    modules
        .map(|file| (file.module(), &*file.file, &file.texts))
        .collect()
}

/// A kernel that a study names and the backend does not have, with the key that names it.
pub(crate) struct Absent {
    pub path: String,
    pub name: String,
}

/// The kernels that `scenario` names and that are not among `kernels`.
pub(crate) fn absent(scenario: &Scenario, kernels: Option<&Kernels>) -> Vec<Absent> {
    let named = kernels.into_iter().flat_map(|kernels| {
        let own = scenario.kernel.iter();
        let own = own.map(|name| ("kernel".to_owned(), name));
        let flows = scenario.flows.iter().filter_map(|flow| {
            let name = flow.kernel.as_ref()?;
            Some((format!("flow.{}.kernel", flow.name), name))
        });
        let used = scenario.kernels();
        let used = move |name: &String| used.contains(&Some(name.as_str()));
        let all = own.chain(flows);
        all.filter(move |(_, name)| used(name) && !kernels.contains_key(&Some((*name).clone())))
    });
    let absent = |(path, name): (String, &String)| Absent {
        path,
        name: name.clone(),
    };
    named.map(absent).collect()
}
