//! Has the linker lay the functions of the simulator side by side that packets run through: `hot.ld`.
//! It goes to the examples of this crate, which are what is measured, and to those who link it as
//! `DEP_CCLAB_HOT_SCRIPT` of their build script.

use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=hot.ld");
    println!("cargo:rerun-if-env-changed=CCLAB_NO_LAYOUT");
    let of = |name: &str| env::var(name).unwrap_or_default();
    let flags = of("CARGO_ENCODED_RUSTFLAGS");
    // GNU's linker and LLVM's know such scripts; one that somebody chose may not, nor do those for other
    // systems. Who chose one in a way that is not seen here sets CCLAB_NO_LAYOUT. What a training run
    // counted orders functions by itself.
    let is_own_linux = of("CARGO_CFG_TARGET_OS") == "linux" && of("TARGET") == of("HOST");
    let is_chosen = ["CCLAB_NO_LAYOUT", "RUSTC_LINKER"].map(env::var_os) != [None, None]
        || flags.contains("linker=")
        || flags.contains("fuse-ld");
    let by_training = flags.contains("profile-use");
    if is_own_linux && !is_chosen && !by_training {
        // A copy in OUT_DIR: cargo takes what this said for true in another copy of the tree, too, where a
        // path into the first may lead nowhere.
        let script = format!("{}/hot.ld", of("OUT_DIR"));
        fs::write(&script, fs::read("hot.ld")?)?;
        println!("cargo:rustc-link-arg-examples=-T{script}");
        println!("cargo:script={script}");
    }
    Ok(())
}
