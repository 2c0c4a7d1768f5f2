//! Links the module with the functions of the simulator side by side, as crate `cclab-sim` says.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Ok(script) = env::var("DEP_CCLAB_HOT_SCRIPT") {
        println!("cargo:rerun-if-changed={script}");
        println!("cargo:rustc-link-arg-cdylib=-T{script}");
    }
}
