//! What the stack found in an acknowledgement (`FLAG_` of `tcp_input.c`), by the kernel's bits:
//! `cong_control` is told them.

pub const WIN_UPDATE: u32 = 0x02;
pub const DATA_ACKED: u32 = 0x04;
pub const RETRANS_DATA_ACKED: u32 = 0x08;
pub const DATA_SACKED: u32 = 0x20;
pub const ECE: u32 = 0x40;
pub const LOST_RETRANS: u32 = 0x80;
pub const SLOWPATH: u32 = 0x100;
/// Data was delivered that left before the episode and never again.
pub const ORIG_SACK_ACKED: u32 = 0x200;
pub const SND_UNA_ADVANCED: u32 = 0x400;
pub const DSACKING_ACK: u32 = 0x800;
pub const SET_XMIT_TIMER: u32 = 0x1000;
pub const SACK_RENEGING: u32 = 0x2000;
pub const ACK_MAYBE_DELAYED: u32 = 0x1_0000;
pub const DSACK_TLP: u32 = 0x2_0000;

pub const NOT_DUP: u32 = WIN_UPDATE | DATA_ACKED;
pub const CA_ALERT: u32 = DATA_SACKED | ECE | DSACKING_ACK;
pub const FORWARD_PROGRESS: u32 = DATA_ACKED | DATA_SACKED;
