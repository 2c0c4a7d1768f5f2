//! A host may move in windows of virtual time, as another process does: what the network carries is
//! the same whatever the length of the windows.

use std::collections::{BTreeMap, VecDeque};

use cclab_net::{Forwarding, Host, Link, Network, Next, Port, Side, fuse};
use cclab_packet::Packet;
use cclab_qdisc::{Config, Limit};
use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream, Time};

const END: Time = Time::from_millis(400);
/// One flow each way: packets of flow 0 go from host 0 to host 1, those of flow 1 back.
const FLOWS: usize = 2;

/// Sends bursts at random, and for each packet that comes one that repeats it, some time later.
struct Chatter {
    flow: u32,
    port: Port,
    dice: Stream,
    next_burst: Time,
    /// What is sent when.
    agenda: BTreeMap<(Time, u32), Packet>,
    sent: u32,
    /// What came when.
    log: Vec<(Time, u32, u32)>,
}

impl Chatter {
    fn new(flow: u32, port: Port) -> Chatter {
        Chatter {
            flow,
            port,
            dice: Stream::new(7, &format!("chatter {flow}")),
            next_burst: Time::from_micros(u64::from(flow) * 3),
            agenda: BTreeMap::new(),
            sent: 0,
            log: Vec::new(),
        }
    }

    fn send(&mut self, at: Time, ack: u32) {
        self.sent += 1;
        let packet = Packet {
            flow: self.flow,
            seq: self.sent,
            ack,
            wire_len: 400 + (self.sent % 1000) as u16,
            ..Packet::default()
        };
        self.agenda.insert((at, self.sent), packet);
    }
}

/// A host that may be told of packets before they come.
trait Foretold: Host {
    /// A packet will come at `at`.
    fn expect(&mut self, _at: Time, _packet: &Packet) {}
}

impl Foretold for Chatter {}

impl Host for Chatter {
    fn receive(&mut self, now: Time, packet: &Packet) -> Side {
        self.log.push((now, packet.seq, packet.ack));
        if packet.seq.is_multiple_of(3) {
            // At once, or after some thought.
            let thought = self.dice.bits() % 2 * (self.dice.bits() % 700_000);
            self.send(now + Time::from_nanos(thought), packet.seq);
        }
        0
    }

    fn act(&mut self, now: Time, _: Time) {
        if self.next_burst <= now {
            for _ in 0..1 + self.dice.bits() % 12 {
                self.send(now, 0);
            }
            self.next_burst = now + Time::from_nanos(1 + self.dice.bits() % 3_000_000);
        }
    }

    fn transmit(&mut self, now: Time, _: Side, packet: &mut Packet) -> Option<Port> {
        let first = self.agenda.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        *packet = first.remove();
        Some(self.port)
    }

    fn deadline(&self, _: Side) -> Time {
        let first = self.agenda.first_key_value();
        first.map_or(self.next_burst, |(key, _)| key.0.min(self.next_burst))
    }
}

/// Runs a host as another process would: from now to the horizon, or less far, by what it was told.
struct Windows {
    inner: Chatter,
    /// The longest window.
    longest: Time,
    /// Up to there it has run.
    done: Time,
    expected: VecDeque<(Time, Packet)>,
    sent: VecDeque<(Time, Packet)>,
    windows: u64,
}

impl Foretold for Windows {
    fn expect(&mut self, at: Time, packet: &Packet) {
        assert!(
            at >= self.done,
            "a packet at {at}, and it has run to {}",
            self.done
        );
        let place = self.expected.partition_point(|(before, _)| *before <= at);
        self.expected.insert(place, (at, *packet));
    }
}

impl Host for Windows {
    fn receive(&mut self, now: Time, _: &Packet) -> Side {
        assert!(now < self.done, "it was told of every packet before");
        0
    }

    fn act(&mut self, now: Time, horizon: Time) {
        if now < self.done {
            return; // only packets are due
        }
        self.windows += 1;
        let end = horizon
            .min(now + self.longest)
            .max(now + Time::from_nanos(1));
        loop {
            let packet = self.expected.front().map_or(Time::NEVER, |first| first.0);
            let at = packet.min(self.inner.deadline(0));
            if at >= end {
                break;
            }
            // As in the network: what a host does on its own comes first at an instant.
            if self.inner.deadline(0) == at {
                self.inner.act(at, at);
            } else if let Some((_, packet)) = self.expected.pop_front() {
                self.inner.receive(at, &packet);
            }
            let mut packet = Packet::default();
            while self.inner.transmit(at, 0, &mut packet).is_some() {
                self.sent.push_back((at, packet));
            }
        }
        self.done = end;
    }

    fn transmit(&mut self, now: Time, _: Side, packet: &mut Packet) -> Option<Port> {
        let (at, first) = *self.sent.front()?;
        if at > now {
            return None;
        }
        self.sent.pop_front();
        *packet = first;
        Some(self.inner.port)
    }

    fn deadline(&self, _: Side) -> Time {
        let sent = self.sent.front().map_or(Time::NEVER, |first| first.0);
        let expected = self.expected.front().map_or(Time::NEVER, |first| first.0);
        sent.min(expected).min(self.inner.deadline(0))
    }
}

fn link(name: &str, mbit: Option<u64>, delay: Time, kind: &str) -> Link {
    let rate = mbit.and_then(|mbit| Rate::from_bps(mbit * 1_000_000));
    let discipline = cclab_qdisc::find(kind).expect("known");
    let config = Config {
        limit: Limit::Packets(20),
        limit_is_exclusive: false,
        rate,
        params: Params::defaults(discipline.params),
    };
    let queue = cclab_qdisc::build(kind, &config).expect("simulated");
    let mut link = Link::new(rate, delay, queue, Stream::new(1, name));
    link.foresee_departures();
    link
}

/// Host 0, an access link, a bottleneck of the discipline `kind`, an access link, host 1; and back.
fn network(kind: &str, last: Time) -> (Network, [Port; 2], [u32; 2]) {
    let ms = Time::from_millis;
    let mut links = vec![
        link("there", Some(10), ms(3), kind),
        link("back", Some(4), ms(3), kind),
        link("left", Some(100), ms(1), "droptail"),
        link("right", Some(100), last, "droptail"),
        link("right back", Some(100), ms(1), "droptail"),
        link("left back", None, last, "droptail"),
    ];
    let mut forwarding = Forwarding::new(FLOWS);
    forwarding.add_routes(0, &[2, 0, 3], &[4]);
    forwarding.add_routes(1, &[4, 1, 5], &[2]);
    for (index, link) in links.iter_mut().enumerate() {
        link.leads_to = forwarding.leads_to(index);
    }
    fuse(&mut links, &forwarding, &[2, 4].into_iter().collect());
    let net = Network::new(links, forwarding, 2, false);
    (net, [Port(2), Port(4)], [5, 3])
}

/// Runs two hosts; returns what each saw, and what the links counted.
fn run<H: Foretold>(
    mut net: Network,
    mut hosts: [H; 2],
    lookahead: Time,
) -> ([H; 2], Vec<cclab_trace::schema::LinkSummary>) {
    // The place of a host among the acts of an instant does not depend on when it asked for it.
    let ask = |net: &mut Network, hosts: &[H; 2]| {
        for (timer, host) in (0..).zip(hosts) {
            net.look_at(timer, host.deadline(0));
        }
    };
    ask(&mut net, &hosts);
    loop {
        let (now, next) = net.next();
        if now > END {
            break;
        }
        net.pass_time(now);
        let mut moved = None;
        match next {
            Next::Arrival => {
                if let Some(held) = net.arrive(&mut ()) {
                    let packet = *net.packet(&held);
                    net.release(held);
                    let host = 1 - packet.flow as usize;
                    hosts[host].receive(now, &packet);
                    moved = Some(host);
                }
            }
            Next::Act(element) => {
                if let Some(timer) = net.act(element, &mut ()) {
                    let host = timer as usize;
                    hosts[host].act(now, now + lookahead);
                    moved = Some(host);
                }
            }
        }
        if let Some(host) = moved {
            let mut packet = Packet::default();
            while let Some(port) = hosts[host].transmit(now, 0, &mut packet) {
                let held = net.reserve();
                *net.packet_mut(&held) = packet;
                net.inject(port, held, &mut ());
            }
        }
        for coming in net.announced() {
            hosts[1 - coming.packet.flow as usize].expect(coming.at, &coming.packet);
        }
        ask(&mut net, &hosts);
    }
    net.pass_time(END);
    (hosts, net.finish().expect("packets are conserved"))
}

#[test]
fn what_happens_does_not_depend_on_the_length_of_windows() {
    for kind in ["droptail", "codel", "fq_codel"] {
        let last = Time::from_millis(2);
        let (net, ports, _) = network(kind, last);
        let chatters = [0, 1].map(|host| Chatter::new(host, ports[host as usize]));
        let (at_once, links) = run(net, chatters, Time::ZERO);
        assert!(at_once.iter().all(|host| host.log.len() > 150), "{kind}");
        assert!(links[1].queue_drops > 20, "{kind}: the queues were full");

        let mut counts = Vec::new();
        for longest in [1, 1_000, 70_000, 5_000_000] {
            let (mut net, ports, ends) = network(kind, last);
            let lookahead = ends.map(|link| net.announce(link));
            // Those of the links before, which feed them ahead, are added.
            assert_eq!(lookahead, [last + Time::from_millis(3); 2]);
            let windows = [0, 1].map(|host| Windows {
                inner: Chatter::new(host, ports[host as usize]),
                longest: Time::from_nanos(longest),
                done: Time::ZERO,
                expected: VecDeque::new(),
                sent: VecDeque::new(),
                windows: 0,
            });
            let (in_windows, same_links) = run(net, windows, lookahead[0]);
            for (host, windowed) in at_once.iter().zip(&in_windows) {
                let log = &windowed.inner.log;
                let until_end = log.iter().filter(|came| came.0 <= END).count();
                assert_eq!(
                    log[..until_end],
                    host.log,
                    "{kind}, windows of {longest} ns"
                );
            }
            assert_eq!(same_links, links, "{kind}, windows of {longest} ns");
            counts.push(in_windows[0].windows);
        }
        assert!(
            counts[0] > 2 * counts[3],
            "{counts:?}: longer windows are fewer"
        );
    }
}
