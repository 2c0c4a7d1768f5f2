//! The sending side of a flow, sans-I/O: packets and instants in, packets and deadlines out.
//!
//! ```text
//! connect -> poll_transmit* -> on_packet -> poll_transmit* -> on_timer -> poll_transmit* ...
//! ```
//!
//! Positions in the stream are 64-bit offsets from the first byte of data; the 32-bit numbers
//! of the wire exist only at the edges.

use std::sync::Arc;

use cclab_cc::{Arithmetic, EcnFeedback, Maker, StateColumn, WindowInRecovery};
use cclab_packet::Ecn;
use cclab_units::memory::prefetch;
use cclab_units::{Rare, Rate, Stream, Time, Usual};

use crate::accecn::EcnMode;
use crate::cwnd_usage::CwndUsage;
use crate::fault::Fault;
use crate::limits::Limits;
use crate::pacing::Pacer;
use crate::profile::{Profile, Recovery};
use crate::rate::RateEstimator;
use crate::recovery::control::Control;
use crate::recovery::episode::Episode;
pub use crate::recovery::flight::Counters;
use crate::recovery::flight::Flight;
use crate::resume::{Remembered, Resume};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::seq;
use crate::write_queue::{Leave, WriteQueue};

/// What a sender is built from.
pub struct Config {
    /// Index of the flow.
    pub flow: u32,
    /// How the stack behaves.
    pub profile: Arc<Profile>,
    /// How lost data is found and repaired.
    pub recovery: Recovery,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial sequence number.
    pub isn: u32,
    /// The feedback of marks that the flow asks for.
    pub ecn: EcnMode,
    /// Window control, and what it was built from: a lost SYN builds it again with a window of
    /// one segment (RFC 5681 section 3.1).
    pub cc: cclab_cc::Config,
    /// Makes the window control.
    pub maker: Maker,
    /// Whose window is in force while losses are repaired.
    pub window: WindowInRecovery,
    /// What the variant makes of marks.
    pub feedback: EcnFeedback,
    /// How packets say that they may be marked: ECT(0), or ECT(1) for low latency (RFC 9331).
    pub codepoint: Ecn,
    /// The flow's stream of random numbers.
    pub rng: Stream,
    /// What an earlier connection on the same path left.
    pub remembered: Option<Remembered>,
}

/// Where a connection is (RFC 9293 section 3.3.2, the active opener's side).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started.
    Closed,
    /// SYN to send or sent.
    SynSent,
    /// Data flows.
    Established,
    /// The FIN is acknowledged.
    Finished,
    /// Given up after too many timeouts in a row.
    Aborted,
}

/// What the last acknowledgement told, for traces.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastAck {
    /// Bytes newly acknowledged cumulatively.
    pub newly_acked: u64,
    /// Round-trip time it measured.
    pub rtt: Option<Time>,
    /// Bytes delivered, and over how long: a sample of the rate unless that is no time.
    pub delivered: u64,
    /// See `delivered`.
    pub interval: Time,
}

impl LastAck {
    /// Delivery rate it measured; `None`: it measured none.
    pub fn rate(&self) -> Option<Rate> {
        Rate::from_bytes_per(self.delivered, self.interval)
    }
}

/// The sending side of a flow.
pub struct Sender {
    pub(crate) flow: u32,
    pub(crate) isn: u32,
    /// What builds the window control again; gone once the connection stands.
    pub(crate) blueprint: Option<Box<Blueprint>>,
    pub(crate) codepoint: Ecn,
    /// The feedback that it asks for, and how the last SYN left.
    pub(crate) asks: EcnMode,
    pub(crate) syn_codepoint: Ecn,
    pub(crate) fault: Option<Box<Fault>>,

    pub(crate) state: State,
    /// SYN, handshake ACK, probe: control packets waiting to leave.
    pub(crate) syn_due: bool,
    pub(crate) ack_due: bool,
    pub(crate) window_probe_due: bool,
    pub(crate) syn_sent: Time,
    pub(crate) syn_tries: u32,

    /// What is in flight, and how it is repaired.
    pub(crate) flight: Flight,
    /// Of flows whose window the kernel's stack does not keep.
    pub(crate) rate: Rare<RateEstimator>,
    pub(crate) pacer: Pacer,
    /// Segments of the present burst that are still to leave, and whether it has several.
    pub(crate) burst_left: u64,
    pub(crate) burst_of_several: bool,
    /// Where the present burst ends, if it was cut off a packet of the send buffer.
    pub(crate) burst_end: u64,
    /// Where the last segment ends that left and was not full (`snd_sml`).
    pub(crate) short_end: u64,
    /// The packet ends with the burst, and was to carry a push.
    pub(crate) burst_pushes: bool,
    /// Bytes of the burst that have left, for the pacer.
    pub(crate) burst_sent: u64,
    /// Segments that leave again with the last one, without another look at the window.
    pub(crate) resend_left: u64,
    pub(crate) resend_of_several: bool,
    pub(crate) limits: Limits,
    pub(crate) last_ack: LastAck,
    /// The largest window so far.
    pub(crate) cwnd_most: u64,

    /// How far the send buffer is filled, or may be; for stacks whose buffer is not modelled, no
    /// limit.
    pub(crate) buffered: u64,
    /// Linux's stack has nothing to send before something happens to it: an acknowledgement, a timer
    /// or a write. What it put off as too little does not leave because time has passed.
    pub(crate) settled: bool,
    /// What may leave while the application writes.
    pub(crate) leave: Leave,
    /// The send buffer packet by packet, where Linux's stack keeps the window.
    pub(crate) queue: Option<WriteQueue>,
    /// The application has closed: what it wrote is final.
    pub(crate) closed: bool,
    /// Short segments do not wait for outstanding data.
    pub(crate) nodelay: bool,
    pub(crate) rwnd: u64,
    pub(crate) window_shift: u32,
    /// Latest timestamp of the peer, to echo.
    pub(crate) ts_recent: u32,
    pub(crate) peer_seq: u32,
    /// When data last left (idle restart).
    pub(crate) last_sent: Time,
    pub(crate) persist_at: Time,
    pub(crate) persist_backoff: u32,
    pub(crate) timeouts_in_row: u32,
    pub(crate) cwnd_usage: CwndUsage,
    /// For clocks that time one segment a round.
    pub(crate) timing: Rare<Timing>,
    /// How it resumes from what it remembers.
    pub(crate) resume: Option<Box<Resume>>,
}

/// From what a window control is built.
pub(crate) struct Blueprint {
    pub config: cclab_cc::Config,
    pub maker: Maker,
}

/// Where the segment being timed ends, and when it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing(pub Option<(u64, Time)>);

impl Usual for Timing {
    const USUAL: &'static Timing = &Timing(None);
}

impl Sender {
    /// Has the memory fetched that an acknowledgement will touch beyond the sender itself.
    #[inline]
    pub fn fetch_parts(&self) {
        match &self.flight.cc {
            Control::Own(own) => prefetch(&**own),
            Control::Linux(linux) => linux.fetch_variant(),
        }
        self.flight.board.fetch_ends();
    }

    /// A sender that has not started.
    pub fn new(config: Config) -> Sender {
        let Config {
            flow,
            profile,
            recovery,
            mss,
            isn,
            ecn,
            cc,
            maker,
            window,
            feedback,
            codepoint,
            rng,
            remembered,
        } = config;
        let mut board = Scoreboard::default();
        let control = Control::new(&maker, &cc, &profile, recovery);
        if window == WindowInRecovery::Own && !control.is_linux() {
            board.tell_losses();
        }
        let mut episode = Episode::of(&profile);
        episode.rack.whole_micros = control.is_linux();
        Sender {
            flow,
            isn,
            codepoint,
            asks: ecn,
            syn_codepoint: Ecn::NotEct,
            fault: None,
            state: State::Closed,
            syn_due: false,
            ack_due: false,
            window_probe_due: false,
            syn_sent: Time::ZERO,
            syn_tries: 0,
            rate: Rare::default(),
            pacer: Pacer::new(profile.arithmetic == Arithmetic::Segments),
            burst_left: 0,
            burst_of_several: false,
            burst_end: 0,
            short_end: 0,
            burst_pushes: false,
            burst_sent: 0,
            resend_left: 0,
            resend_of_several: false,
            limits: Limits::default(),
            last_ack: LastAck::default(),
            cwnd_most: 0,
            buffered: match &profile.send_buffer {
                Some(_) if control.is_linux() => 0,
                Some(buffer) => buffer.fill(buffer.most),
                None => u64::MAX,
            },
            settled: false,
            leave: Leave::All,
            queue: match control.is_linux() {
                true => WriteQueue::new(&profile, u64::from(mss)),
                false => None,
            },
            closed: false,
            nodelay: false,
            rwnd: 0,
            window_shift: 0,
            ts_recent: 0,
            peer_seq: 0,
            last_sent: Time::ZERO,
            persist_at: Time::NEVER,
            persist_backoff: 0,
            timeouts_in_row: 0,
            cwnd_usage: CwndUsage::default(),
            timing: Rare::default(),
            resume: remembered.map(|remembered| {
                Box::new(Resume::new(remembered, cc.initial_window, u64::from(mss)))
            }),
            flight: Flight {
                recovery,
                mss: u64::from(mss),
                cc: control,
                rng,
                window,
                board,
                rtt: RttEstimator::new(&profile),
                episode,
                counters: Counters::default(),
                snd_una: 0,
                snd_nxt: 0,
                written: 0,
                rto_at: Time::NEVER,
                ecn: ecn != EcnMode::Off,
                accurate: None,
                feedback,
                cwr_due: false,
                marked_until: None,
                profile,
            },
            blueprint: Some(Box::new(Blueprint { config: cc, maker })),
        }
    }

    /// Begins the handshake.
    pub fn connect(&mut self, now: Time) {
        self.state = State::SynSent;
        self.syn_due = true;
        self.syn_tries = 0;
        self.limits.start(now, self.flight.cc.cwnd());
    }

    /// The application offers its stream up to offset `to`; what was offered stays so.
    pub fn write(&mut self, to: u64) {
        self.settled = false;
        if !self.closed {
            self.flight.written = self.flight.written.max(to);
            if self.state == State::Established {
                self.begin_write();
            }
        }
    }

    /// Lets short segments leave at once although data is outstanding (TCP_NODELAY).
    pub fn set_nodelay(&mut self, nodelay: bool) {
        self.nodelay = nodelay;
    }

    /// The application has nothing more to write.
    pub fn close(&mut self) {
        self.settled = false;
        self.closed = true;
    }

    /// The application has nothing more to write: a flow whose time is up. What is in the send
    /// buffer still leaves, where the stack's is modelled; what did not fit never does.
    pub fn close_now(&mut self) {
        self.settled = false;
        if !self.fin_sent() {
            self.flight.written = self.flight.written.min(self.taken());
            self.closed = true;
        }
    }

    /// The application has nothing more to write for now, and gives the offset up to which it has
    /// written: what is in the send buffer still leaves, as by [`Sender::close_now`]; what did not
    /// fit was never written.
    pub fn withdraw(&mut self) -> u64 {
        self.settled = false;
        let taken = self.taken();
        if !self.fin_sent() && taken < self.flight.written {
            self.flight.written = taken;
            self.closed = false;
        }
        self.flight.written
    }

    fn fin_sent(&self) -> bool {
        self.closed && self.flight.snd_nxt > self.flight.written
    }

    /// Up to where the send buffer has taken what is offered, where the stack's is modelled; else what
    /// has left.
    fn taken(&self) -> u64 {
        let established = self.state == State::Established;
        match &self.queue {
            Some(queue) if established => queue.written(),
            _ => {
                let segments = self.cwnd_most.max(self.flight.cc.cwnd()) / self.flight.mss;
                let buffer = self.flight.profile.send_buffer.filter(|_| established);
                let buffered = buffer.map_or(0, |buffer| buffer.payload(segments));
                self.flight.snd_nxt.max(self.flight.snd_una + buffered)
            }
        }
    }

    /// Where the connection is.
    pub fn state(&self) -> State {
        self.state
    }

    /// What the sender did so far.
    pub fn counters(&self) -> &Counters {
        &self.flight.counters
    }

    /// What held the sender back so far.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the last acknowledgement told.
    pub fn last_ack(&self) -> &LastAck {
        &self.last_ack
    }

    /// Round-trip times.
    pub fn rtt(&self) -> &RttEstimator {
        &self.flight.rtt
    }

    /// The congestion window in bytes: the variant's, or the stack's where that keeps it.
    pub fn cwnd(&self) -> u64 {
        self.flight.cc.cwnd()
    }

    /// The slow-start threshold in bytes; `u64::MAX` before it is known.
    pub fn ssthresh(&self) -> u64 {
        self.flight.cc.ssthresh()
    }

    /// The rate at which the variant asks payload to leave; `None`: as the stack decides.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.flight.cc.pacing_rate()
    }

    /// The columns of the variant's inner state.
    pub fn state_columns(&self) -> &'static [StateColumn] {
        self.flight.cc.state_columns()
    }

    /// Writes the variant's inner state into `values`, one for each column.
    pub fn tell_state(&self, values: &mut [f64]) {
        self.flight.cc.tell_state(values);
    }

    /// The rate that the stack keeps: departures are spaced by it where the variant asks for that,
    /// and bursts are sized by it in any case. `None`: it keeps none.
    pub fn kept_rate(&self) -> Option<Rate> {
        match &self.flight.cc {
            Control::Linux(linux) => linux.kept_rate(),
            Control::Own(own) => own.pacing_rate(),
        }
    }

    /// The scoreboard.
    pub fn board(&self) -> &Scoreboard {
        &self.flight.board
    }

    /// First unacknowledged offset.
    pub fn snd_una(&self) -> u64 {
        self.flight.snd_una
    }

    /// Next new offset.
    pub fn snd_nxt(&self) -> u64 {
        self.flight.snd_nxt
    }

    /// Window last advertised by the receiver, in bytes.
    pub fn rwnd(&self) -> u64 {
        self.rwnd
    }

    /// Bytes of data acknowledged cumulatively.
    pub fn bytes_acked(&self) -> u64 {
        self.flight.snd_una.min(self.flight.written)
    }

    /// Bytes of data delivered, cumulatively or by SACK.
    pub fn delivered(&self) -> u64 {
        match self.flight.cc {
            Control::Own(_) => self.rate.delivered(),
            Control::Linux(_) => self.flight.snd_una + self.flight.board.sacked(),
        }
    }

    /// Whether losses are being repaired, whether acknowledgements or the timer found them.
    pub fn in_recovery(&self) -> bool {
        self.flight.in_recovery()
    }

    /// The offset of sequence number `seq` on the wire.
    pub fn offset_of(&self, seq: u32) -> u64 {
        seq::unwrap(
            seq.wrapping_sub(self.isn.wrapping_add(1)),
            self.flight.snd_una,
        )
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u64 {
        self.flight.mss
    }

    #[cold]
    pub(crate) fn stop(&mut self, now: Time, state: State) {
        self.state = state;
        self.flight.rto_at = Time::NEVER;
        self.persist_at = Time::NEVER;
        self.flight.episode.stop_timers();
        self.limits.stop(now);
    }

    /// The window in force: the variant's, or recovery's while losses are repaired.
    pub fn window(&self) -> u64 {
        self.flight.window_in_force()
    }
}
