//! A link between two interfaces: a veth pair, or two of them with delay and rate between.

use cclab_spec::{GilbertElliott, Queue as QueueSpec, Reorder, Slots};
use cclab_units::{Rate, Time};

use crate::orders::Namespace;
use crate::{discipline, words};

/// Every interface has this address, so that a packet is for whoever gets it and no host asks
/// who has an address.
pub(crate) const MAC: &str = "02:00:00:00:00:01";
/// netem drops what exceeds its limit in packets, 1000 unless told.
const NETEM_LIMIT: u32 = 1_000_000;

/// An interface of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    /// Index of the namespace.
    pub namespace: usize,
    /// The interface.
    pub interface: String,
}

impl End {
    /// The interface called `interface` in `namespace`.
    pub fn of(namespace: usize, interface: String) -> End {
        End {
            namespace,
            interface,
        }
    }
}

/// Propagation and serialisation of a link in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Way {
    /// Propagation.
    pub delay: Time,
    /// Absent: infinitely fast.
    pub rate: Option<Rate>,
}

/// Propagation and serialisation of a link and of its way back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wire {
    /// From left to right, and from right to left.
    pub ways: [Way; 2],
    /// Random extra delay from left to right, in order.
    pub jitter: Option<Time>,
    /// Random extra delay from left to right by which packets overtake one another.
    pub overtaking: Option<Time>,
    /// Slots for which packets from left to right wait behind that.
    pub slots: Option<Slots>,
    /// Packets from left to right that are held back at the end.
    pub held: Option<Reorder>,
    /// Whether it changes during the run.
    pub changes: bool,
    /// Whether the time that packets take to pass is part of it.
    pub serialises: bool,
}

impl Wire {
    /// Whether a veth pair does all that this wire does.
    pub fn is_plain(&self) -> bool {
        let way = |way: &Way| way.delay == Time::ZERO && (way.rate.is_none() || !self.serialises);
        let still = self.jitter.is_none() && !self.changes;
        let in_order = self.overtaking.is_none() && self.held.is_none();
        still && in_order && self.slots.is_none() && self.ways.iter().all(way)
    }

    /// The wire from left to right.
    pub fn rightward(&self) -> String {
        self.netem(self.ways[0], self.jitter)
    }

    /// What happens to packets behind the wire from left to right, one netem after the other: each
    /// takes what the one before lets go, at that instant. Without a rate nothing in a netem
    /// waits for what came before it.
    pub fn behind(&self) -> Vec<String> {
        let overtaking = self.overtaking.map(|jitter| {
            let half = words::delay(jitter / 2);
            format!("netem limit {NETEM_LIMIT} delay {half} {half}")
        });
        // netem lets the share that it is told pass at once and delays the rest.
        let held = self.held.map(|held| {
            let delay = words::delay(held.delay);
            let pass = words::percent(1.0 - held.probability);
            format!("netem limit {NETEM_LIMIT} delay {delay} reorder {pass}")
        });
        overtaking
            .into_iter()
            .chain(self.slotted())
            .chain(held)
            .collect()
    }

    /// The slots, as the first behind the wire: what overtakes before them is refused.
    pub fn slotted(&self) -> Option<String> {
        let slots = self.slots?;
        let [shortest, longest] = slots.every.map(words::nanoseconds);
        let mut netem = format!("netem limit {NETEM_LIMIT} slot {shortest} {longest}");
        for (word, limit) in [("packets", slots.packets), ("bytes", slots.bytes)] {
            netem += &limit.map_or(String::new(), |limit| format!(" {word} {limit}"));
        }
        Some(netem)
    }

    /// The wire from right to left.
    pub fn leftward(&self) -> String {
        self.netem(self.ways[1], None)
    }

    /// A packet arrives `delay` after it was sent and not before the last one is through:
    /// netem adds the time of transmission to the later of the two.
    fn netem(&self, Way { delay, rate }: Way, jitter: Option<Time>) -> String {
        let mut netem = format!("netem limit {NETEM_LIMIT}");
        match jitter {
            // netem's is uniform in [mean - half, mean + half).
            Some(jitter) => {
                let half = jitter / 2;
                let mean = words::delay(delay + half);
                netem += &format!(" delay {mean} {}", words::delay(half));
            }
            None if delay > Time::ZERO => {
                netem += &format!(" delay {}", words::delay(delay));
            }
            None => {}
        }
        if let Some(rate) = rate.filter(|_| self.serialises) {
            netem += &format!(" rate {}", words::rate(rate));
        }
        netem
    }
}

/// What happens to packets that leave an interface, in front of everything else there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Front {
    /// How long they are delayed.
    pub delay: Time,
    /// How many packets it holds, delayed or waiting for the link; absent: all that come.
    pub limit: Option<u32>,
    /// The link's rate, where netem keeps it rather than a shaper: so that its limit holds for
    /// all packets of the interface.
    pub rate: Option<Rate>,
    /// The probability of independent losses.
    pub loss: f64,
    /// Losses in bursts, which have no others beside them.
    pub bursts: Option<GilbertElliott>,
    /// The probability that they leave twice, which has no losses beside it.
    pub duplicate: Option<f64>,
}

impl Front {
    /// The netem that does it.
    pub fn netem(&self) -> String {
        let mut netem = format!("netem limit {}", self.limit.unwrap_or(NETEM_LIMIT));
        if self.delay > Time::ZERO {
            netem += &format!(" delay {}", words::delay(self.delay));
        }
        if let Some(rate) = self.rate {
            netem += &format!(" rate {}", words::rate(rate));
        }
        if let Some(GilbertElliott { p, r, good, bad }) = self.bursts {
            let [p, r, bad, good] = [p, r, bad, good].map(words::percent);
            netem += &format!(" loss gemodel {p} {r} {bad} {good}");
        } else if let Some(duplicate) = self.duplicate {
            netem += &format!(" duplicate {}", words::percent(duplicate));
        } else {
            netem += &format!(" loss {}", words::percent(self.loss));
        }
        netem
    }
}

/// The line that makes a veth pair.
pub(crate) fn veth(left: (&str, &str), right: (&str, &str), mtu: u32) -> String {
    let end = |(namespace, interface): (&str, &str)| {
        format!("{interface} netns {namespace} mtu {mtu} address {MAC} arp off")
    };
    format!("link add {} type veth peer {}", end(left), end(right))
}

/// The lines by which what arrives at either of two interfaces leaves by the other.
pub(crate) fn patch(left: &str, right: &str) -> Vec<String> {
    let redirect = |from: &str, to: &str| {
        [
            format!("qdisc add dev {from} clsact"),
            format!(
                "filter add dev {from} ingress matchall action mirred egress redirect dev {to}"
            ),
        ]
    };
    [redirect(left, right), redirect(right, left)].concat()
}

/// Major numbers of the qdiscs of an interface, from the root down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Majors {
    /// Of the root.
    pub root: u32,
    /// Of the shaper where netem is the root.
    pub shaper: u32,
    /// Of the discipline.
    pub discipline: u32,
}

/// Those of an interface whose queue nobody looks at.
pub(crate) const UNSEEN: Majors = Majors {
    root: 1,
    shaper: 2,
    discipline: 3,
};

/// The sending side of a link: losses and delay, then a shaper with its queue.
pub(crate) struct Egress<'a> {
    /// Words of a netem in front of the queue.
    pub netem: Option<String>,
    /// The link's rate and queue; absent: infinitely fast.
    pub queue: Option<(Rate, &'a QueueSpec)>,
    /// Bytes that the shaper may send at once: one packet.
    pub burst: u64,
    /// What it may catch up on beyond that: as much as its timer may be late.
    pub lateness: Time,
    /// Bytes of a full packet, in which limits are converted.
    pub packet: u64,
    /// Handles.
    pub majors: Majors,
}

/// Where the shaper of an interface is, so that it can be changed.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    place: String,
    burst: u64,
    lateness: Time,
    limit: u64,
}

impl Shaper {
    /// The line that adds it or changes it to `rate`.
    pub fn line(&self, verb: &str, rate: Rate) -> String {
        let Shaper {
            place,
            burst,
            lateness,
            limit,
        } = self;
        let burst = burst + rate.bytes_in(*lateness);
        let rate = words::rate(rate);
        format!("qdisc {verb} {place} tbf rate {rate} burst {burst} limit {limit}")
    }
}

impl Egress<'_> {
    /// Adds the lines for `interface` to `namespace`.
    pub fn install(&self, namespace: &mut Namespace, interface: &str) -> Option<Shaper> {
        let Majors {
            root,
            shaper,
            discipline,
        } = self.majors;
        let mut at = format!("dev {interface} root handle {root:x}:");
        let mut major = root;
        if let Some(netem) = &self.netem {
            namespace.tc.push(format!("qdisc add {at} {netem}"));
            at = format!("dev {interface} parent {root:x}:1 handle {shaper:x}:");
            major = shaper;
        }
        let (rate, queue) = self.queue?;
        let child = discipline::child(queue, rate, self.packet)
            .expect("what the kernel lacks is refused before a run");
        let shaper = Shaper {
            place: at,
            burst: self.burst,
            lateness: self.lateness,
            limit: child.shaper_limit,
        };
        namespace.tc.push(shaper.line("add", rate));
        namespace.tc.push(format!(
            "qdisc add dev {interface} parent {major:x}:1 handle {discipline:x}: {}",
            child.words
        ));
        Some(shaper)
    }
}
