//! What a module does that it must not ends its process, with a message that names file and hook.

mod common;

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, Tcp};
use cclab_module::guard;

/// In a child process: which of `FAULTS` to run, and the file for what is told.
const WHICH: &str = "CCLAB_TEST_FAULT";
const REPORT: &str = "CCLAB_TEST_REPORT";

/// A name, functions of a module, the fields that name them, and what is told.
const FAULTS: [(&str, &str, &str, &str); 18] = [
    (
        "division",
        "static void own_avoid(struct sock *sk, u32 ack, u32 acked)\n\
         { u32 none = tcp_sk(sk)->sacked_out; tcp_sk(sk)->snd_cwnd += acked / none; }",
        ".cong_avoid = own_avoid,",
        "tcp_own.c:4: cong_avoid: it divides by zero\n",
    ),
    (
        "do_div",
        "static u32 own_ssthresh(struct sock *sk)\n\
         { u64 x = 1000; do_div(x, tcp_sk(sk)->sacked_out); return x; }",
        ".ssthresh = own_ssthresh,",
        "tcp_own.c:4: ssthresh: it divides by zero\n",
    ),
    (
        "called",
        "static void own_avoid(struct sock *sk, u32 ack, u32 acked)\n\
         {\n\ttcp_cong_avoid_ai(tcp_sk(sk), tcp_sk(sk)->sacked_out, acked);\n\
         \ttcp_sk(sk)->snd_cwnd_stamp = 1;\n}",
        ".cong_avoid = own_avoid,",
        "tcp_own.c:5: cong_avoid: it divides by zero in tcp_cong_avoid_ai\n",
    ),
    (
        "called last",
        "static void own_avoid(struct sock *sk, u32 ack, u32 acked)\n\
         {\n\ttcp_cong_avoid_ai(tcp_sk(sk), tcp_sk(sk)->sacked_out, acked);\n}",
        ".cong_avoid = own_avoid,",
        "tcp_own.c: cong_avoid: it divides by zero in tcp_cong_avoid_ai\n",
    ),
    (
        "called far",
        "static u32 own_undo(struct sock *sk)\n\
         {\n\ttcp_reno_cong_avoid(NULL, 0, 1);\n\treturn 2;\n}",
        ".undo_cwnd = own_undo,",
        "tcp_own.c:5: undo_cwnd: it reads or writes memory that is not its own in ",
    ),
    (
        "inlined",
        "static u32 own_ssthresh(struct sock *sk)\n\
         {\n\tstruct tcp_sock *none = READ_ONCE(inet_csk(sk)->icsk_rto) ? NULL : tcp_sk(sk);\n\
         \treturn 2 + tcp_is_cwnd_limited((struct sock *)none);\n}",
        ".ssthresh = own_ssthresh,",
        "tcp_own.c:6: ssthresh: it reads or writes memory that is not its own in \
         tcp_is_cwnd_limited, at address 0x",
    ),
    (
        "null",
        "struct own { u32 *count; };\n\
         static void own_acked(struct sock *sk, const struct ack_sample *sample)\n\
         { struct own *own = inet_csk_ca(sk); own->count[2] = 1; }",
        ".pkts_acked = own_acked,",
        "tcp_own.c:5: pkts_acked: it reads or writes memory that is not its own, at address 0x8 \
         (through a pointer that is NULL)\n",
    ),
    (
        "beyond",
        "static void own_init(struct sock *sk)\n\
         { u8 *own = inet_csk_ca(sk); for (int i = 0; i <= 104; i++) own[i] = 1; }",
        ".init = own_init,",
        "tcp_own.c:4: init: it reads or writes memory that is not its own, at address 0x",
    ),
    (
        "loop",
        "static volatile int forever = 1;\n\
         static void own_state(struct sock *sk, u8 state) { while (forever) ; }",
        ".set_state = own_state,",
        "tcp_own.c:4: set_state: it does not come back\n",
    ),
    (
        "recursion",
        "static volatile int depth;\n\
         static noinline int deeper(int n) { volatile char room[4096]; room[n & 7] = 1;\n\
         depth = n; return deeper(n + 1) + room[1]; }\n\
         static void own_event(struct sock *sk, enum tcp_ca_event ev) { depth = deeper(0); }",
        ".cwnd_event = own_event,",
        "tcp_own.c:4: cwnd_event: it reads or writes memory that is not its own, at address 0x",
    ),
    (
        "bug",
        "static u32 own_undo(struct sock *sk) { BUG_ON(tcp_sk(sk)->snd_cwnd > 2); return 2; }",
        ".undo_cwnd = own_undo,",
        "tcp_own.c: undo_cwnd: BUG_ON(tcp_sk(sk)->snd_cwnd > 2) at line 3",
    ),
    (
        "stack",
        "static void own_ack(struct sock *sk, u32 flags)\n\
         { char room[8]; memset(room, 1, tcp_sk(sk)->snd_cwnd * 10); barrier();\n\
           tcp_sk(sk)->snd_cwnd += room[3]; }",
        ".in_ack_event = own_ack,",
        "tcp_own.c: in_ack_event: it aborts, as after a write beyond the end of a variable on the stack",
    ),
    (
        "window",
        "static void own_acked(struct sock *sk, const struct ack_sample *sample)\n\
         { tcp_snd_cwnd_set(tcp_sk(sk), 0); }",
        ".pkts_acked = own_acked,",
        "tcp_own.c: pkts_acked: it leaves snd_cwnd at 0",
    ),
    (
        "threshold",
        "static u32 own_ssthresh(struct sock *sk) { return tcp_sk(sk)->snd_cwnd - 20; }",
        ".ssthresh = own_ssthresh,",
        "tcp_own.c: ssthresh: it returns 4294967286 (-10) segments",
    ),
    (
        "exits",
        "void exit(int code);\n\
         static void own_acked(struct sock *sk, const struct ack_sample *sample) { exit(0); }",
        ".pkts_acked = own_acked,",
        "tcp_own.c: pkts_acked: it ends its process\n",
    ),
    (
        "asleep",
        "unsigned int sleep(unsigned int s);\n\
         static void own_acked(struct sock *sk, const struct ack_sample *sample) { sleep(600); }",
        ".pkts_acked = own_acked,",
        "tcp_own.c: pkts_acked: it does not come back within 1 s\n",
    ),
    (
        "other",
        "static struct tcp_congestion_ops half = { .name = \"half\" };\n\
         static void own_init(struct sock *sk) { inet_csk(sk)->icsk_ca_ops = &half; }",
        ".init = own_init,",
        "tcp_own.c: ssthresh: the struct tcp_congestion_ops that it gave the flow has no such hook\n",
    ),
    (
        "released",
        "static void own_release(struct sock *sk) { kfree((void *)8); }",
        ".release = own_release,",
        "tcp_own.c: release: ",
    ),
];

/// Every hook once.
fn call_all(module: &mut impl CongestionOps) {
    let mut tcp = Tcp {
        is_cwnd_limited: 1,
        ..Tcp::default()
    };
    module.init(&mut tcp);
    module.pkts_acked(&mut tcp, &AckSample::default());
    module.in_ack_event(&mut tcp, 0);
    module.ssthresh(&mut tcp);
    module.set_state(&mut tcp, CaState::Recovery);
    module.cwnd_event(&mut tcp, CaEvent::Loss);
    module.undo_cwnd(&mut tcp);
    module.cong_avoid(&mut tcp, 1, 1);
}

/// The child: runs the fault that the environment names.
#[test]
fn run_the_fault_that_is_asked_for() {
    let Ok(which) = std::env::var(WHICH) else {
        return;
    };
    let report = std::env::var(REPORT).expect("a file");
    let report = std::fs::File::create(report).expect("a file");
    let (_, before, parts, _) = FAULTS
        .iter()
        .find(|fault| fault.0 == which)
        .expect("a fault");
    let compiled = common::own(&common::reno_but(before, parts)).expect("it compiles");
    guard::install(
        report.as_raw_fd(),
        Duration::from_millis(300),
        Duration::from_secs(1),
    )
    .expect("handlers");
    let loaded = compiled.load(&BTreeMap::new()).expect("it loads");
    let mut module = loaded.module();
    call_all(&mut module);
}

#[test]
fn faults_are_told_with_file_and_hook() {
    let folder = tempfile::tempdir().expect("a folder");
    for (which, before, parts, expected) in FAULTS {
        common::own(&common::reno_but(before, parts)).expect("it compiles");
        let report = folder.path().join(which);
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "run_the_fault_that_is_asked_for"])
            .env(WHICH, which)
            .env(REPORT, &report)
            .output()
            .expect("a child");
        let told = std::fs::read_to_string(&report).expect("what is told");
        assert!(told.starts_with(expected), "{which}: {told:?}");
        assert!(
            told.ends_with('\n') && told.lines().count() == 1,
            "{told:?}"
        );
        assert_eq!(child.status.code(), Some(guard::EXIT), "{which}");
    }
}

/// A module that does nothing amiss is not told of.
#[test]
fn who_does_nothing_amiss_is_not_told_of() {
    let compiled = common::own(&common::reno_but("", "")).expect("it compiles");
    let loaded = compiled.load(&BTreeMap::new()).expect("it loads");
    for _ in 0..1_000 {
        call_all(&mut loaded.module());
    }
}
