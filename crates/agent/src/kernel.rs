//! Which kernel this is.

use std::fs;
use std::io::Read;

use cclab_testbed::records::Kernel;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

/// The running kernel.
pub fn identify() -> Kernel {
    let line = |path: &str| {
        fs::read_to_string(path)
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    Kernel {
        release: line("/proc/sys/kernel/osrelease"),
        version: line("/proc/sys/kernel/version"),
        config_sha256: configuration().map(|text| {
            let digest = Sha256::digest(&text);
            digest.iter().map(|byte| format!("{byte:02x}")).collect()
        }),
    }
}

/// The configuration that the kernel was built with, if it shows it.
fn configuration() -> Option<Vec<u8>> {
    let packed = fs::File::open("/proc/config.gz").ok()?;
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).ok()?;
    Some(text)
}
