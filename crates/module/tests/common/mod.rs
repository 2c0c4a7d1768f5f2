//! Where tests find modules: those of Linux 6.12, from Debian's package, and texts of their own.

#![allow(
    dead_code,
    reason = "each file of tests includes this one, and none needs all of it"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cclab_module::kept::Kept;
use cclab_module::{Compiled, Loaded, ModuleError, Sources};

const PACKAGE: &str = "/usr/src/linux-source-6.12.tar.xz";
const FOLDER: &str = "linux-source-6.12/net/ipv4";

/// The congestion controls of the distribution that are files of their own, with what they register.
/// The seventeenth, reno, is a part of the stack (`tcp_cong.c`).
pub const MODULES: [(&str, &str); 16] = [
    ("tcp_bbr.c", "bbr"),
    ("tcp_bic.c", "bic"),
    ("tcp_cdg.c", "cdg"),
    ("tcp_cubic.c", "cubic"),
    ("tcp_dctcp.c", "dctcp"),
    ("tcp_highspeed.c", "highspeed"),
    ("tcp_htcp.c", "htcp"),
    ("tcp_hybla.c", "hybla"),
    ("tcp_illinois.c", "illinois"),
    ("tcp_lp.c", "lp"),
    ("tcp_nv.c", "nv"),
    ("tcp_scalable.c", "scalable"),
    ("tcp_vegas.c", "vegas"),
    ("tcp_veno.c", "veno"),
    ("tcp_westwood.c", "westwood"),
    ("tcp_yeah.c", "yeah"),
];

/// The folder of the kernel's files, unpacked once for all tests.
pub fn kernel() -> &'static Path {
    static UNPACKED: OnceLock<PathBuf> = OnceLock::new();
    UNPACKED.get_or_init(|| {
        assert!(
            Path::new(PACKAGE).exists(),
            "the modules are those of Debian's package: apt install linux-source-6.12"
        );
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linux-6.12");
        if !place.exists() {
            let new = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
            let unpacked = Command::new("tar")
                .args(["-xf", PACKAGE, "--wildcards", "-C"])
                .arg(new.path())
                .arg(format!("{FOLDER}/tcp_*.[ch]"))
                .status();
            assert!(unpacked.expect("tar").success(), "{PACKAGE} is a tarball");
            // Who was first, it is the same.
            let _ = fs::rename(new.path().join(FOLDER), &place);
        }
        place
    })
}

/// What is compiled in tests, kept from one run to the next.
pub fn cache() -> Kept {
    Kept::at(&cache_folder(), 10_000)
}

/// The folder of what is compiled in tests.
pub fn cache_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("modules")
}

/// The texts of the kernel's `file`.
pub fn texts(file: &str) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for name in [file, "tcp_dctcp.h", "tcp_vegas.h"] {
        let text = fs::read_to_string(kernel().join(name)).expect("a file of the package");
        texts.insert(name.to_owned(), text);
    }
    texts
}

/// Compiles the kernel's `file`.
pub fn compiled(file: &str) -> Compiled {
    let texts = texts(file);
    let sources = Sources {
        file,
        texts: &texts,
    };
    Compiled::of(&sources, &cache()).unwrap_or_else(|why| panic!("{why}"))
}

/// The kernel's `file` with its defaults.
pub fn loaded(file: &str) -> Loaded {
    let loaded = compiled(file).load(&BTreeMap::new());
    loaded.unwrap_or_else(|why| panic!("{why}"))
}

/// Compiles `text` as the file `tcp_own.c`.
pub fn own(text: &str) -> Result<Compiled, ModuleError> {
    let texts = BTreeMap::from([("tcp_own.c".to_owned(), text.to_owned())]);
    let sources = Sources {
        file: "tcp_own.c",
        texts: &texts,
    };
    Compiled::of(&sources, &cache())
}

/// A module that is Reno but for `parts`, fields of its `struct tcp_congestion_ops`, whose functions
/// `before` defines.
pub fn reno_but(before: &str, parts: &str) -> String {
    format!(
        "#include <linux/module.h>\n#include <net/tcp.h>\n{before}\n\
         static struct tcp_congestion_ops own = {{\n\
         .name = \"own\", .owner = THIS_MODULE, .ssthresh = tcp_reno_ssthresh,\n\
         .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid,\n{parts}\n}};\n\
         static int __init own_begin(void) {{ return tcp_register_congestion_control(&own); }}\n\
         static void __exit own_end(void) {{ tcp_unregister_congestion_control(&own); }}\n\
         module_init(own_begin);\nmodule_exit(own_end);\nMODULE_LICENSE(\"GPL\");\n"
    )
}
