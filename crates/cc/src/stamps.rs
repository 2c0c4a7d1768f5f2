//! The clocks of timestamps as a module of Linux sees them. Here both ends' clocks begin together,
//! at zero; in the kernel they have run for a while, and each connection's stamps begin at random
//! (`tcp_ts_off`).

use cclab_interface::Tcp;
use cclab_units::parameter::Params;

/// The parameter that sets by how much the receiver's timestamps are ahead.
pub(crate) const TIMESTAMP_OFFSET: &str = "timestamp_offset";
/// The parameter that sets how long both clocks have run before.
pub(crate) const UPTIME: &str = "uptime";
/// `uptime` of variants that do not declare it, in milliseconds: what the guests of the kernel
/// backends have behind them.
const USUAL_UPTIME: u32 = 10_000;

/// `seconds` as a clock of milliseconds counts them.
pub(crate) fn milliseconds(seconds: f64) -> u32 {
    (seconds * 1e3).round() as u32
}

/// The clocks of a connection's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampClocks {
    /// Milliseconds by which the receiver's stamps are ahead; `None` until drawn.
    ahead: Option<u32>,
    /// Milliseconds that both had run when the connection's clock was zero.
    uptime: u32,
}

impl StampClocks {
    /// The clocks that `params` ask for: of a variant that declares neither parameter, those of
    /// the kernel's guests.
    pub fn of(params: &Params) -> StampClocks {
        let ahead = params.declares(TIMESTAMP_OFFSET);
        let ahead = ahead.then(|| params.given(TIMESTAMP_OFFSET)).flatten();
        let uptime = params.declares(UPTIME).then(|| params.get(UPTIME));
        StampClocks {
            ahead: ahead.map(milliseconds),
            uptime: uptime.map_or(USUAL_UPTIME, milliseconds),
        }
    }

    /// What a clock that both ends begin at zero lacks, in microseconds: the stack adds it to
    /// [`Tcp::tcp_mstamp`], with which modules compare the echo.
    pub fn uptime_us(&self) -> u64 {
        u64::from(self.uptime) * 1_000
    }

    /// How far the clock of the other end is ahead.
    #[cold]
    fn begin(&mut self, tcp: &mut Tcp) -> u32 {
        *self.ahead.insert(tcp.random_u32())
    }

    /// Writes the stamps of an acknowledgement, which both ends' clocks here show as `value` and
    /// `echo`, into `tcp` as the kernel would.
    #[inline]
    pub fn stamp(&mut self, tcp: &mut Tcp, value: u32, echo: u32) {
        let ahead = match self.ahead {
            Some(ahead) => ahead,
            None => self.begin(tcp),
        };
        tcp.rcv_tsval = value.wrapping_add(self.uptime).wrapping_add(ahead);
        tcp.rcv_tsecr = echo.wrapping_add(self.uptime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp;

    fn stamped(params: &Params) -> (StampClocks, [(u32, u32); 2]) {
        let mut clocks = StampClocks::of(params);
        let mut tcp = Tcp::default();
        let seen = [(7, 3), (9, 5)].map(|(value, echo)| {
            clocks.stamp(&mut tcp, value, echo);
            (tcp.rcv_tsval, tcp.rcv_tsecr)
        });
        (clocks, seen)
    }

    #[test]
    fn parameters_set_both_clocks() {
        let given = [(TIMESTAMP_OFFSET, 0.25), (UPTIME, 2.0)];
        let given = given.map(|(n, v)| (n.to_owned(), v)).into();
        let params = Params::new(lp::PARAMS, &given).expect("in range");
        let (clocks, seen) = stamped(&params);
        assert_eq!(seen, [(2_257, 2_003), (2_259, 2_005)]);
        assert_eq!(clocks.uptime_us(), 2_000_000);
    }

    /// Once, whether the variant could have said or not.
    #[test]
    fn what_nobody_sets_is_drawn() {
        let drawn = Tcp::default().random_u32();
        for params in [Params::defaults(&[]), Params::defaults(lp::PARAMS)] {
            let (_, seen) = stamped(&params);
            let value = 10_007_u32.wrapping_add(drawn);
            assert_eq!(seen, [(value, 10_003), (value.wrapping_add(2), 10_005)]);
        }
    }
}
