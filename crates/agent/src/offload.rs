//! Interfaces: states and offloads. An offload lets packets larger than the MTU cross what
//! stands for a wire.

use std::io;

use crate::sys;

/// Every offload that is turned off, by its `ETHTOOL_G...` and `ETHTOOL_S...` command
/// (include/uapi/linux/ethtool.h).
const OFFLOADS: [(&str, u32, u32); 3] = [
    ("TCP segmentation", 0x1e, 0x1f),
    ("generic segmentation", 0x23, 0x24),
    ("generic receive", 0x2b, 0x2c),
];

/// Turns the offloads of `interface`, in the present namespace, off.
pub fn disable(interface: &str) -> io::Result<()> {
    for (name, get, set) in OFFLOADS {
        // Some interfaces have an offload only switched off, and cannot be told to.
        if sys::ethtool(interface, get, 0)? != 0 {
            sys::ethtool(interface, set, 0)?;
        }
        if sys::ethtool(interface, get, 0)? != 0 {
            return Err(io::Error::other(format!("{name} offload stays on")));
        }
    }
    Ok(())
}

/// Brings `interface` up.
pub fn up(interface: &str) -> io::Result<()> {
    sys::interface_up(interface)
}
