//! Parts of root's power, given up for good.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};

/// Whatever this process becomes has no capability beyond `kept`; this process still has those that
/// it has.
///
/// # Errors
/// If the kernel refuses.
pub fn bound(kept: &CapsHashSet) -> Result<(), CapsError> {
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Inheritable)?;
    // Nobody else may lower the bound; what he becomes has no more than he has.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        caps::runtime::thread_all_supported()
            .difference(kept)
            .try_for_each(|&capability| caps::drop(None, CapSet::Bounding, capability))?;
    }
    Ok(())
}

/// This process has none beyond `kept` any more.
///
/// # Errors
/// If the kernel refuses.
pub fn keep(kept: &CapsHashSet) -> Result<(), CapsError> {
    let had = caps::read(None, CapSet::Permitted)?;
    let left: CapsHashSet = had.intersection(kept).copied().collect();
    caps::set(None, CapSet::Effective, &left)?;
    caps::set(None, CapSet::Permitted, &left)
}
