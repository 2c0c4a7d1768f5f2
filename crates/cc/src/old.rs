//! Variants of Linux with windows of their own.

pub(crate) mod bbr;
pub(crate) mod bic;
pub(crate) mod cubic;
pub(crate) mod dctcp;
pub(crate) mod highspeed;
pub(crate) mod htcp;
pub(crate) mod hybla;
pub(crate) mod illinois;
pub(crate) mod lp;
mod round;
pub(crate) mod scalable;
pub(crate) mod vegas;
pub(crate) mod veno;
pub(crate) mod westwood;
pub(crate) mod yeah;
