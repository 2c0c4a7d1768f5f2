//! Proportional rate reduction (RFC 9937; RFC 6937 with the reduction bound of Linux
//! `tcp_cwnd_reduction`): the window falls to ssthresh over one round trip, one departure for
//! every so many deliveries.

/// State of one episode.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// Flight, or window, when the episode began (`RecoverFS`).
    recover_fs: u64,
    /// Bytes delivered to the receiver since (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since (`prr_out`).
    sent: u64,
    /// The window in force.
    cwnd: u64,
    /// What departures are counted in: bytes (RFC 9937) or whole segments (Linux), where half a
    /// segment earned lets one leave.
    quantum: u64,
}

/// What one acknowledgement did.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes delivered.
    pub newly_delivered: u64,
    /// Bytes newly taken for lost.
    pub newly_lost: u64,
    /// Whether `snd_una` moved.
    pub advanced: bool,
    /// Bytes in flight now.
    pub in_flight: u64,
}

impl Prr {
    /// Of a connection that has not lost anything.
    pub const NEW: Prr = Prr {
        recover_fs: 0,
        delivered: 0,
        sent: 0,
        cwnd: 0,
        quantum: 0,
    };

    /// Begins an episode in which departures are counted in units of `quantum` bytes.
    pub fn begin(recover_fs: u64, quantum: u64) -> Prr {
        Prr {
            recover_fs: recover_fs.max(1),
            delivered: 0,
            sent: 0,
            cwnd: recover_fs,
            quantum: quantum.max(1),
        }
    }

    /// The window in force.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Counts bytes that left.
    pub fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Takes in an acknowledgement and sets the window.
    pub fn on_ack(&mut self, ack: Progress, ssthresh: u64, mss: u64) {
        if ack.newly_delivered == 0 && ack.newly_lost == 0 {
            return;
        }
        self.delivered += ack.newly_delivered;
        let budget = if ack.in_flight > ssthresh {
            // Proportional part: ceil(delivered * ssthresh / RecoverFS) - prr_out.
            (self.delivered * ssthresh)
                .div_ceil(self.recover_fs)
                .next_multiple_of(self.quantum)
                .saturating_sub(self.sent)
        } else {
            // Slow start towards ssthresh while progress is good (the safe ACK of RFC 9937),
            // else packet conservation.
            let mut limit = self
                .delivered
                .saturating_sub(self.sent)
                .max(ack.newly_delivered);
            if ack.advanced && ack.newly_lost == 0 {
                limit += mss;
            }
            limit.min(ssthresh - ack.in_flight)
        };
        // The fast retransmit itself always leaves.
        let least = if self.sent == 0 { mss } else { 0 };
        self.cwnd = ack.in_flight + budget.max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 section 4, first example: 20 segments in flight, the first is lost, ssthresh is
    /// 10, limited transmit sent two more. The third duplicate finds 22 - 3 - 1 = 18 in the
    /// network; from it on, one segment leaves for every two delivered.
    #[test]
    fn the_window_halves_over_one_round_trip() {
        let (mss, ssthresh) = (1, 10);
        let mut prr = Prr::begin(20, 1);
        let mut in_flight: u64 = 18;
        let mut sent = Vec::new();
        for ack in 0..16 {
            in_flight -= u64::from(ack > 0);
            let progress = Progress {
                newly_delivered: 1,
                newly_lost: u64::from(ack == 0),
                advanced: false,
                in_flight,
            };
            prr.on_ack(progress, ssthresh, mss);
            let room = prr.cwnd().saturating_sub(in_flight);
            prr.on_sent(room);
            in_flight += room;
            sent.push(room);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(in_flight, 11);
    }

    #[test]
    fn below_ssthresh_the_window_never_jumps_past_it() {
        let mut prr = Prr::begin(20, 1);
        let mut in_flight = 2;
        for _ in 0..20 {
            let ack = Progress {
                newly_delivered: 1,
                newly_lost: 0,
                advanced: true,
                in_flight,
            };
            prr.on_ack(ack, 10, 1);
            assert!(prr.cwnd() <= 10 || prr.cwnd() <= in_flight + 1);
            let room = prr.cwnd() - in_flight;
            prr.on_sent(room);
            in_flight = in_flight + room - 1;
        }
    }
}
