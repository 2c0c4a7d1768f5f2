//! A flow over UDP: a source of datagrams, and the host that counts what arrives of them.

use cclab_layout::{Ends, profile_of};
use cclab_net::{Host, Port, Side};
use cclab_packet::{Packet, flags};
use cclab_spec::{Datagrams, Flow as Spec, Scenario, Schedule};
use cclab_trace::schema::{Carrier, FlowSample, FlowSummary};
use cclab_trace::{Arrivals, Departures, Playback};
use cclab_units::{Stream, Time};

use crate::flow::SENDER;

/// How long a run without a duration waits for what is on its way after the last datagram: for longer
/// than queues of any sense hold it.
const LINGER: Time = Time::from_secs(1);

/// Both ends of a flow over UDP.
pub struct UdpFlow {
    index: u32,
    ports: [Port; 2],
    /// Bytes on a link beyond the payload.
    overhead: u32,
    /// When it starts.
    pub start: Time,
    schedule: Schedule,
    started: Option<Time>,
    /// When the last datagram left so far.
    last: Time,
    /// When the source had no more to send.
    ended: Option<Time>,
    /// Whether nothing is waited for any more.
    over: bool,
    sent: u64,
    sent_bytes: u64,
    warmup: Time,
    /// What had left when the warm-up ended; absent before that, and without one.
    before: Option<Departures>,
    arrivals: Arrivals,
    /// Numbers of datagrams of which a copy was lost.
    lost: Vec<u64>,
    playback: Option<Playback>,
    /// How long after its making the last frame of a video is due.
    due_after: Time,
}

impl UdpFlow {
    /// The flow at `index` of `scenario`, which `source` feeds, not yet started.
    pub fn new(
        scenario: &Scenario,
        index: usize,
        source: Datagrams,
        ports: [Port; 2],
        seed: u64,
    ) -> UdpFlow {
        let spec = &scenario.flows[index];
        let start = spec.start_time(seed);
        let stop = spec
            .duration
            .map_or(Time::NEVER, |duration| start + duration);
        let stop = stop.min(scenario.duration.unwrap_or(Time::NEVER));
        let dice = Stream::new(seed, &format!("application {}", spec.name));
        let profile = profile_of(scenario, spec).expect("unknown stacks are refused before a run");
        UdpFlow {
            index: index as u32,
            ports,
            overhead: Ends::of(&profile, spec).overhead as u32,
            start,
            schedule: Schedule::new(source, start, stop, spec.transfer, dice),
            started: None,
            last: start,
            ended: None,
            over: false,
            sent: 0,
            sent_bytes: 0,
            warmup: scenario.warmup,
            before: None,
            arrivals: Arrivals::new(scenario.warmup),
            lost: Vec::new(),
            playback: source.video().map(|video| Playback::new(*video, start)),
            due_after: source.video().map_or(Time::ZERO, |video| video.deadline),
        }
    }

    /// A copy of one of its datagrams was lost.
    pub fn lose(&mut self, packet: &Packet) {
        self.lost.push(u64::from(packet.seq));
    }

    /// Offset of the first byte of `packet` from the first of the flow.
    pub fn offset_of(packet: &Packet) -> u64 {
        let (high, low) = packet.sack[0];
        u64::from(high) << 32 | u64::from(low)
    }

    /// Whether nothing is waited for any more, which was not yet noted.
    #[inline(never)]
    pub fn has_ended(&self, now: Time) -> bool {
        !self.over && self.ended.is_some() && now >= self.end_of_waiting()
    }

    /// Until when the source, once it has no more to send, waits for what left: until all of it has
    /// arrived and the last frame was due, or it has had its time.
    fn end_of_waiting(&self) -> Time {
        let patience = match self.arrivals.count() == self.sent {
            true => Time::ZERO,
            false => LINGER,
        };
        self.last + patience.max(self.due_after)
    }

    /// Notes that it [`UdpFlow::has_ended`].
    pub fn end(&mut self) {
        self.over = true;
    }

    /// Its state now.
    pub fn sample(&self) -> FlowSample {
        FlowSample {
            flow: self.index,
            snd_nxt: self.sent_bytes,
            bytes_received: self.arrivals.bytes(),
            segments_sent: self.sent,
            ..FlowSample::default()
        }
    }

    /// Its row of a run that ends at `now`.
    pub fn summary(self, spec: &Spec, now: Time) -> FlowSummary {
        let mut lost = self.lost;
        lost.retain(|&number| !self.arrivals.has(number));
        lost.sort_unstable();
        lost.dedup();
        let frames = self.playback.map(|mut playback| {
            lost.iter().for_each(|&number| playback.lose(number));
            playback.finish(self.sent, now, self.warmup)
        });
        let whole = Departures {
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            lost: lost.len() as u64,
        };
        // None left after the warm-up if it never came to its end.
        let before = self.before.unwrap_or(whole);
        let lost_before = lost.partition_point(|&number| number < before.sent);
        let warm = Departures {
            sent: whole.sent - before.sent,
            sent_bytes: whole.sent_bytes - before.sent_bytes,
            lost: whole.lost - lost_before as u64,
        };
        let [datagrams, warm_datagrams] = self.arrivals.finish(whole, warm);
        let [frames, warm_frames] = frames.unwrap_or_default();
        FlowSummary {
            name: spec.name.clone(),
            transport: Carrier::Udp,
            started: self.started,
            first_byte: datagrams.first,
            last_byte: datagrams.last,
            ended: self.ended,
            bytes_received: datagrams.received_bytes,
            segments_sent: self.sent,
            datagrams: datagrams.into(),
            frames,
            warm_datagrams: warm_datagrams.into(),
            warm_frames,
            ..FlowSummary::default()
        }
    }
}

impl Host for UdpFlow {
    #[inline(never)]
    fn receive(&mut self, now: Time, packet: &Packet) -> Side {
        let left = Time::from_nanos(u64::from(packet.tsval) << 32 | u64::from(packet.tsecr));
        let (number, bytes) = (u64::from(packet.seq), u64::from(packet.payload));
        if self.arrivals.take(now, number, bytes, left)
            && let Some(playback) = &mut self.playback
        {
            playback.take(now, number);
        }
        SENDER // the receiver never sends; the sender may be done now
    }

    #[inline(never)]
    fn act(&mut self, now: Time, _: Time) {
        // A source may have nothing to send at all.
        if self.schedule.peek().is_none() {
            self.ended.get_or_insert(now);
        }
    }

    #[inline(never)]
    fn transmit(&mut self, now: Time, side: Side, packet: &mut Packet) -> Option<Port> {
        if side != SENDER || self.schedule.peek()?.at > now {
            return None;
        }
        let sending = self.schedule.next()?;
        let ns = now.as_nanos();
        *packet = Packet {
            flow: self.index,
            seq: self.sent as u32,
            tsval: (ns >> 32) as u32,
            tsecr: ns as u32,
            payload: sending.payload as u16,
            wire_len: (sending.payload + self.overhead) as u16,
            flags: flags::DATAGRAM,
            ..Packet::default()
        };
        // No datagram has blocks of SACK: the place of the first tells where its payload belongs.
        packet.sack[0] = ((self.sent_bytes >> 32) as u32, self.sent_bytes as u32);
        if now >= self.warmup && self.before.is_none() {
            self.before = Some(Departures {
                sent: self.sent,
                sent_bytes: self.sent_bytes,
                lost: 0,
            });
        }
        self.started.get_or_insert(now);
        self.last = now;
        self.sent += 1;
        self.sent_bytes += u64::from(sending.payload);
        if self.schedule.peek().is_none() {
            self.ended = Some(now);
        }
        Some(self.ports[SENDER])
    }

    #[inline(never)]
    fn deadline(&self, side: Side) -> Time {
        match self.schedule.peek() {
            _ if side != SENDER || self.over => Time::NEVER,
            Some(sending) => sending.at,
            None => self.end_of_waiting(),
        }
    }
}
