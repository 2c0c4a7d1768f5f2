//! The modules that the C files of a scenario's variants become in a guest's kernel.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cclab_spec::{Language, Scenario, VariantFile};

use crate::Target;
use crate::unsupported::Found;

/// Names the modules that a kernel registers, each with the name that it gets, on the command line
/// that boots it: `cclab_cc=MODULE:NAME,MODULE:NAME`. Modules that are not named register nothing.
pub const REGISTERED: &str = "cclab_cc";

/// What the kernel calls the variant that `scenario` calls `cc`: by the name that its file registers,
/// unless the kernel has that itself or another file registers it as well.
pub fn name_in_kernel<'a>(scenario: &'a Scenario, cc: &'a str) -> Cow<'a, str> {
    let Some(file) = scenario.variant_file(cc) else {
        return Cow::Borrowed(cc);
    };
    let mut known = cclab_cc::VARIANTS.iter().map(|variant| variant.name);
    let mut others = scenario.variant_files.iter();
    let taken = known.any(|name| name == file.name)
        || others.any(|other| other.name == file.name && other.label != file.label);
    match taken {
        false => Cow::Borrowed(&file.name),
        true => Cow::Owned(own_name(file)),
    }
}

/// A name that no other file has, within the 15 characters that the kernel takes.
fn own_name(file: &VariantFile) -> String {
    let stem: String = file.name.chars().take(8).collect();
    format!("{stem}_{}", &file.sha256[..6])
}

/// What `scenario` calls the variant that its kernels call `name`.
pub fn label_of<'a>(scenario: &'a Scenario, name: &'a str) -> &'a str {
    let mut files = scenario.variant_files.iter();
    let file = files.find(|file| name_in_kernel(scenario, &file.label) == name);
    file.map_or(name, |file| &file.label)
}

/// Whether the variant that the kernels of `scenario` call `name` sets a pacing rate.
pub fn paces(scenario: &Scenario, name: &str) -> bool {
    match scenario.variant_file(label_of(scenario, name)) {
        Some(file) => file.paces(),
        None => cclab_cc::find(name).is_some_and(|variant| variant.paces),
    }
}

/// What boots a kernel with the modules of `flows` of `scenario`: which are registered, and their
/// parameters. Empty without any.
pub fn boot_arguments(scenario: &Scenario, flows: &[usize]) -> Vec<String> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut params: BTreeMap<String, f64> = BTreeMap::new();
    for flow in flows.iter().map(|&index| &scenario.flows[index]) {
        let Some(file) = scenario.variant_file(&flow.cc) else {
            continue;
        };
        let module = file.module();
        let values = flow.cc_params.iter();
        params.extend(values.map(|(name, value)| (format!("{module}.{name}"), *value)));
        names.insert(module, name_in_kernel(scenario, &flow.cc).into_owned());
    }
    if names.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = names
        .iter()
        .map(|(module, name)| format!("{module}:{name}"))
        .collect();
    let registered = format!("{REGISTERED}={}", names.join(","));
    let params = params.iter().map(|(name, value)| format!("{name}={value}"));
    std::iter::once(registered).chain(params).collect()
}

/// Whether flows `a` and `b` of `scenario` ask the module of one file for different parameters: a
/// kernel has one set of them.
pub fn disagree(scenario: &Scenario, a: usize, b: usize) -> bool {
    let [a, b] = [a, b].map(|index| &scenario.flows[index]);
    a.cc == b.cc && a.cc_params != b.cc_params && scenario.variant_file(&a.cc).is_some()
}

/// Refuses the files of variants that kernels at `target` do not run, and parameters that one kernel
/// cannot have for both of two flows.
pub(crate) fn check(scenario: &Scenario, target: Target, found: &mut Found) {
    for flow in &scenario.flows {
        let Some(file) = scenario.variant_file(&flow.cc) else {
            continue;
        };
        let at = format!("flow.{}.cc", flow.name);
        match file.language {
            Language::C if target == Target::Host => found.refuse(
                at,
                format!("the module {} in the kernel of this machine", file.file),
            ),
            Language::C => {}
            language => found.refuse(
                at,
                format!(
                    "the {} file {} (a kernel runs C: write it as a module of the kernel, in a .c \
                     file, or use --backend sim)",
                    language.name(),
                    file.file
                ),
            ),
        }
    }
    let mut first: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let key = (scenario.kernel_of(flow), flow.cc.as_str());
        let other = *first.entry(key).or_insert(index);
        if disagree(scenario, index, other) {
            let what = format!(
                "parameters of {} different from those of flow {} (a kernel has one set of a \
                 module's parameters: give one of the flows another kernel by `kernel`, or put \
                 their defaults into two files)",
                flow.cc, scenario.flows[other].name
            );
            found.refuse(format!("flow.{}.cc_params", flow.name), what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(label: &str, name: &str, digit: char) -> VariantFile {
        VariantFile {
            label: label.to_owned(),
            language: Language::C,
            file: format!("tcp_{name}.c"),
            name: name.to_owned(),
            sha256: digit.to_string().repeat(64),
            texts: BTreeMap::new(),
        }
    }

    fn scenario() -> Scenario {
        let text = "duration = \"1s\"\n[network.bottleneck]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n\
            queue = { limit = \"10p\" }\n[[flow]]\n[[flow]]\n[[flow]]\n";
        let plan = cclab_spec::Study::load(text, "study.toml")
            .and_then(|study| study.plan(&Default::default(), &|_, _| String::new()));
        let mut scenario = plan.expect("a study").scenarios.swap_remove(0).scenario;
        scenario.variant_files = vec![
            file("./cubic.c", "cubic", 'a'),
            file("./x.c", "x", 'b'),
            file("foo", "foo", 'c'),
        ];
        for (flow, cc) in scenario.flows.iter_mut().zip(["foo", "./cubic.c", "foo"]) {
            cc.clone_into(&mut flow.cc);
        }
        scenario
    }

    #[test]
    fn a_module_bears_its_own_name_unless_the_kernel_has_it() {
        let scenario = scenario();
        for (label, name) in [
            ("foo", "foo"),
            ("./x.c", "x"),
            ("./cubic.c", "cubic_aaaaaa"),
            ("bic", "bic"),
        ] {
            assert_eq!(name_in_kernel(&scenario, label), name);
            assert_eq!(label_of(&scenario, name), label);
        }
    }

    #[test]
    fn a_kernel_boots_with_what_its_flows_have() {
        let mut scenario = scenario();
        scenario.flows[0].cc_params.insert("beta".to_owned(), 819.0);
        assert_eq!(
            boot_arguments(&scenario, &[0, 1]),
            [
                "cclab_cc=tcp_cubic_aaaaaaaaaaaa:cubic_aaaaaa,tcp_foo_cccccccccccc:foo",
                "tcp_foo_cccccccccccc.beta=819"
            ]
        );
        assert!(disagree(&scenario, 0, 2) && !disagree(&scenario, 0, 1));
        scenario.flows[1].cc = "cubic".to_owned();
        assert!(boot_arguments(&scenario, &[1]).is_empty());
    }
}
