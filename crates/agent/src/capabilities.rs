//! Parts of root's power, given up for good.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};

/// Whatever this process becomes has no capability beyond `kept`; this process still has those that
/// it has.
///
/// # Errors
/// If the kernel refuses.
pub fn keep(kept: &CapsHashSet) -> Result<(), CapsError> {
    caps::clear(None, CapSet::Inheritable)?;
    // Who may not change the set has nothing of it.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        caps::runtime::thread_all_supported()
            .difference(kept)
            .try_for_each(|&capability| caps::drop(None, CapSet::Bounding, capability))?;
    }
    Ok(())
}
