//! `struct tcp_info` (include/uapi/linux/tcp.h).

use std::io;
use std::os::fd::RawFd;

use cclab_testbed::records::TcpInfo;

use crate::sys;

/// Bytes of the structure of Linux 6.12; an older kernel gives less, the rest is zero.
const SIZE: usize = 248;

/// `TCP_CC_INFO`.
const TCP_CC_INFO: i32 = 26;

/// TCP_INFO of a socket.
pub fn of(socket: RawFd) -> io::Result<TcpInfo> {
    let (bytes, _) = sys::get_option::<[u8; SIZE]>(socket, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(parse(&bytes))
}

/// TCP_CC_INFO of a socket: what its variant tells of its inner state; zeros if it tells nothing.
pub fn of_variant(socket: RawFd) -> [u32; 5] {
    let told = sys::get_option::<[u8; 20]>(socket, libc::IPPROTO_TCP, TCP_CC_INFO);
    told.map_or([0; 5], |(bytes, _)| words(&bytes))
}

/// `union tcp_cc_info` in words; what a shorter one lacks is zero.
pub fn words(bytes: &[u8]) -> [u32; 5] {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    [0, 1, 2, 3, 4].map(|word| u32::from_ne_bytes([0, 1, 2, 3].map(|i| byte(4 * word + i))))
}

/// Reads the structure; what a shorter one lacks is zero.
pub fn parse(bytes: &[u8]) -> TcpInfo {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let half = |at: usize| u16::from_ne_bytes([byte(at), byte(at + 1)]);
    let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|i| byte(at + i)));
    let long = |at: usize| u64::from_ne_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| byte(at + i)));
    TcpInfo {
        ca_state: byte(1),
        options: byte(5),
        rto: word(8),
        snd_mss: word(16),
        rcv_mss: word(20),
        unacked: word(24),
        sacked: word(28),
        lost: word(32),
        retrans: word(36),
        last_data_recv: word(52),
        rtt: word(68),
        rttvar: word(72),
        snd_ssthresh: word(76),
        snd_cwnd: word(80),
        total_retrans: word(100),
        pacing_rate: long(104),
        bytes_acked: long(120),
        bytes_received: long(128),
        segs_out: word(136),
        segs_in: word(140),
        notsent_bytes: word(144),
        min_rtt: word(148),
        data_segs_in: word(152),
        data_segs_out: word(156),
        delivery_rate: long(160),
        busy_time: long(168),
        rwnd_limited: long(176),
        sndbuf_limited: long(184),
        delivered: word(192),
        delivered_ce: word(196),
        bytes_sent: long(200),
        bytes_retrans: long(208),
        dsack_dups: word(216),
        reord_seen: word(220),
        snd_wnd: word(228),
        rcv_wnd: word(232),
        total_rto: half(240),
        cc_info: [0; 5],
    }
}
