//! HyStart as the kernel's CUBIC has it, in its units: slow start ends at a train of ACKs longer
//! than half the smallest round trip, or when round trips get longer (Ha and Rhee 2008).

use cclab_interface::{PacingStatus, Tcp, after};

/// `HYSTART_MIN_SAMPLES`: a round's smallest round trip counts after so many.
const MIN_SAMPLES: u8 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`: bounds of the rise that counts, in microseconds.
const DELAY_MIN: u32 = 4_000;
const DELAY_MAX: u32 = 16_000;
/// `hystart_low_window`, in segments.
const LOW_WINDOW: u32 = 16;
/// `hystart_ack_delta_us`: a longer gap breaks a train, in microseconds.
const ACK_DELTA: i32 = 2_000;
/// The most by which bursts of offloaded segments stretch a train, in microseconds.
const ACK_DELAY_MAX: u64 = 1_000;

/// The part of `struct bictcp` that is HyStart's. Times are in microseconds, of 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HyStart {
    samples: u8,
    /// Whether slow start was ended (`found`): nothing is looked for any more.
    pub(super) found: bool,
    round_start: u32,
    /// Past this number the round is over.
    end_seq: u32,
    /// The last acknowledgement of the train.
    last_ack: u32,
    /// The round's smallest round trip.
    round_rtt: u32,
}

impl HyStart {
    /// `bictcp_hystart_reset`: a round begins.
    pub(super) fn start_round(&mut self, tcp: &Tcp) {
        *self = HyStart {
            samples: 0,
            found: self.found,
            round_start: clock_us(tcp),
            end_seq: tcp.snd_nxt,
            last_ack: clock_us(tcp),
            round_rtt: u32::MAX,
        };
    }

    /// `hystart_update`: takes in a round trip of `delay`; `delay_min` is the smallest.
    pub(super) fn update(&mut self, tcp: &mut Tcp, delay: u32, delay_min: u32) {
        if after(tcp.snd_una, self.end_seq) {
            self.start_round(tcp);
        }
        if tcp.snd_cwnd < LOW_WINDOW {
            return;
        }
        let long = self.train_is_long(tcp, delay_min);
        let rose = self.delay_rose(delay, delay_min);
        if long || rose {
            self.found = true;
            tcp.snd_ssthresh = tcp.snd_cwnd;
        }
    }

    fn train_is_long(&mut self, tcp: &Tcp, delay_min: u32) -> bool {
        let now = clock_us(tcp);
        if now.wrapping_sub(self.last_ack) as i32 > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        let mut threshold = delay_min.wrapping_add(ack_delay(tcp));
        // Pacing spreads a round's segments over half of the round trip more.
        if tcp.pacing_status == PacingStatus::None as u32 {
            threshold >>= 1;
        }
        now.wrapping_sub(self.round_start) > threshold
    }

    fn delay_rose(&mut self, delay: u32, delay_min: u32) -> bool {
        self.round_rtt = self.round_rtt.min(delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = (delay_min >> 3).clamp(DELAY_MIN, DELAY_MAX);
        self.round_rtt > delay_min.wrapping_add(rise)
    }
}

/// `bictcp_clock_us`.
fn clock_us(tcp: &Tcp) -> u32 {
    tcp.tcp_mstamp as u32
}

/// `hystart_ack_delay`: the time of four bursts at the pacing rate.
fn ack_delay(tcp: &Tcp) -> u32 {
    let bursts = u64::from(tcp.gso_max_size) * 4 * 1_000_000;
    bursts
        .checked_div(tcp.pacing_rate)
        .map_or(0, |us| us.min(ACK_DELAY_MAX) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u32 = 40_000;

    /// In a round of 20 segments that ends past 100; a burst takes 1 ms and more.
    fn in_round() -> (HyStart, Tcp) {
        let tcp = Tcp {
            snd_cwnd: 20,
            snd_una: 50,
            snd_nxt: 100,
            pacing_rate: 1_000_000,
            ..Tcp::default()
        };
        let mut hystart = HyStart::default();
        hystart.start_round(&tcp);
        (hystart, tcp)
    }

    /// The first of the acknowledgements, `gap` microseconds apart, at which slow start ends.
    fn ends_at((mut hystart, mut tcp): (HyStart, Tcp), gap: u64, rtt: u32) -> Option<u64> {
        (1..1_000).find(|ack| {
            tcp.tcp_mstamp = ack * gap;
            hystart.update(&mut tcp, rtt, BASE);
            hystart.found
        })
    }

    #[test]
    fn a_train_ends_slow_start_at_half_the_round_trip_or_all_of_it_if_paced() {
        // (40 + 1) / 2 = 20.5 ms: past it at the 42nd; paced, past 41 ms at the 83rd.
        assert_eq!(ends_at(in_round(), 500, BASE), Some(42));
        let (hystart, mut tcp) = in_round();
        tcp.pacing_status = PacingStatus::Needed as u32;
        assert_eq!(ends_at((hystart, tcp), 500, BASE), Some(83));
        // A gap of over 2 ms breaks the train.
        assert_eq!(ends_at(in_round(), 2_000, BASE), Some(11));
        assert_eq!(ends_at(in_round(), 2_001, BASE), None);
    }

    #[test]
    fn a_rise_by_an_eighth_after_eight_samples_ends_slow_start() {
        assert_eq!(ends_at(in_round(), 0, 45_001), Some(9));
        assert_eq!(ends_at(in_round(), 0, 45_000), None);
    }

    #[test]
    fn the_threshold_becomes_the_window_and_small_windows_are_left_alone() {
        let (mut hystart, mut tcp) = in_round();
        tcp.tcp_mstamp = 2_000;
        for cwnd in [15, 16] {
            tcp.snd_cwnd = cwnd;
            hystart.samples = MIN_SAMPLES;
            hystart.update(&mut tcp, 90_000, BASE);
            assert_eq!(hystart.found, cwnd == 16);
        }
        assert_eq!(tcp.snd_ssthresh, 16);
    }

    #[test]
    fn a_round_ends_past_what_was_sent() {
        let (mut hystart, mut tcp) = in_round();
        (tcp.tcp_mstamp, tcp.snd_nxt) = (1_000, 200);
        tcp.snd_una = 100;
        hystart.update(&mut tcp, BASE, BASE);
        assert_eq!((hystart.round_start, hystart.end_seq), (0, 100));
        tcp.snd_una = 101;
        hystart.update(&mut tcp, BASE, BASE);
        assert_eq!((hystart.round_start, hystart.end_seq), (1_000, 200));
        assert_eq!((hystart.round_rtt, hystart.samples), (BASE, 1));
    }

    /// 4 * 65536 bytes at 579.2 MB/s take 452.59 us; no rate, none.
    #[test]
    fn bursts_stretch_a_train() {
        let of = |pacing_rate| {
            ack_delay(&Tcp {
                pacing_rate,
                ..Tcp::default()
            })
        };
        assert_eq!([0, 579_200_000, 1, u64::MAX].map(of), [0, 452, 1_000, 0]);
    }
}
