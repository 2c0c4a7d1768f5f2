//! Links of a resolved experiment, and what they do to packets.

use std::collections::BTreeMap;
use std::num::NonZero;

use cclab_units::{Rate, Time};
use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::change::{Change, Triggered, mirrored, mirrored_triggered};
use crate::opportunities::Opportunities;
use crate::scenario::Queue;

/// A link. Rate, delay and queue hold both ways; the impairments act on the direction that
/// carries data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bits per second; absent: infinitely fast. Of a link that follows a trace, the mean: what
    /// utilization and queue limits are measured by.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Time,
    /// The queue in front of the transmitter.
    pub queue: Queue,
    /// Losses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loss: Vec<Loss>,
    /// Timed outages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outage: Vec<Outage>,
    /// Random extra delay of every packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Packets that wait for slots behind the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Slots>,
    /// Packets that are held back and overtaken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Probability that a packet arrives at the queue twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<f64>,
    /// Probability that a packet is changed on the way, so that the receiving host discards it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<f64>,
    /// Codepoints of ECN that are changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remark: Vec<Remark>,
    /// Changes during the run, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Change>,
    /// Changes that wait for the state of a flow's variant, in the order of the study file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggered: Vec<Triggered>,
    /// When the link sends, instead of at its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Opportunities>,
    /// The way back, where it is not the mirror image ([`Link::way_back`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Box<Link>>,
}

impl Link {
    /// A link without impairments.
    pub fn new(rate: Option<Rate>, delay: Time, queue: Queue) -> Link {
        Link {
            rate,
            delay,
            queue,
            loss: Vec::new(),
            outage: Vec::new(),
            jitter: None,
            slots: None,
            reorder: None,
            duplicate: None,
            corrupt: None,
            remark: Vec::new(),
            schedule: Vec::new(),
            triggered: Vec::new(),
            trace: None,
            reverse: None,
        }
    }

    /// The link of the other direction: as given, or the mirror image, which has the same rate,
    /// delay and queue, their changes and the same trace, and no impairment.
    pub fn way_back(&self) -> Link {
        match &self.reverse {
            Some(reverse) => Link::clone(reverse),
            None => Link {
                schedule: mirrored(&self.schedule, true, true),
                triggered: mirrored_triggered(&self.triggered, true, true),
                trace: self.trace.clone(),
                ..Link::new(self.rate, self.delay, self.queue.clone())
            },
        }
    }

    /// All of its changes, whatever they wait for.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let triggered = self.triggered.iter().map(|triggered| &triggered.change);
        self.schedule.iter().chain(triggered)
    }

    /// Whether something happens to packets on it beside queueing, transmission and propagation, or
    /// it sends by a trace.
    pub fn is_impaired(&self) -> bool {
        let lossy = self.schedule.iter().any(|change| change.loss.is_some());
        let still = Link {
            schedule: self.schedule.clone(),
            ..Link::new(self.rate, self.delay, self.queue.clone())
        };
        lossy || *self != still
    }

    /// Whether nothing happens to packets on it, and it stays as it is, both ways.
    pub fn is_plain(&self) -> bool {
        *self == Link::new(self.rate, self.delay, self.queue.clone())
    }
}

/// Where on the path something happens to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Leaving the sending host, before its access link.
    Sender,
    /// Before the queue of the link: of the bottleneck, or of each access link.
    Router,
    /// Arriving at the receiving host, after the last link.
    Receiver,
}

/// A change of the codepoint of ECN in the IP header of packets that pass a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// Where.
    pub at: Place,
    /// What each codepoint becomes; those that stay are absent.
    pub to: BTreeMap<Codepoint, Codepoint>,
    /// The probability that a packet is changed.
    pub probability: f64,
}

/// A codepoint of the ECN field (RFC 3168 section 5), as study files name it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Codepoint {
    /// Not ECN-capable.
    NotEct,
    /// ECN-capable, for queues of low latency (RFC 9331).
    Ect1,
    /// ECN-capable.
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// A loss of packets, whatever they carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Where.
    pub at: Place,
    /// Which packets.
    pub model: LossModel,
}

impl Loss {
    /// Independent losses of probability `probability`.
    pub fn random(at: Place, probability: f64) -> Loss {
        Loss {
            at,
            model: LossModel::Random(probability),
        }
    }

    /// The probability of an independent loss; `None` for other models.
    pub fn probability(&self) -> Option<f64> {
        match self.model {
            LossModel::Random(probability) => Some(probability),
            LossModel::GilbertElliott(_) | LossModel::Packets(_) => None,
        }
    }
}

/// Which packets are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossModel {
    /// Each with this probability, independently of the others.
    Random(f64),
    /// In bursts.
    GilbertElliott(GilbertElliott),
    /// Those of a list.
    Packets(ListedPackets),
}

/// A channel of two states (E. N. Gilbert, Bell System Technical Journal 39, 1960; E. O.
/// Elliott, 42, 1963) with the parameters that netem's `gemodel` has. Every packet is judged by
/// the state that it finds, and the state may change behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that the state turns bad behind a packet of the good state.
    pub p: f64,
    /// Probability that it turns good behind a packet of the bad state.
    pub r: f64,
    /// Probability of loss in the good state (netem's `1-k`).
    pub good: f64,
    /// Probability of loss in the bad state (netem's `1-h`).
    pub bad: f64,
}

/// Data packets that are lost: the n-th that pass the place, retransmissions included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedPackets {
    /// Their numbers, counted from 1, in order.
    pub packets: Vec<u64>,
    /// The flow whose packets count; absent: those of all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
}

/// A time during which every packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Where.
    pub at: Place,
    /// When it begins.
    pub start: Time,
    /// How long it lasts.
    pub duration: Time,
}

/// Random extra delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "distribution", rename_all = "lowercase", deny_unknown_fields)]
pub enum Jitter {
    /// Every delay from zero to the largest is as likely.
    Uniform {
        /// The largest extra delay.
        max: Time,
        /// Whether packets may overtake each other by it.
        reorder: bool,
    },
    /// Around half of the largest, which is three standard deviations from either end; what
    /// falls beyond an end is at that end.
    Normal {
        /// The largest extra delay.
        max: Time,
        /// Whether packets may overtake each other by it.
        reorder: bool,
    },
    /// That of a Wi-Fi network with many others around (draft-huitema-ccwg-c4-test-04, section
    /// "Handling of High Jitter Environments").
    Wifi {
        /// The average that the model is asked for.
        average: Time,
        /// Whether packets may overtake each other by it.
        reorder: bool,
    },
}

/// With the tag in second place: the names of runs depend on the order.
impl Serialize for Jitter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (key, distribution) = match self {
            Jitter::Uniform { .. } => ("max", "uniform"),
            Jitter::Normal { .. } => ("max", "normal"),
            Jitter::Wifi { .. } => ("average", "wifi"),
        };
        let mut fields = serializer.serialize_struct("Jitter", 3)?;
        fields.serialize_field(key, &self.size())?;
        fields.serialize_field("distribution", distribution)?;
        fields.serialize_field("reorder", &self.reorders())?;
        fields.end()
    }
}

impl Jitter {
    /// Whether packets may overtake each other by it.
    pub fn reorders(self) -> bool {
        let (Jitter::Uniform { reorder, .. }
        | Jitter::Normal { reorder, .. }
        | Jitter::Wifi { reorder, .. }) = self;
        reorder
    }

    /// The largest extra delay, or the average where there is no largest: what a schedule changes.
    pub fn size(self) -> Time {
        let (Jitter::Uniform { max: size, .. }
        | Jitter::Normal { max: size, .. }
        | Jitter::Wifi { average: size, .. }) = self;
        size
    }
}

/// Instants at which packets that wait may pass, in order: those that come between two wait for
/// the second, as behind a link that aggregates packets (Wi-Fi, DOCSIS, LTE).
///
/// Where a change has them, slots every 0 ns are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// The shortest and the longest time until a slot opens.
    pub every: [Time; 2],
    /// The most packets that one lets pass; absent: all that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<NonZero<u64>>,
    /// The bytes, with link framing, by which one is used up: the packet that comes to them or
    /// beyond is the last; absent: as many as come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<NonZero<u64>>,
}

impl Slots {
    /// What a change has where packets wait for slots no more.
    pub(crate) const NONE: Slots = Slots {
        every: [Time::ZERO; 2],
        packets: None,
        bytes: None,
    };

    /// Whether packets wait for none.
    pub fn is_none(&self) -> bool {
        self.every[1] == Time::ZERO
    }

    /// The most that they let pass of packets of `packet` bytes, over many slots; `None`: as much as
    /// comes.
    pub fn rate(&self, packet: u64) -> Option<Rate> {
        let by_bytes = self.bytes.map(|bytes| bytes.get().div_ceil(packet));
        let packets = self.packets.map(NonZero::get).into_iter().chain(by_bytes);
        let [shortest, longest] = self.every;
        Rate::from_bytes_per(
            2 * packet.saturating_mul(packets.min()?),
            shortest + longest,
        )
    }
}

/// Packets that are held back, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability that a packet is.
    pub probability: f64,
    /// For how long.
    pub delay: Time,
}
