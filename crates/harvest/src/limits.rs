//! What held a sender back, from what kernels tell: chronographs of TCP_INFO for the application and
//! the buffers (`tcp_chrono`), which know of no pacing; acknowledgements for the window; samples for
//! data that wait.

use cclab_testbed::records::TcpInfo;
use cclab_trace::schema::Limited;
use cclab_units::Time;

use crate::event::Ack;

/// Segments by which a sender may stay below its window though that is what limits it: kernels hold back
/// a part of a burst until the next acknowledgement (`tcp_tso_should_defer`).
const DEFERRED: u64 = 2;

/// How long the congestion window of a connection was open. Between two acknowledgements a sender that
/// its window limits fills it at once; a window that is not full by the next one held nothing
/// back.
#[derive(Debug, Default)]
pub struct OpenWindow {
    last: Option<(Time, Ack)>,
    sent_again: u64,
    time: Time,
}

impl OpenWindow {
    /// It took in an acknowledgement. `mss` is used where the event does not tell.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, mss: u32) {
        if let Some((since, last)) = self.last.replace((now, *ack)) {
            let mss = last.taken.map_or(mss, |taken| taken.mss).max(1);
            let segments = |bytes: u32| u64::from(bytes.div_ceil(mss));
            let left = match last.taken {
                Some(taken) => u64::from(taken.in_flight),
                None => segments(last.snd_nxt.wrapping_sub(last.snd_una)),
            };
            let sent = segments(ack.snd_nxt.wrapping_sub(last.snd_nxt)) + self.sent_again;
            // With nothing under way there was nothing to send either.
            if left > 0 && left + sent + DEFERRED <= u64::from(last.cwnd) {
                self.time += now - since;
            }
        }
        self.sent_again = 0;
    }

    /// It sent a segment again.
    pub fn on_retransmit(&mut self) {
        self.sent_again += 1;
    }

    /// How long it was open so far.
    pub fn time(&self) -> Time {
        self.time
    }
}

/// What it means that nothing waits behind what is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingWaits {
    /// The application has nothing to send now.
    Pause,
    /// The application always has more: the send buffer is full.
    FullBuffer,
    /// All of it may have been handed over, or a program decides.
    Unknown,
}

/// What a kernel tells of a flow.
pub struct Told<'a> {
    /// Its sockets at the end.
    pub sockets: &'a [TcpInfo],
    /// How long its windows were open.
    pub open: Time,
    /// Whether its variant paces.
    pub paces: bool,
    /// What it means of its application that nothing waits.
    pub nothing_waits: NothingWaits,
    /// The state of its socket over time.
    pub samples: &'a [(Time, &'a TcpInfo)],
}

impl Told<'_> {
    /// What held it back during its life of `life`. A limit goes before those that follow: pacing, until
    /// the rate lets the next segment leave; nothing to send; the windows.
    pub fn limited(&self, life: Time) -> Limited {
        let sum = |of: fn(&TcpInfo) -> u64| self.sockets.iter().map(of).sum();
        let spent = |of: fn(&TcpInfo) -> u64| Time::from_micros(sum(of)).min(life);
        let busy = spent(|info| info.busy_time);
        let rwnd = spent(|info| info.rwnd_limited).min(busy);
        let sndbuf = spent(|info| info.sndbuf_limited).min(busy - rwnd);
        // A kernel is busy as long as anything is under way. A full send buffer leaves nothing that
        // waits either; a kernel counts it only until the writer is woken.
        let nothing = with_nothing_waiting(busy, self.samples);
        let sndbuf = match self.nothing_waits {
            NothingWaits::FullBuffer => sndbuf.max(nothing).min(busy - rwnd),
            NothingWaits::Pause | NothingWaits::Unknown => sndbuf,
        };
        let held = busy - rwnd - sndbuf;
        let idle = match self.nothing_waits {
            NothingWaits::Pause => (nothing - sndbuf).min(held),
            NothingWaits::FullBuffer | NothingWaits::Unknown => Time::ZERO,
        };
        let (pacing, with_data) = match self.paces {
            true => {
                let with_data = (self.open - sndbuf - rwnd - idle).min(held - idle);
                let closed = gate_closed(self.samples).min(held);
                (closed.max(with_data), with_data)
            }
            false => (Time::ZERO, Time::ZERO),
        };
        let idle = idle - (pacing - with_data);
        Limited {
            cwnd: held - idle - pacing,
            rwnd,
            application: life - busy + idle,
            sndbuf,
            pacing,
        }
    }
}

/// How long pacing let nothing leave: what was sent from one sample to the next, at the rate in force.
fn gate_closed(samples: &[(Time, &TcpInfo)]) -> Time {
    let pairs = samples.iter().zip(samples.iter().skip(1));
    let spans = pairs.map(|((since, before), (now, info))| {
        let sent = info.bytes_sent.saturating_sub(before.bytes_sent);
        let seconds = sent as f64 / info.pacing_rate.max(1) as f64;
        Time::from_secs_f64(seconds).min(*now - *since)
    });
    spans.sum()
}

/// How much of the time in which something was under way nothing waited behind it.
fn with_nothing_waiting(busy: Time, samples: &[(Time, &TcpInfo)]) -> Time {
    let under_way = samples.iter().filter(|(_, info)| info.unacked > 0);
    // Less than a segment waits for more by Nagle's rule, not for a window.
    let (all, nothing) = under_way.fold((0, 0), |(all, nothing), (_, info)| {
        let short = info.notsent_bytes < info.snd_mss.max(1);
        (all + 1, nothing + u64::from(short))
    });
    match all {
        0 => Time::ZERO,
        all => busy * nothing / all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Ends, Taken};

    const MSS: u32 = 1000;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// The state after an acknowledgement, with `in_flight` segments left and all before `next` sent.
    fn ack(next: u32, in_flight: u32, cwnd: u32) -> Ack {
        Ack {
            ends: Ends {
                source: [10, 0, 0, 1].into(),
                destination: [10, 1, 0, 1].into(),
                source_port: 1,
                destination_port: 2,
            },
            snd_una: (next - in_flight) * MSS,
            snd_nxt: next * MSS,
            cwnd,
            ssthresh: 0,
            rwnd: 0,
            srtt_us: 0,
            taken: Some(Taken {
                prior_una: 0,
                mss: MSS,
                in_flight,
                rtt_us: -1,
                rto_us: 0,
                delivered: 0,
                interval_us: 0,
                pacing_rate: None,
                ca_state: 0,
            }),
        }
    }

    /// Each of the two acknowledgements after the first delivers two segments of twenty.
    fn open(cwnd: u32, sent: [u32; 2], told: bool) -> u64 {
        let mut open = OpenWindow::default();
        let (mut next, mut in_flight) = (100, 20);
        let mut take = |at, next, in_flight| {
            let mut ack = ack(next, in_flight, cwnd);
            ack.taken = ack.taken.filter(|_| told);
            open.on_ack(ms(at), &ack, MSS);
        };
        take(0, next, in_flight);
        for (at, sent) in [10, 30].into_iter().zip(sent) {
            next += sent;
            in_flight += sent;
            in_flight -= 2;
            take(at, next, in_flight);
        }
        open.time().as_millis()
    }

    #[test]
    fn a_window_that_is_full_by_the_next_acknowledgement_was_not_open() {
        for told in [true, false] {
            assert_eq!(open(22, [2, 2], told), 0);
            assert_eq!(open(23, [2, 2], told), 0, "a segment may wait for a burst");
            assert_eq!(open(40, [2, 2], told), 30);
            assert_eq!(open(24, [2, 4], told), 10);
            assert_eq!(open(24, [4, 0], told), 20);
        }
    }

    #[test]
    fn what_is_sent_again_fills_a_window_and_silence_does_not_open_it() {
        let mut window = OpenWindow::default();
        window.on_ack(ms(0), &ack(100, 20, 26), MSS);
        (0..6).for_each(|_| window.on_retransmit());
        window.on_ack(ms(10), &ack(100, 0, 26), MSS);
        window.on_ack(ms(500), &ack(102, 0, 26), MSS);
        assert_eq!(window.time(), Time::ZERO);
    }

    fn of(open: u64, paces: bool, waiting: &[u32]) -> [u64; 5] {
        with_rate(open, paces, waiting, 0)
    }

    /// The same of a flow that sent so much by 900 ms, at 1 MB/s.
    fn with_rate(open: u64, paces: bool, waiting: &[u32], sent: u64) -> [u64; 5] {
        let socket = TcpInfo {
            busy_time: 900_000,
            rwnd_limited: 100_000,
            sndbuf_limited: 50_000,
            ..TcpInfo::default()
        };
        let samples: Vec<TcpInfo> = waiting
            .iter()
            .map(|&notsent_bytes| TcpInfo {
                unacked: 1,
                notsent_bytes,
                pacing_rate: 1_000_000,
                bytes_sent: sent,
                ..TcpInfo::default()
            })
            .collect();
        let nothing = TcpInfo::default();
        let ends = [(ms(0), &nothing), (ms(1_000), &nothing)];
        let mut at: Vec<_> = samples.iter().map(|info| (ms(900), info)).collect();
        at.insert(0, ends[0]);
        at.push(ends[1]);
        let told = Told {
            sockets: &[socket],
            open: ms(open),
            paces,
            nothing_waits: NothingWaits::Pause,
            samples: &at,
        };
        let limited = told.limited(ms(1_000));
        let unknown = Told {
            nothing_waits: NothingWaits::Unknown,
            ..told
        };
        assert_eq!(unknown.limited(ms(1_000)).application, ms(100));
        assert_eq!(unknown.limited(ms(1_000)).sndbuf, ms(50));
        let always = Told {
            nothing_waits: NothingWaits::FullBuffer,
            ..told
        };
        // A third of 900 ms, or all of what the receiver did not hold.
        let full = match waiting {
            [9, 0, 9] => 300,
            [0] => 800,
            _ => 50,
        };
        assert_eq!(always.limited(ms(1_000)).application, ms(100));
        assert_eq!(always.limited(ms(1_000)).sndbuf, ms(full));
        [
            limited.cwnd,
            limited.rwnd,
            limited.application,
            limited.sndbuf,
            limited.pacing,
        ]
        .map(Time::as_millis)
    }

    /// By hand: 1 s, of which 900 ms busy, 100 by the receiver and 50 by the send buffer.
    #[test]
    fn each_instant_has_one_limit() {
        assert_eq!(of(0, false, &[]), [750, 100, 100, 50, 0]);
        assert_eq!(of(0, false, &[9, 9, 9]), [750, 100, 100, 50, 0]);
        assert_eq!(of(600, false, &[9]), [750, 100, 100, 50, 0], "cubic");
        assert_eq!(of(600, true, &[9]), [300, 100, 100, 50, 450], "bbr");
        assert_eq!(of(900, true, &[9]), [0, 100, 100, 50, 750]);
        // A third of the 900 ms has nothing that waits, 50 of them because the buffer is full.
        assert_eq!(of(0, false, &[9, 0, 9]), [500, 100, 350, 50, 0]);
        assert_eq!(of(800, true, &[9, 0, 9]), [100, 100, 350, 50, 400]);
        assert_eq!(of(0, false, &[0]), [0, 100, 850, 50, 0]);
    }

    /// By hand: 400 kB at 1 MB/s are 400 ms, more than the window was open; they leave less to the
    /// application first, then to the window.
    #[test]
    fn the_rate_goes_before_what_else_would_hold() {
        let sent = |paces, waiting| with_rate(100, paces, waiting, 400_000);
        assert_eq!(sent(true, &[9]), [350, 100, 100, 50, 400]);
        assert_eq!(sent(false, &[9]), [750, 100, 100, 50, 0]);
        assert_eq!(sent(true, &[9, 0, 9]), [350, 100, 100, 50, 400]);
        assert_eq!(sent(true, &[0]), [0, 100, 450, 50, 400]);
        let all = with_rate(100, true, &[9], 10_000_000);
        assert_eq!(all, [0, 100, 100, 50, 750], "no more than there is");
    }
}
