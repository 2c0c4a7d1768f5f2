//! A flow over TCP: its sender, its receiver, its application, as the host that has both ends.

use cclab_net::{Host, Port, Side};
use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_tcp::sender::State;
use cclab_tcp::{Receiver, Sender};
use cclab_units::hint::unlikely;
use cclab_units::{Noted, Stream, Time};

use crate::application::Application;
use crate::ends::ends;
use crate::flow::{RECEIVER, SENDER};
use crate::stack::Profiles;

/// Both ends of a flow over TCP.
pub struct TcpFlow {
    /// The sending side.
    pub sender: Sender,
    /// The receiving side.
    pub receiver: Receiver,
    /// What writes to the sender.
    pub application: Application,
    /// Where the packets of either side enter the network.
    pub ports: [Port; 2],
    /// When it starts; later than the run's end for a flow that never does.
    pub start: Time,
    /// When the first SYN left.
    pub started: Noted,
    /// When everything was acknowledged.
    pub ended: Noted,
    /// Whether it is over, finished or given up.
    pub over: bool,
    /// Sum and count of srtt over acknowledgements, once there is one.
    pub srtt_sum: u128,
    /// See `srtt_sum`.
    pub srtt_count: u64,
    /// RTT samples.
    pub rtt: cclab_trace::Histogram,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

impl TcpFlow {
    /// The flow at `index` of `scenario`, not yet started.
    pub fn new(
        scenario: &Scenario,
        index: usize,
        ports: [Port; 2],
        seed: u64,
        profiles: &mut Profiles,
    ) -> TcpFlow {
        let spec = &scenario.flows[index];
        let (start, mut dice) = spec.start_and_dice(seed);
        let isn = dice.bits();
        let isns = (isn as u32, (isn >> 32) as u32);
        let (sender, receiver, mss) = ends(scenario, spec, index as u32, isns, dice, profiles);
        let dice = Stream::new(seed, &format!("application {}", spec.name));
        let mut application = Application::new(spec, start, u64::from(mss), dice);
        application.end_at(scenario.duration);
        TcpFlow {
            sender,
            receiver,
            application,
            ports,
            start,
            started: Noted::NOT_YET,
            ended: Noted::NOT_YET,
            over: false,
            srtt_sum: 0,
            srtt_count: 0,
            rtt: cclab_trace::Histogram::default(),
            mss,
        }
    }

    /// Has the memory fetched that an acknowledgement will touch beyond the flow itself.
    #[inline]
    pub fn fetch_parts(&self) {
        self.sender.fetch_parts();
        self.rtt.fetch(self.sender.rtt().srtt().as_nanos());
    }

    /// srtt, once there was a sample.
    #[inline]
    pub fn srtt(&self) -> Option<Time> {
        Some(self.sender.rtt().srtt()).filter(|&srtt| srtt > Time::ZERO)
    }

    /// Whether its sender has come to its end, which was not yet noted in `over`.
    #[inline]
    pub fn has_ended(&self) -> bool {
        !self.over
            && unlikely(matches!(
                self.sender.state(),
                State::Finished | State::Aborted
            ))
    }

    #[inline]
    fn receive_ack(&mut self, now: Time, packet: &Packet) {
        self.sender.on_packet(now, packet);
        if self.application.is_interactive() {
            self.application.on_acked(now, self.sender.snd_una());
        }
        if let Some(rtt) = self.sender.last_ack().rtt {
            self.rtt.record(rtt.as_nanos());
        }
        if let Some(srtt) = self.srtt() {
            self.srtt_sum += u128::from(srtt.as_nanos());
            self.srtt_count += 1;
        }
    }

    #[inline]
    fn receive_data(&mut self, now: Time, packet: &Packet) {
        self.receiver.on_packet(now, packet);
        if self.application.is_interactive() {
            let received = self.receiver.data_end();
            self.application.on_received(now, received);
            if self.application.is_answered(received) {
                self.receiver.acknowledge_now();
            }
        }
    }

    fn act_as_sender(&mut self, now: Time) {
        if unlikely(self.started.time().is_none()) {
            self.started = Noted::at(now);
            self.sender.connect(now);
        }
        if unlikely(self.application.deadline() <= now) {
            if self.application.holds_back(now) {
                let written = self.sender.withdraw();
                self.application.on_withdrawn(written);
            }
            self.application.on_sent(self.sender.snd_nxt());
            let act = self.application.act(now);
            self.sender.write(act.written);
            if act.done {
                self.sender.close();
            }
            if act.stop {
                self.sender.close_now();
            }
        }
        if self.sender.deadline() <= now {
            self.sender.on_timer(now);
        }
    }
}

impl TcpFlow {
    /// A time that is not after [`Host::deadline`], and cheaper to know.
    #[inline]
    pub fn least_deadline(&self, side: Side) -> Time {
        match side {
            SENDER if self.over => Time::NEVER,
            SENDER => self
                .sender
                .least_deadline()
                .min(self.application.deadline()),
            _ => self.receiver.deadline(),
        }
    }
}

impl Host for TcpFlow {
    #[inline]
    fn receive(&mut self, now: Time, packet: &Packet) -> Side {
        match packet.backward {
            true => {
                self.receive_ack(now, packet);
                SENDER
            }
            false => {
                self.receive_data(now, packet);
                RECEIVER
            }
        }
    }

    fn act(&mut self, now: Time, _: Time) {
        if !self.over {
            self.act_as_sender(now);
        }
        if self.receiver.deadline() <= now {
            self.receiver.on_timer(now);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, side: Side, packet: &mut Packet) -> Option<Port> {
        let sends = match side {
            SENDER => self.sender.transmit(now, packet),
            _ => self.receiver.transmit(now, packet),
        };
        sends.then_some(self.ports[side])
    }

    #[inline]
    fn has_sent_all(&self, side: Side) -> bool {
        side == RECEIVER && self.receiver.has_sent_all()
    }

    #[inline]
    fn deadline(&self, side: Side) -> Time {
        match side {
            SENDER if self.over => Time::NEVER,
            SENDER => self.sender.deadline().min(self.application.deadline()),
            _ => self.receiver.deadline(),
        }
    }
}
