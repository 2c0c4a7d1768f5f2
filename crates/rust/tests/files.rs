//! Files of users: what they are taken for, what they do, and what is said of bad ones.

mod common;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cclab_cc::interface::{
    AckSample, CaEvent, CaState, CongestionOps, INTERFACE_VERSION, RateSample, Tcp, ack_flags,
};
use cclab_rust::{Description, Fault, Parameter};
use common::{EAGER, RENO, config, file, load, made, refused};

/// What ends a hook: the payload of its panic.
fn fault(hook: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(hook)).expect_err("the hook returned");
    payload.downcast::<Fault>().expect("a fault").to_string()
}

/// `RENO` with `code` in the place of its `cong_avoid`.
fn growing(code: &str) -> String {
    RENO.replace("tcp.reno_cong_avoid(acked);", code)
}

#[test]
fn a_file_says_what_it_is() {
    let said = cclab_rust::check(&file("eager.rs", EAGER)).expect("a good file");
    let parameter = |name: &str, meaning: &str, default, least, most| Parameter {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
        default,
        least,
        most,
    };
    let expected = Description {
        name: "eager".to_owned(),
        params: vec![
            parameter("beta", "what remains at a loss", 0.75, 0.25, 1.0),
            parameter("first", "where calls begin", 6.0, 0.0, 100.0),
        ],
        needs_ecn: true,
    };
    assert_eq!(said, expected);
    let plain = load("reno.rs", RENO);
    assert_eq!(plain.description().name, "own-reno");
    assert!(plain.description().params.is_empty() && !plain.description().needs_ecn);
}

#[test]
fn every_hook_arrives_with_what_it_is_told() {
    let mut eager = made(&load("eager.rs", EAGER), &[("beta", 0.3)]);
    let tcp = &mut Tcp::default();
    eager.init(tcp);
    assert_eq!(tcp.snd_cwnd, 2);
    eager.cong_avoid(tcp, 77, 8);
    assert_eq!((tcp.snd_una, tcp.snd_cwnd), (77, 10));
    assert_eq!(eager.ssthresh(tcp), 3); // 10 x 0.3
    eager.set_state(tcp, CaState::Loss);
    assert_eq!(tcp.snd_cwnd_cnt, 41);
    eager.set_state(tcp, CaState::Cwr);
    assert_eq!(tcp.snd_cwnd_cnt, 42);
    eager.cwnd_event(tcp, CaEvent::TxStart);
    assert_eq!(tcp.prior_cwnd, 51);
    eager.cwnd_event(tcp, CaEvent::EcnIsCe);
    assert_eq!((tcp.prior_cwnd, eager.undo_cwnd(tcp)), (52, 53));
    eager.in_ack_event(tcp, ack_flags::ECE | ack_flags::SLOWPATH);
    assert_eq!(tcp.ecn_flags, ack_flags::ECE);
    let acked = AckSample {
        pkts_acked: 9,
        ..AckSample::default()
    };
    eager.pkts_acked(tcp, &acked);
    assert_eq!(tcp.delivered, 9);
    assert!(eager.has_cong_control());
    let rate = RateSample {
        acked_sacked: 5,
        ..RateSample::default()
    };
    eager.cong_control(tcp, 100, 20, &rate);
    assert_eq!(tcp.pacing_rate, 125);
    // `first` is 6, and `init` counted one.
    assert_eq!(eager.min_tso_segs(tcp), Some(7));
    assert_eq!(eager.sndbuf_expand(tcp), None);
}

#[test]
fn what_a_file_does_not_define_is_as_the_interface_has_it() {
    let mut reno = made(&load("reno.rs", RENO), &[]);
    let built_in = cclab_cc::find("reno").and_then(|reno| reno.ops);
    let mut built_in = built_in.expect("Reno has hooks")(&config());
    let mut tcp = Tcp {
        is_cwnd_limited: 1,
        ..Tcp::default()
    };
    let mut other = tcp.clone();
    let step = |tcp: &mut Tcp, reno: &mut dyn CongestionOps, event: u32| {
        match event % 97 {
            0 => {
                tcp.prior_cwnd = tcp.snd_cwnd;
                tcp.snd_ssthresh = reno.ssthresh(tcp);
                tcp.snd_cwnd = tcp.snd_ssthresh;
            }
            1 => tcp.snd_cwnd = reno.undo_cwnd(tcp),
            _ => reno.cong_avoid(tcp, event, 1 + event % 3),
        }
        (tcp.snd_cwnd, tcp.snd_cwnd_cnt, tcp.snd_ssthresh)
    };
    for event in 2..5_000 {
        let own = step(&mut tcp, &mut *reno, event);
        assert_eq!(own, step(&mut other, &mut *built_in, event), "{event}");
    }
    assert!(!reno.has_cong_control());
    assert_eq!(
        (reno.min_tso_segs(&mut tcp), reno.sndbuf_expand(&mut tcp)),
        (None, None)
    );
}

#[test]
fn the_compilers_errors_stand_at_the_files_lines() {
    let told = refused("mine.rs", &growing("tcp.snd_cwnd += axked;"));
    assert_eq!(
        told,
        [
            "mine.rs:19:25: cannot find value `axked` in this scope; a local variable with a \
              similar name exists: `acked`"
        ]
    );
    let told = refused("mine.rs", &RENO.replace("-> u32 {", "-> u64 {"));
    assert!(told[0].starts_with("mine.rs:14:46: method `ssthresh` has an incompatible type for trait: expected `u32`, found `u64`"), "{told:?}");
    // What the macro wrote is told where the macro stands.
    let told = refused(
        "mine.rs",
        &RENO.replace("impl CongestionOps for Reno", "impl Reno"),
    );
    assert!(told[0].starts_with("mine.rs:23:"), "{told:?}");
    let told = refused("mine.rs", &RENO.replace("Reno::new }", "Reno::begin }"));
    assert!(
        told[0].starts_with("mine.rs:23:64: no function or associated item named `begin` found"),
        "{told:?}"
    );
    let told = refused("mine.rs", "mod beside;\nuse rand::random;\n");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with("mine.rs:1:1: file not found for module `beside`"),
        "{told:?}"
    );
    assert!(
        told[1].starts_with("mine.rs:2:5: unresolved import `rand`"),
        "{told:?}"
    );
}

#[test]
fn a_file_without_a_variant_is_refused() {
    let none = "mine.rs: it declares no variant; it says cclab::variant! { name: \"mine\", start: \
                Mine::new }";
    assert_eq!(refused("mine.rs", "pub fn nothing() {}\n"), [none]);
}

#[test]
fn another_version_of_the_interface_is_refused_by_both_numbers() {
    let text = RENO.replace("interface: 1", "interface: 7");
    let told = format!(
        "mine.rs: it is written for interface 7 of cclab; this cclab has interface \
         {INTERFACE_VERSION}: see what changed, mend the file, and write `interface: \
         {INTERFACE_VERSION}`"
    );
    assert_eq!(refused("mine.rs", &text), std::slice::from_ref(&told));
    // A table of another version is not looked into: this one ends behind its number.
    let table = "static TABLE: u32 = 7;\n#[unsafe(no_mangle)]\n\
                 pub extern \"C\" fn cclab_variant() -> &'static u32 { &TABLE }\n";
    assert_eq!(refused("mine.rs", table), [told]);
}

#[test]
fn a_panic_ends_the_hook_with_the_place_in_the_file() {
    let cases = [
        (
            "tcp.snd_cwnd += 1 / (acked - acked);",
            "mine.rs:19:25: cong_avoid: attempt to divide by zero",
        ),
        (
            "tcp.snd_cwnd -= 100 * acked;",
            "mine.rs:19:9: cong_avoid: attempt to subtract with overflow",
        ),
        (
            "let gone: Option<u32> = None; tcp.snd_cwnd = gone.unwrap() + acked;",
            "mine.rs:19:59: cong_avoid: called `Option::unwrap()` on a `None` value",
        ),
        (
            "tcp.snd_cwnd = [1, 2][acked as usize + 1];",
            "mine.rs:19:24: cong_avoid: index out of bounds: the len is 2 but the index is 2",
        ),
        (
            "panic!(\"{acked} is too many\");",
            "mine.rs:19:9: cong_avoid: 1 is too many",
        ),
        (
            "std::panic::panic_any(acked);",
            "mine.rs:19:9: cong_avoid: a panic with a value that is no text",
        ),
    ];
    for (code, told) in cases {
        let loaded = load("mine.rs", &growing(code));
        let mut variant = made(&loaded, &[]);
        let tcp = &mut Tcp::default();
        assert_eq!(fault(|| variant.cong_avoid(tcp, 0, 1)), told);
        // It is the hook that ended: another flow's variant goes on.
        assert_eq!(made(&loaded, &[]).ssthresh(tcp), 5);
    }
}

#[test]
fn what_a_variant_drops_may_panic_too() {
    let text = RENO.replace("impl CongestionOps", "impl Drop for Reno {\n    fn drop(&mut self) {\n        assert!(1 > 2);\n    }\n}\nimpl CongestionOps");
    let told = refused("mine.rs", &text);
    assert_eq!(told, ["mine.rs:15:9: end: assertion failed: 1 > 2"]);
}

#[test]
fn parameters_are_those_that_the_file_declares() {
    let eager = load("eager.rs", EAGER);
    let told = |name: &str, value| {
        let given = BTreeMap::from([(name.to_owned(), value)]);
        eager
            .make(&given)
            .map(|_| ())
            .map_err(|wrong| wrong.to_string())
    };
    assert_eq!(told("beta", 0.3), Ok(()));
    let cases = [
        (
            "betta",
            0.3,
            "eager.rs: unknown parameter of eager `betta`; it declares beta, first",
        ),
        (
            "beta",
            1.5,
            "eager.rs: beta = 1.5 of eager; it lies between 0.25 and 1",
        ),
        (
            "beta",
            f64::NAN,
            "eager.rs: beta = NaN of eager; it lies between 0.25 and 1",
        ),
        ("beta", 0.5, "eager.rs:18:9: start: a half is Reno's"),
    ];
    for (name, value, expected) in cases {
        assert_eq!(told(name, value), Err(expected.to_owned()));
    }
    let plain = load("reno.rs", RENO);
    let wrong = plain
        .make(&BTreeMap::from([("beta".to_owned(), 1.0)]))
        .map(|_| ());
    let told = "reno.rs: unknown parameter of own-reno `beta`; it declares no parameters";
    assert_eq!(
        wrong.map_err(|wrong| wrong.to_string()),
        Err(told.to_owned())
    );
}

#[test]
fn declarations_that_are_not_sound_are_refused() {
    let cases = [
        (
            "0.75, [0.25, 1.0]",
            "7.5, [0.25, 1.0]",
            "eager.rs: its parameter beta = 7.5 is not between 0.25 and 1; the default lies within the bounds",
        ),
        (
            "0.75, [0.25, 1.0]",
            "0.75, [1.0, 0.25]",
            "eager.rs: its parameter beta = 0.75 is not between 1 and 0.25; the default lies within the bounds",
        ),
        (
            "(\"first\"",
            "(\"beta\"",
            "eager.rs: it declares the parameter beta twice; give each a name of its own",
        ),
        (
            "(\"first\"",
            "(\"1st\"",
            "eager.rs: it declares a parameter \"1st\"; a name has letters, digits and `_`, and begins with no digit",
        ),
        (
            "get(\"first\")",
            "get(\"last\")",
            "eager.rs:21:26: start: the variant declares no parameter \"last\"",
        ),
    ];
    for (from, to, told) in cases {
        assert_eq!(refused("eager.rs", &EAGER.replace(from, to)), [told]);
    }
}
