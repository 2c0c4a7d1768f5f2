//! The congestion controls of the distribution's kernel, compiled as they are.

mod common;

use std::collections::BTreeMap;

use cclab_module::Hook;

#[test]
fn the_files_are_all_that_the_kernel_has() {
    let mut found: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(common::kernel()).expect("the kernel's files") {
        let name = entry
            .expect("a file")
            .file_name()
            .into_string()
            .expect("text");
        let text = std::fs::read_to_string(common::kernel().join(&name)).expect("text");
        // That of the stack is what defines the function.
        if name.ends_with(".c")
            && text.contains("tcp_register_congestion_control(&")
            && name != "tcp_cong.c"
        {
            found.push(name);
        }
    }
    found.sort();
    let known: Vec<&str> = common::MODULES.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, known);
}

#[test]
fn each_compiles_and_says_what_it_is() {
    for (file, name) in common::MODULES {
        let compiled = common::compiled(file);
        let told = compiled.description();
        assert_eq!(told.name, name);
        assert_eq!(told.needs_ecn, name == "dctcp", "{name}");
        assert_eq!(told.echoes_each_mark, name == "dctcp", "{name}");
        assert_eq!(told.has(Hook::CongControl), name == "bbr", "{name}");
        assert_eq!(told.has(Hook::Release), name == "cdg", "{name}");
        assert!(
            told.has(Hook::Ssthresh) && told.has(Hook::UndoCwnd),
            "{name}"
        );
        let declared = common::texts(file)[file]
            .lines()
            .filter(|line| line.starts_with("module_param"))
            .count();
        assert_eq!(told.params.len(), declared, "{name}");
    }
}

#[test]
fn parameters_have_the_kernels_defaults_and_meanings() {
    let compiled = common::compiled("tcp_cubic.c");
    let params = &compiled.description().params;
    let beta = params.iter().find(|param| param.name == "beta");
    let beta = beta.expect("a parameter of cubic");
    assert_eq!((&*beta.kind, &*beta.default), ("int", "717"));
    assert!(beta.meaning.contains("increase"), "{}", beta.meaning);
    let compiled = common::compiled("tcp_dctcp.c");
    let shift = &compiled.description().params[0];
    let told = (&*shift.name, &*shift.kind, &*shift.default);
    assert_eq!(told, ("dctcp_shift_g", "", "4"));
}

#[test]
fn parameters_are_checked_by_the_module() {
    let load = |file: &str, name: &str, value: f64| {
        let values = BTreeMap::from([(name.to_owned(), value)]);
        common::compiled(file).load(&values)
    };
    assert!(load("tcp_dctcp.c", "dctcp_shift_g", 10.0).is_ok());
    let cases = [
        (
            ("tcp_dctcp.c", "dctcp_shift_g", 11.0),
            "tcp_dctcp.c: does not take 11 for its parameter dctcp_shift_g",
        ),
        (
            ("tcp_cubic.c", "beta", 0.7),
            "tcp_cubic.c: takes whole numbers: its parameter beta cannot be 0.7",
        ),
        (
            ("tcp_cdg.c", "window", -1e12),
            "tcp_cdg.c: does not take -1000000000000 for its parameter window, which is int",
        ),
        (
            ("tcp_htcp.c", "beta", 1.0),
            "tcp_htcp.c: has no parameter beta: it has use_rtt_scaling, use_bandwidth_switch",
        ),
        (
            ("tcp_scalable.c", "beta", 1.0),
            "tcp_scalable.c: has no parameter beta: it has none",
        ),
    ];
    for ((file, name, value), told) in cases {
        let error = load(file, name, value).err().expect("it is refused");
        assert_eq!(error.to_string(), told);
    }
}
