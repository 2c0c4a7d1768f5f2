//! What a file does that it must not, in a process that is guarded: this program, run again for it.

mod common;

use std::process::Command;
use std::time::Duration;

use cclab_cc::interface::Tcp;
use cclab_module::guard;
use common::{RENO, load, made};

/// What the guarded process finds its code by.
const CODE: &str = "CCLAB_TESTED_CODE";

/// The guarded process, which the other test starts.
#[test]
fn misbehaves() {
    let Ok(code) = std::env::var(CODE) else {
        return;
    };
    let loaded = load(
        "mine.rs",
        &RENO.replace("tcp.reno_cong_avoid(acked);", &code),
    );
    let mut variant = made(&loaded, &[]);
    // Of the two, processor time ends it, however busy the machine is.
    guard::install(2, Duration::from_millis(300), Duration::from_secs(60)).expect("a guard");
    let tcp = &mut Tcp::default();
    variant.cong_avoid(tcp, 0, 1);
    variant.ssthresh(tcp);
    println!("went on");
}

/// How a process ends whose variant does `code` in its `cong_avoid`, and what it says.
fn guarded(code: &str) -> (Option<i32>, String) {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "misbehaves", "--nocapture"])
        .env(CODE, code)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn what_a_file_does_ends_its_process_with_a_word_on_it() {
    let cases = [
        (
            "tcp.snd_cwnd -= 100 * acked;",
            "mine.rs:19:9: cong_avoid: attempt to subtract with overflow\n",
        ),
        (
            "loop { std::hint::spin_loop(); }",
            "mine.rs: cong_avoid: it does not come back\n",
        ),
        (
            "unsafe { std::ptr::null_mut::<u32>().add(4).write_volatile(acked); }",
            "mine.rs: cong_avoid: it reads or writes memory that is not its own, at address 0x10 (through a pointer that is NULL)\n",
        ),
        (
            "std::process::abort();",
            "mine.rs: cong_avoid: it aborts, as after a write beyond the end of a variable on the stack, after a wrong free, or where there is no memory left\n",
        ),
        (
            "tcp.snd_cwnd = acked - 1;",
            "mine.rs: cong_avoid: it leaves snd_cwnd at 0\n",
        ),
        (
            "tcp.snd_ssthresh = u32::MAX;",
            "mine.rs: cong_avoid: it leaves snd_ssthresh at 4294967295 (-1)\n",
        ),
        (
            "fn deep(n: u64) -> u64 { std::hint::black_box([n; 64]); n + deep(n + 1) } tcp.dice = deep(1);",
            "mine.rs: cong_avoid: it reads or writes memory that is not its own, at address 0x",
        ),
    ];
    for (code, told) in cases {
        let (exit, said) = guarded(code);
        assert!(said.contains(told), "{code}: {said}");
        assert_eq!(exit, Some(guard::EXIT), "{code}");
    }
    let (exit, said) = guarded("tcp.reno_cong_avoid(acked);");
    assert_eq!((exit, said.as_str()), (Some(0), ""));
}
