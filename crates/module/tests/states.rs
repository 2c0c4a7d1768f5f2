//! The inner state that modules tell traces.

mod common;

use std::collections::BTreeMap;

use cclab_interface::{CongestionOps, StateColumn, Tcp};
use common::{loaded, own, reno_but};

const STRUCT: &str = "
struct own { u8 phase; s16 change; u32 epochs; bool done; s64 sum; s8 small; };
static void own_init(struct sock *sk)
{
	struct own *own = inet_csk_ca(sk);

	*own = (struct own){ 1, -300, 4000000000u, true, -5000000000ll, -1 };
}
";
const TRACED: &str = "
CCLAB_TRACED(struct own,
	CCLAB_WORD(\"phase\", phase, \"Where it is.\", \"slow\", \"fast\"),
	CCLAB_NUMBER(\"change\", change, \"What changed.\"),
	CCLAB_COUNT(\"epochs\", epochs, \"Epochs so far.\"),
	CCLAB_FLAG(\"done\", done, \"Whether it is.\"),
	CCLAB_NUMBER(\"sum_bytes\", sum, \"The sum.\"),
	CCLAB_NUMBER(\"small\", small, \"A small one.\"));
";

fn text(traced: &str) -> String {
    reno_but(&format!("{STRUCT}{traced}"), ".init = own_init,")
}

#[test]
fn fields_of_each_kind_and_size_are_read() {
    let compiled = own(&text(TRACED)).unwrap_or_else(|why| panic!("{why}"));
    let loaded = compiled.load(&BTreeMap::new());
    let mut module = loaded.unwrap_or_else(|why| panic!("{why}")).module();
    let expected = [
        StateColumn::word("phase", &["slow", "fast"], "Where it is."),
        StateColumn::number("change", "What changed."),
        StateColumn::count("epochs", "Epochs so far."),
        StateColumn::flag("done", "Whether it is."),
        StateColumn::number("sum_bytes", "The sum."),
        StateColumn::number("small", "A small one."),
    ];
    assert_eq!(module.state_columns(), expected);
    let tcp = &mut Tcp::default();
    let mut values = [f64::NAN; 6];
    module.tell_state(tcp, &mut values);
    assert_eq!(values, [0.0; 6]);
    tcp.snd_cwnd = 10;
    module.init(tcp);
    module.tell_state(tcp, &mut values);
    assert_eq!(values, [1.0, -300.0, 4e9, 1.0, -5e9, -1.0]);
}

#[test]
fn a_module_that_says_nothing_tells_nothing() {
    assert_eq!(loaded("tcp_cubic.c").module().state_columns(), []);
    let plain = own(&text("")).unwrap_or_else(|why| panic!("{why}"));
    let plain = plain.load(&BTreeMap::new());
    assert_eq!(
        plain
            .unwrap_or_else(|why| panic!("{why}"))
            .module()
            .state_columns(),
        []
    );
}

/// What is no field, or none of a number, is an error of the compiler at its line.
#[test]
fn what_cannot_be_told_is_refused() {
    for (traced, says) in [
        (
            "CCLAB_TRACED(struct own, CCLAB_COUNT(\"x\", gone, \"\"));",
            "gone",
        ),
        (
            "struct wide { u32 bits : 3; };\nCCLAB_TRACED(struct wide, CCLAB_COUNT(\"x\", bits, \"\"));",
            "bit",
        ),
        (
            "struct wide { char all[112]; u8 x; };\nCCLAB_TRACED(struct wide, CCLAB_COUNT(\"x\", x, \"\"));",
            "so many bytes",
        ),
        (
            "struct wide { double gain; };\nCCLAB_TRACED(struct wide, CCLAB_NUMBER(\"x\", gain, \"\"));",
            "a column is a field of whole numbers: gain",
        ),
    ] {
        let why = own(&text(traced))
            .map(|_| ())
            .expect_err(traced)
            .to_string();
        assert!(why.contains(says), "{why}");
        assert!(why.starts_with("tcp_own.c:"), "{why}");
    }
    let taken = "CCLAB_TRACED(struct own, CCLAB_COUNT(\"flow\", epochs, \"\"));";
    let compiled = own(&text(taken)).unwrap_or_else(|why| panic!("{why}"));
    let why = compiled
        .load(&BTreeMap::new())
        .map(|_| ())
        .expect_err("a name of the table's own");
    assert!(
        why.to_string()
            .contains("a column of its state called flow, as tables"),
        "{why}"
    );
    let twice = "CCLAB_TRACED(struct own, CCLAB_COUNT(\"x\", epochs, \"\"), CCLAB_FLAG(\"x\", done, \"\"));";
    let compiled = own(&text(twice)).unwrap_or_else(|why| panic!("{why}"));
    let why = compiled
        .load(&BTreeMap::new())
        .map(|_| ())
        .expect_err("one name twice");
    assert!(
        why.to_string()
            .contains("two columns of its state called x"),
        "{why}"
    );
}
