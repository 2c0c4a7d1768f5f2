//! A connection that remembers the window and the round trip of an earlier one on the same path, and
//! resumes from them with care (RFC 9959, "Careful Resume").
//!
//! ```text
//! Reconnaissance -> Unvalidated -> Validating -> Over
//!                        |              |
//!                        +--------------+-> SafeRetreat -> Over
//! ```
//!
//! The machine knows neither sender nor variant: it is shown the flight and says what becomes of the
//! window. `Sender::resume_on_ack` and its neighbours, at the end, carry that out: where Linux's stack
//! keeps the window, they set it; a variant that models the path is told, and does what the RFC's
//! section on BBR asks of it.

#[cfg(test)]
mod tests;

use cclab_cc::Resumption;
use cclab_units::{Rate, Time};

use crate::recovery::control::Control;
use crate::sender::Sender;

/// What an earlier connection left (`saved_cwnd`, `saved_rtt`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Bytes that it had in flight.
    pub window: u64,
    /// Its smallest round-trip time.
    pub rtt: Time,
}

impl Remembered {
    /// `jump_cwnd`: what this connection dares of it.
    pub fn jump(&self) -> u64 {
        self.window / 2
    }
}

/// `saved_rtt` times this, and a round trip so long is another path's.
const LONGEST: u64 = 10;

/// Where a connection that remembers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It begins as any other, and measures the path.
    Reconnaissance,
    /// It sends what half the remembered window allows.
    Unvalidated,
    /// It waits for acknowledgements of that.
    Validating,
    /// Congestion: it drains the path.
    SafeRetreat,
    /// It is as any other from here on.
    Over,
}

/// When a connection resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// When it went over to half the remembered window; absent: it did not.
    pub jumped: Option<Time>,
    /// When all that it had sent by it was acknowledged without congestion; absent: that did not happen.
    pub validated: Option<Time>,
    /// When congestion made it retreat; absent: it did not.
    pub retreated: Option<Time>,
}

/// What the machine is shown.
#[derive(Clone, Copy, Debug)]
struct Seen {
    now: Time,
    /// Everything before `una` is acknowledged; `highest` is the end of what is, selectively too.
    una: u64,
    highest: u64,
    snd_nxt: u64,
    /// Bytes delivered over the connection's life.
    delivered: u64,
    in_flight: u64,
    cwnd: u64,
    /// The smallest round-trip time and the last; zero before the first.
    min_rtt: Time,
    rtt: Time,
    /// Losses or a mark are being dealt with; the retransmission timer expired.
    congested: bool,
    timed_out: bool,
    /// The application has more to send than has left.
    waiting: bool,
}

/// What becomes of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Its own affair.
    Leave,
    /// The window is so many bytes, and its segments leave spread over a round trip.
    Jump(u64),
    /// The window is so many bytes.
    Set(u64),
    /// The window is so many bytes, and the connection is as any other.
    Settle(u64),
    /// The window is so many bytes at most, and one segment may leave beyond what is in flight.
    Retreat(u64),
    /// Window and threshold are so many bytes at most.
    Hold(u64),
    /// The window is so many bytes at most.
    Limit(u64),
    /// The threshold is so many bytes.
    Threshold(u64),
    /// The connection is as any other; its variant is to know.
    End,
}

/// The machine at one connection.
#[derive(Debug)]
pub(crate) struct Resume {
    remembered: Remembered,
    /// What the first window holds (`IW`), and a full segment.
    initial: u64,
    mss: u64,
    phase: Phase,
    /// When the phase Unvalidated began, and the round trip by which it paces and ends.
    entered: Time,
    rtt: Time,
    /// The flight, and what was delivered, as it began.
    flight: u64,
    delivered: u64,
    /// Where the first segment of that phase begins, and the last ends.
    first: u64,
    last: u64,
    /// The most that the window may be in the phase SafeRetreat.
    most: u64,
    resumed: Resumed,
}

impl Resume {
    pub(crate) fn new(remembered: Remembered, initial: u64, mss: u64) -> Resume {
        Resume {
            remembered,
            initial,
            mss,
            phase: Phase::Reconnaissance,
            entered: Time::ZERO,
            rtt: Time::ZERO,
            flight: 0,
            delivered: 0,
            first: 0,
            last: 0,
            most: 0,
            resumed: Resumed::default(),
        }
    }

    /// An acknowledgement was taken in, by the stack and by the variant.
    fn on_ack(&mut self, seen: &Seen) -> Order {
        match self.phase {
            Phase::Over => Order::Leave,
            Phase::Reconnaissance => self.reconnoitre(seen),
            // A timeout is more than these phases can deal with (section 4.6.1).
            _ if seen.timed_out => {
                if self.phase != Phase::SafeRetreat {
                    self.resumed.retreated = Some(seen.now);
                }
                self.end()
            }
            Phase::Unvalidated | Phase::Validating if seen.congested => self.retreat(seen),
            Phase::Unvalidated if self.is_short(seen.min_rtt) => self.retreat(seen),
            Phase::Unvalidated if seen.highest > self.first => self.validate(seen),
            // The acknowledgements of what left before say nothing of the window remembered, half of
            // which is the most: the stack's slow start has grown it.
            Phase::Unvalidated => match self.on_departure(seen) {
                Order::Leave => Order::Limit(self.remembered.jump()),
                order => order,
            },
            Phase::Validating if seen.highest >= self.last => {
                self.resumed.validated = Some(seen.now);
                self.end()
            }
            Phase::Validating => Order::Leave,
            Phase::SafeRetreat if seen.una >= self.last && !seen.congested => {
                self.phase = Phase::Over;
                Order::Threshold(self.pipe(seen) / 2) // Beta
            }
            Phase::SafeRetreat => Order::Hold(self.most),
        }
    }

    /// A segment left, or time passed: whether all has left that the phase Unvalidated lets go.
    fn on_departure(&mut self, seen: &Seen) -> Order {
        let unvalidated = self.phase == Phase::Unvalidated;
        let sent = seen.in_flight + self.mss > seen.cwnd;
        let late = seen.now - self.entered > self.rtt;
        match unvalidated && (sent || late) {
            true => self.validate(seen),
            false => Order::Leave,
        }
    }

    /// Looks whether the path is the one remembered, and free.
    fn reconnoitre(&mut self, seen: &Seen) -> Order {
        if seen.congested || seen.timed_out || seen.cwnd >= self.remembered.jump() {
            return self.end();
        }
        if seen.una < self.initial || !seen.waiting {
            return Order::Leave;
        }
        let longest = self.remembered.rtt * LONGEST;
        if self.is_short(seen.min_rtt) || seen.min_rtt > longest {
            return self.end();
        }
        self.phase = Phase::Unvalidated;
        self.entered = seen.now;
        self.rtt = seen.rtt;
        self.flight = seen.in_flight;
        self.delivered = seen.delivered;
        self.first = seen.snd_nxt;
        self.resumed.jumped = Some(seen.now);
        Order::Jump(self.remembered.jump())
    }

    /// The phase Unvalidated is over: the window is what it used.
    fn validate(&mut self, seen: &Seen) -> Order {
        let pipe = self.pipe(seen);
        if seen.in_flight < self.initial || seen.in_flight <= pipe {
            self.phase = Phase::Over;
            return Order::Settle(pipe.max(self.initial));
        }
        self.phase = Phase::Validating;
        self.last = seen.snd_nxt;
        Order::Set(seen.in_flight)
    }

    fn retreat(&mut self, seen: &Seen) -> Order {
        if self.phase == Phase::Unvalidated {
            self.last = seen.snd_nxt;
        }
        self.phase = Phase::SafeRetreat;
        self.resumed.retreated = Some(seen.now);
        self.most = (self.pipe(seen) / 2).max(self.initial);
        Order::Retreat(self.most)
    }

    fn end(&mut self) -> Order {
        self.phase = Phase::Over;
        Order::End
    }

    /// `PipeSize`: the flight as the phase Unvalidated began, and what was delivered of the segments
    /// sent since. The first to be delivered are those of that flight, which it counts already.
    fn pipe(&self, seen: &Seen) -> u64 {
        self.flight.max(seen.delivered - self.delivered)
    }

    /// Whether a round trip is too short for the path remembered.
    fn is_short(&self, min_rtt: Time) -> bool {
        min_rtt * 2 <= self.remembered.rtt
    }

    /// At which rate segments leave in the phase Unvalidated.
    fn pace(&self) -> Option<Rate> {
        match self.phase {
            Phase::Unvalidated => Rate::from_bytes_per(self.remembered.jump(), self.rtt),
            _ => None,
        }
    }
}

impl Sender {
    /// When the connection resumed from what it remembers; `None`: it remembers nothing.
    pub fn resumed(&self) -> Option<Resumed> {
        self.resume.as_ref().map(|resume| resume.resumed)
    }

    /// The rate at which payload leaves: the variant's, or that of a window that is not validated.
    pub(crate) fn pace(&self) -> Option<Rate> {
        let asked = self.flight.cc.pacing_rate();
        match self.resume.is_some() {
            true => self.pace_resumed(asked),
            false => asked,
        }
    }

    #[cold]
    fn pace_resumed(&self, asked: Option<Rate>) -> Option<Rate> {
        match &self.resume {
            Some(resume) if self.flight.cc.keeps_window() => resume.pace().or(asked),
            _ => asked,
        }
    }

    /// An acknowledgement was taken in.
    #[inline]
    pub(crate) fn resume_on_ack(&mut self, now: Time) {
        self.resume_by(now, Resume::on_ack);
    }

    /// Nothing more leaves now.
    #[inline]
    pub(crate) fn resume_on_pause(&mut self, now: Time) {
        self.resume_by(now, Resume::on_departure);
    }

    #[inline(always)] // nearly every connection begins anew
    fn resume_by(&mut self, now: Time, step: impl FnOnce(&mut Resume, &Seen) -> Order) {
        if self.resume.is_some() {
            self.resume_further(now, step);
        }
    }

    #[cold]
    fn resume_further(&mut self, now: Time, step: impl FnOnce(&mut Resume, &Seen) -> Order) {
        let over = |resume: &Resume| resume.phase == Phase::Over;
        if self.resume.as_deref().is_none_or(over) {
            return;
        }
        let seen = self.see(now);
        if let Some(resume) = &mut self.resume {
            let order = step(resume, &seen);
            self.carry_out(order);
        }
    }

    fn see(&self, now: Time) -> Seen {
        let flight = &self.flight;
        let selected = flight.board.highest_sacked();
        let selected = selected.map_or(0, |id| flight.board.get(id).end());
        let (congested, timed_out) = flight.congestion_seen();
        Seen {
            now,
            una: flight.snd_una,
            highest: flight.snd_una.max(selected),
            snd_nxt: flight.snd_nxt,
            delivered: self.delivered(),
            in_flight: flight.board.in_flight(),
            cwnd: flight.cc.cwnd(),
            min_rtt: flight.rtt.min_rtt(),
            rtt: self.last_ack.rtt.unwrap_or(flight.rtt.srtt()),
            congested,
            timed_out,
            waiting: flight.snd_nxt < flight.written,
        }
    }

    fn carry_out(&mut self, order: Order) {
        let rtt = self.resume.as_ref().map_or(Time::ZERO, |resume| resume.rtt);
        let in_flight = self.flight.board.in_flight();
        let mss = self.flight.mss;
        let cc = &mut self.flight.cc;
        if !cc.keeps_window() {
            let took = match order {
                Order::Jump(window) => {
                    let rate = Rate::from_bytes_per(window, rtt).map_or(0, |rate| rate.bps() / 8);
                    cc.resume(Resumption::Begins(rate))
                }
                Order::Retreat(_) => cc.resume(Resumption::Retreats),
                Order::Settle(_) | Order::Threshold(_) | Order::End => cc.resume(Resumption::Ends),
                Order::Leave | Order::Set(_) | Order::Hold(_) | Order::Limit(_) => true,
            };
            if !took {
                self.resume = None;
            }
            return;
        }
        let Control::Linux(linux) = cc else { return };
        match order {
            Order::Leave | Order::End => {}
            Order::Jump(window) | Order::Set(window) | Order::Settle(window) => {
                linux.set_window(window);
            }
            Order::Retreat(most) => linux.confine(most.max(in_flight + mss), most),
            Order::Hold(most) => linux.confine(most, most),
            Order::Limit(most) => linux.confine(most, u64::MAX),
            Order::Threshold(threshold) => linux.set_ssthresh(threshold),
        }
    }
}
