//! Files that are no modules are refused with what is wrong and where.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use cclab_interface::{CongestionOps, Tcp};
use cclab_module::kept::Kept;
use cclab_module::{Compiled, ModuleError, Sources};
use common::{own, reno_but};

fn refused(text: &str) -> String {
    own(text).expect_err("it is refused").to_string()
}

#[test]
fn the_compilers_words_come_with_the_users_file_line_and_column() {
    let text = reno_but("static int unfinished(void) { return }", "");
    assert_eq!(
        refused(&text),
        "tcp_own.c:3:38: expected expression before '}' token"
    );
    let told = refused(&reno_but(
        "static u32 own_ssthresh(struct sock *sk)\n{ return tcp_sk(sk)->snd_wnd / 2; }",
        ".ssthresh = own_ssthresh,",
    ));
    let expected = "tcp_own.c:4:22: 'struct tcp_sock' has no member named 'snd_wnd'";
    assert!(told.starts_with(expected), "{told}");
    let told = refused("#include <linux/no_such.h>\n");
    assert!(
        told.starts_with("tcp_own.c:1:10: linux/no_such.h: No such file"),
        "{told}"
    );
    // One that is declared by the file itself is missed by the linker only.
    let text = reno_but(
        "void tcp_v4_own(struct sock *sk);\n\
         static void own_init(struct sock *sk)\n{\n\ttcp_v4_own(sk);\n}",
        ".init = own_init,",
    );
    assert_eq!(
        refused(&text),
        "tcp_own.c:6: the simulator has no tcp_v4_own, which the file calls"
    );
    let told = refused(&reno_but(
        "struct big { u64 words[14]; };\n\
         static void own_init(struct sock *sk)\n\
         {\n\tBUILD_BUG_ON(sizeof(struct big) > ICSK_CA_PRIV_SIZE);\n}",
        ".init = own_init,",
    ));
    assert!(told.starts_with("tcp_own.c:6:"), "{told}");
    assert!(told.contains("BUILD_BUG_ON: sizeof(struct big)"), "{told}");
}

#[test]
fn what_is_included_by_quotes_is_found_and_told_of() {
    let texts = |header: &str| {
        BTreeMap::from([
            (
                "tcp_own.c".to_owned(),
                reno_but("#include \"parts/own.h\"", ".init = own_init,"),
            ),
            ("parts/own.h".to_owned(), header.to_owned()),
        ])
    };
    let of = |header: &str| {
        let texts = texts(header);
        let sources = Sources {
            file: "tcp_own.c",
            texts: &texts,
        };
        Compiled::of(&sources, &common::cache())
    };
    assert!(of("static void own_init(struct sock *sk) { }\n").is_ok());
    let told = of("static void own_init(struct sock *sk) { none; }\n");
    let told = told.expect_err("it is refused").to_string();
    assert!(
        told.starts_with("parts/own.h:1:41: 'none' undeclared"),
        "{told}"
    );
}

#[test]
fn what_linux_would_not_register_is_refused() {
    let lacks = |parts: &str| refused(&reno_but("", parts));
    for (parts, what) in [
        (".ssthresh = NULL,", "ssthresh"),
        (".undo_cwnd = NULL,", "undo_cwnd"),
        (".cong_avoid = NULL,", "cong_avoid or cong_control"),
    ] {
        let expected = format!("tcp_own.c: registers a congestion control without {what}: Linux");
        assert!(lacks(parts).starts_with(&expected), "{parts}");
    }
    let none = "#include <linux/module.h>\nstatic int b(void) { return 0; }\nmodule_init(b);\n";
    assert!(refused(none).starts_with("tcp_own.c: registers no congestion control"));
    let fails = "#include <linux/module.h>\nstatic int b(void) { return -ENOMEM; }\n\
                 module_init(b);\n";
    assert_eq!(
        refused(fails),
        "tcp_own.c: its module_init function failed: it returned -12"
    );
    let crashes = "#include <linux/module.h>\nstatic int none;\n\
                   static int b(void) { return 1000 / READ_ONCE(none); }\nmodule_init(b);\n";
    assert_eq!(
        refused(crashes),
        "tcp_own.c: module_init: it divides by zero"
    );
    let ends = "#include <linux/module.h>\nvoid exit(int code);\n\
                static int b(void) { exit(0); return 0; }\nmodule_init(b);\n";
    assert_eq!(refused(ends), "tcp_own.c: module_init: it ends its process");
}

#[test]
fn values_of_parameters_are_of_each_load() {
    let text = reno_but(
        "static int share = 2;\nmodule_param(share, int, 0644);\n\
         MODULE_PARM_DESC(share, \"what a loss divides by\");\n\
         static int begun;\n\
         static u32 own_ssthresh(struct sock *sk)\n\
         { begun++; return tcp_sk(sk)->snd_cwnd / share + begun; }",
        ".ssthresh = own_ssthresh,",
    );
    let compiled = own(&text).expect("it compiles");
    let load = |share: f64| {
        let values = BTreeMap::from([("share".to_owned(), share)]);
        compiled.load(&values).expect("it loads")
    };
    let (half, fifth) = (load(2.0), load(5.0));
    let mut tcp = Tcp {
        snd_cwnd: 100,
        ..Tcp::default()
    };
    // Variables are of a load, too: its flows share them.
    assert_eq!(half.module().ssthresh(&mut tcp), 51);
    assert_eq!(half.module().ssthresh(&mut tcp), 52);
    assert_eq!(fifth.module().ssthresh(&mut tcp), 21);
}

/// What a module has of a flow is the flow's, and zero at first.
#[test]
fn private_bytes_are_of_each_flow() {
    let text = reno_but(
        "struct own { u32 seen; u32 rest[25]; };\n\
         static void own_init(struct sock *sk)\n\
         { struct own *own = inet_csk_ca(sk);\n\
           BUILD_BUG_ON(sizeof(*own) != ICSK_CA_PRIV_SIZE);\n\
           if (own->seen || own->rest[24]) BUG();\n\
           own->rest[24] = get_random_u32_below(1000) + 1; }\n\
         static u32 own_ssthresh(struct sock *sk)\n\
         { struct own *own = (void *)inet_csk(sk)->icsk_ca_priv;\n\
           return ++own->seen * 1000000 + own->rest[24] * 1000 + jiffies; }",
        ".init = own_init, .ssthresh = own_ssthresh,",
    );
    let loaded = own(&text).expect("it compiles").load(&BTreeMap::new());
    let loaded = loaded.expect("it loads");
    let mut flows: Vec<_> = (0..3)
        .map(|number| {
            let tcp = Tcp {
                jiffies: 100 + number,
                dice: number,
                ..Tcp::default()
            };
            (loaded.module(), tcp)
        })
        .collect();
    let mut expected: Vec<u32> = Vec::new();
    for (module, tcp) in &mut flows {
        let drawn = tcp.clone().random_u32_below(1_000) + 1;
        expected.push(drawn * 1_000 + tcp.jiffies as u32);
        module.init(tcp);
    }
    for seen in 1..=2 {
        for ((module, tcp), expected) in flows.iter_mut().zip(&expected) {
            assert_eq!(module.ssthresh(tcp), seen * 1_000_000 + expected);
        }
    }
}

/// The variable that makes `compile_when_asked` a child.
const ASKED: &str = "CCLAB_TEST_COMPILE";

/// In a child process: compiles, and loads, with the folder that the environment names.
#[test]
fn compile_when_asked() {
    let Ok(folder) = std::env::var(ASKED) else {
        return;
    };
    let texts = BTreeMap::from([("tcp_own.c".to_owned(), reno_but("", ""))]);
    let sources = Sources {
        file: "tcp_own.c",
        texts: &texts,
    };
    match Compiled::of(&sources, &Kept::at(folder.as_ref(), 4)) {
        Ok(compiled) => {
            let loaded = compiled.load(&BTreeMap::new()).expect("it loads");
            let halved = loaded.module().ssthresh(&mut Tcp::default());
            println!("compiled {} {halved}", compiled.description().name);
        }
        Err(why @ ModuleError::NoCompiler { .. }) => println!("no compiler: {why}"),
        Err(why) => println!("{why}"),
    }
}

fn child(folder: &std::path::Path) -> Command {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child
        .args(["--exact", "compile_when_asked", "--nocapture"])
        .env(ASKED, folder)
        .stdout(std::process::Stdio::piped());
    child
}

#[test]
fn without_a_compiler_the_package_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = child(folder.path()).env("CC", "no-such-cc -m64").output();
    let said = String::from_utf8(child.expect("a child").stdout).expect("text");
    let expected = "no compiler: compiling tcp_own.c needs a C compiler, and `no-such-cc -m64` is \
                    none: install one (Debian: apt install gcc libc6-dev), or name yours in the \
                    environment variable CC";
    assert!(said.contains(expected), "{said}");
}

/// What two processes make at once in one folder is whole for both, and nothing else stays there.
#[test]
fn two_processes_may_compile_the_same_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let children: Vec<_> = (0..3)
        .map(|_| child(folder.path()).spawn().expect("a child"))
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("a child");
        let said = String::from_utf8(output.stdout).expect("text");
        assert!(said.contains("compiled own 5"), "{said}");
    }
    let mut endings: Vec<String> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| {
            let name = entry.expect("a file").file_name();
            let name = name.to_string_lossy().into_owned();
            match name.rsplit_once('.') {
                Some((_, ending)) => ending.to_owned(),
                None => name.split('-').next().unwrap_or_default().to_owned(),
            }
        })
        .collect();
    endings.sort();
    assert_eq!(endings, ["ours", "so", "told"]);
}

/// A sweep's run may have many files and values: each is a copy of its own in the process.
#[test]
fn many_copies_are_loaded_at_once() {
    let compiled = own(&reno_but("", "")).expect("it compiles");
    let loaded: Vec<_> = (0..200)
        .map(|_| compiled.load(&BTreeMap::new()).expect("it loads"))
        .collect();
    let mut tcp = Tcp::default();
    for loaded in &loaded {
        assert_eq!(loaded.module().ssthresh(&mut tcp), 5);
    }
}

/// Where nothing can be kept, all is compiled anew, and nothing is left behind.
#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let passing = tempfile::tempdir().expect("a folder");
    let said = |temporary: &std::path::Path| {
        let mut child = child("/proc/none".as_ref());
        let output = child.env("TMPDIR", temporary).output().expect("a child");
        String::from_utf8(output.stdout).expect("text")
    };
    let done = said(passing.path());
    assert!(done.contains("compiled own 5"), "{done}");
    let left = std::fs::read_dir(passing.path()).expect("the folder");
    assert_eq!(left.count(), 0);
    let told = said("/nowhere".as_ref());
    assert!(told.contains("it cannot be compiled: "), "{told}");
    assert!(
        told.contains("; set TMPDIR or XDG_CACHE_HOME to a folder with room\n"),
        "{told}"
    );
}

/// Of what was compiled, that stays which was used last.
#[test]
fn what_was_not_used_for_longest_is_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    let old = std::fs::FileTimes::new().set_modified(long_ago);
    for name in ["1.so", "1.told", "2.so", ".work-1.so"] {
        let file = std::fs::File::create(folder.path().join(name)).expect("a file");
        file.set_times(old).expect("a time");
    }
    for name in ["ours-1", "ours-2", "ours-3", "ours-4", ".work-2"] {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).expect("a folder");
        let file = std::fs::File::open(path).expect("a folder");
        file.set_times(old).expect("a time");
    }
    let output = child(folder.path()).output().expect("a child");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("compiled own 5"), "{said}");
    let entries = std::fs::read_dir(folder.path()).expect("the folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a file").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    // The new ones have names of 32 digits.
    let (new, old): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| name.len() > 16);
    assert_eq!(old, ["1.told", "2.so", "ours-2", "ours-3", "ours-4"]);
    assert_eq!(new.len(), 3, "{new:?}");
}
