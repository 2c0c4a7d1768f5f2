//! The keys of links.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Queue;
use crate::change::StateValue;
use crate::de::At;
use crate::link::{Codepoint, Place};
use crate::text::{BriefOrFull, OneOrMany, RateText, Share, SizeText, TimeText};

/// Declares a table of a link: keys of its own, and those of impairments, which every link has.
macro_rules! link_table {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "a table")]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Loss of packets: a share, a table, or a list of them.
            #[serde(default)]
            pub loss: OneOrMany<BriefOrFull<Share, Loss>>,
            /// Random extra delay, uniform between zero and this, which keeps packets in order; or
            /// a table. Default: none.
            pub jitter: Option<At<BriefOrFull<TimeText, Jitter>>>,
            /// Slots for which packets wait behind the wire, in order. Default: none.
            pub slots: Option<At<Slots>>,
            /// Packets that are held back, so that later ones overtake them. Default: none.
            pub reorder: Option<Reorder>,
            /// The probability that a packet arrives at the queue twice. Default: 0.
            pub duplicate: Option<Share>,
            /// The probability that a packet is changed on the way: it travels on, and the
            /// receiving host discards it. Default: 0.
            pub corrupt: Option<Share>,
            /// Changes of the codepoint of ECN: "bleach", which clears it; a table; or a list of them.
            #[serde(default)]
            pub remark: OneOrMany<BriefOrFull<Bleach, Remark>>,
            /// Times during which every packet is lost.
            #[serde(default)]
            pub outage: OneOrMany<Outage>,
            /// Changes of rate, delay, loss, jitter or slots during the run.
            #[serde(default)]
            pub schedule: OneOrMany<Change>,
            /// A file of delivery opportunities in Mahimahi's format, which the link follows
            /// instead of a rate; its path starts at the study's folder. Default: none.
            pub trace: Option<At<String>>,
        }

        impl $name {
            /// The keys of impairments.
            pub fn impairments(&self) -> Impairments<'_> {
                Impairments {
                    loss: &self.loss.0,
                    jitter: self.jitter.as_ref(),
                    slots: self.slots.as_ref(),
                    reorder: self.reorder.as_ref(),
                    duplicate: self.duplicate,
                    corrupt: self.corrupt,
                    remark: &self.remark.0,
                    outage: &self.outage.0,
                    schedule: &self.schedule.0,
                }
            }
        }
    };
}

link_table! {
    /// The link under study.
    Bottleneck {
        /// Bits per second, both ways. With a `trace` it may be left out.
        rate: Option<RateText>,
        /// One-way propagation delay. Default: "0s".
        delay: Option<TimeText>,
        /// The queue in front of the link.
        queue: Queue,
        /// The way back, where it is not the mirror image.
        reverse: Option<At<Reverse>>,
    }
}

link_table! {
    /// The way back over the bottleneck. Rate, delay and queue that it does not give are those of
    /// the bottleneck, with their changes; impairments are its own.
    Reverse {
        /// Bits per second. Default: the bottleneck's.
        rate: Option<RateText>,
        /// One-way propagation delay. Default: the bottleneck's.
        delay: Option<TimeText>,
        /// The queue in front of it. Default: the bottleneck's.
        queue: Option<Queue>,
    }
}

link_table! {
    /// The links between hosts and routers.
    #[derive(Default)]
    Access {
        /// Bits per second, both ways. Default: infinitely fast.
        rate: Option<RateText>,
        /// One-way propagation delay of each access link. Default: "0s".
        delay: Option<TimeText>,
        /// The queue in front of each access link. Default: droptail that never fills (1 GiB).
        queue: Option<Queue>,
    }
}

link_table! {
    /// A link of a graph: rate, delay and queue hold both ways unless it is `one_way`;
    /// impairments act from `from` to `to`.
    GraphLink {
        /// The node at its beginning.
        from: At<String>,
        /// The node at its end.
        to: At<String>,
        /// Unique name. Default: "FROM-TO".
        name: Option<At<String>>,
        /// Whether there is no way back. Default: false.
        #[serde(default)]
        one_way: bool,
        /// Whether it is the link under study, from `from` to `to`. Default: false.
        #[serde(default)]
        bottleneck: bool,
        /// Bits per second. Default: infinitely fast.
        rate: Option<RateText>,
        /// One-way propagation delay. Default: "0s".
        delay: Option<TimeText>,
        /// The queue in front of the link. Default: droptail that never fills (1 GiB).
        queue: Option<Queue>,
    }
}

/// The keys of impairments, which every link has.
#[derive(Clone, Copy)]
pub(crate) struct Impairments<'a> {
    pub loss: &'a [BriefOrFull<Share, Loss>],
    pub jitter: Option<&'a At<BriefOrFull<TimeText, Jitter>>>,
    pub slots: Option<&'a At<Slots>>,
    pub reorder: Option<&'a Reorder>,
    pub duplicate: Option<Share>,
    pub corrupt: Option<Share>,
    pub remark: &'a [BriefOrFull<Bleach, Remark>],
    pub outage: &'a [Outage],
    pub schedule: &'a [Change],
}

/// A word for a change of codepoints.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bleach {
    /// No packet is ECN-capable any more.
    Bleach,
}

/// A change of the codepoint of ECN at a place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table such as { ect1 = \"ect0\", at = \"router\" }"
)]
pub(crate) struct Remark {
    /// What packets become that are not ECN-capable. Default: they stay so.
    pub not_ect: Option<Codepoint>,
    /// What ECT(1) becomes. Default: it stays so.
    pub ect1: Option<Codepoint>,
    /// What ECT(0) becomes. Default: it stays so.
    pub ect0: Option<Codepoint>,
    /// What CE becomes. Default: it stays so.
    pub ce: Option<Codepoint>,
    /// The probability that a packet is changed. Default: 1.
    pub probability: Option<Share>,
    /// Where. Default: "router".
    pub at: Option<Place>,
}

/// A loss at a place: independent with `rate`, bursts with `p` and `r`, or listed `packets`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { rate = \"1%\", at = \"router\" }"
)]
pub(crate) struct Loss {
    /// Which packets are lost. Default: what the other keys say.
    pub kind: Option<At<LossKind>>,
    /// The probability that a packet is lost, independently of the others.
    pub rate: Option<At<Share>>,
    /// The probability that the state turns bad behind a packet (gilbert-elliott).
    pub p: Option<At<Share>>,
    /// The probability that the state turns good behind a packet (gilbert-elliott).
    pub r: Option<At<Share>>,
    /// The probability of loss in the good state, netem's `1-k` (gilbert-elliott). Default: 0.
    pub good: Option<At<Share>>,
    /// The probability of loss in the bad state, netem's `1-h` (gilbert-elliott). Default: 1.
    pub bad: Option<At<Share>>,
    /// Numbers of the data packets that are lost, counted from 1 where they pass the place.
    pub packets: Option<At<Vec<u64>>>,
    /// The flow whose `packets` count. Default: those of all flows.
    pub flow: Option<At<String>>,
    /// Where. Default: "router".
    pub at: Option<Place>,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LossKind {
    /// Each with a probability of its own.
    Random,
    /// In bursts.
    GilbertElliott,
    /// Those of a list.
    Packets,
}

/// Random extra delay.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { max = \"2ms\", distribution = \"normal\" }"
)]
pub(crate) struct Jitter {
    /// The largest extra delay (uniform, normal).
    pub max: Option<At<TimeText>>,
    /// The average that the model is asked for (wifi).
    pub average: Option<At<TimeText>>,
    /// How it is distributed. Default: "uniform".
    pub distribution: Option<Distribution>,
    /// Whether packets may overtake each other by it. Default: false.
    pub reorder: Option<bool>,
}

/// A distribution of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Distribution {
    /// Every delay from zero to the largest is as likely.
    #[default]
    Uniform,
    /// Around half of the largest, which is three standard deviations from either end.
    Normal,
    /// That of a Wi-Fi network with many others around.
    Wifi,
}

/// Instants at which packets that wait may pass.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { every = [\"0.8ms\", \"5ms\"], packets = 16 }"
)]
pub(crate) struct Slots {
    /// The time until a slot opens, or the shortest and the longest.
    pub every: At<OneOrMany<TimeText>>,
    /// The most packets that one lets pass. Default: all that wait.
    pub packets: Option<At<u64>>,
    /// The bytes by which one is used up. Default: as many as come.
    pub bytes: Option<At<SizeText>>,
}

/// Packets that are held back, so that later ones overtake them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { probability = \"1%\", delay = \"10ms\" }"
)]
pub(crate) struct Reorder {
    /// The probability that a packet is held back.
    pub probability: Share,
    /// For how long.
    pub delay: At<TimeText>,
}

/// A time during which every packet is lost.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { start = \"4s\", duration = \"100ms\" }"
)]
pub(crate) struct Outage {
    /// When it begins.
    pub start: At<TimeText>,
    /// How long it lasts.
    pub duration: At<TimeText>,
    /// Where. Default: "router".
    pub at: Option<Place>,
}

/// A change of a link, at an instant or at a state of a flow's variant.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { at = \"10s\", rate = \"50Mbit\" }"
)]
pub(crate) struct Change {
    /// When, since the beginning of the run; or give it a `when`.
    pub at: Option<At<TimeText>>,
    /// The state of a flow's variant that it waits for, on the simulator; or give it an `at`.
    pub when: Option<At<When>>,
    /// How long after that state. Default: "0s".
    pub after: Option<At<TimeText>>,
    /// The new rate.
    pub rate: Option<At<RateText>>,
    /// The new one-way delay.
    pub delay: Option<At<TimeText>>,
    /// The new probability of independent loss in front of the queue, instead of those before.
    pub loss: Option<At<Share>>,
    /// The new largest extra delay of the link's jitter, or its new average (wifi).
    pub jitter: Option<At<TimeText>>,
    /// The new slots, instead of those before; none if they open every "0s".
    pub slots: Option<At<Slots>>,
}

/// A column of the inner state of a flow's variant becomes a value, which was another before.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { flow = \"x\", column = \"phase\", is = \"drain\" }"
)]
pub(crate) struct When {
    /// The flow.
    pub flow: At<String>,
    /// The column (`cclab list variants --json`).
    pub column: String,
    /// The value: a word, true or false, or a number.
    pub is: StateValue,
    /// The n-th time that it becomes so counts. Default: 1.
    pub nth: Option<At<u64>>,
}
