//! How Linux spells a discipline: the words of `tc`, and where its statistics are.

use cclab_units::InKernel;
use cclab_units::parameter::Parameter;

/// A discipline as Linux has it.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// Where the kernel has it.
    pub part: InKernel,
    /// What `tc` calls it. A discipline that counts its limit in either unit is two of the kernel's;
    /// one that stands alone has a limit in the other unit converted to its own.
    pub kinds: &'static [Kind],
    /// The parameters that `tc` takes, and how it takes each: of the discipline's and of `more`.
    pub words: &'static [(&'static str, Form)],
    /// Parameters that the simulator's does not have.
    pub more: &'static [Parameter],
    /// The unit of the average that it decides by, as RED does; `None`: it has none. `tc` reckons
    /// with the link's rate then, and with an average packet's size where the unit is bytes.
    pub average: Option<Unit>,
    /// Whether a shaper above it passes its own limit down to it.
    pub limited_by_shaper: bool,
    /// Where its statistics count ECN marks.
    pub marks: Marks,
}

impl Tc {
    /// A discipline of every kernel that takes nothing and marks nothing.
    pub(crate) const PLAIN: Tc = Tc {
        part: InKernel::BuiltIn,
        kinds: &[],
        words: &[],
        more: &[],
        average: None,
        limited_by_shaper: false,
        marks: Marks::None,
    };
}

/// A discipline by its name in the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, which `tc` takes and the kernel gives back.
    pub name: &'static str,
    /// The word before its limit.
    pub limit: &'static str,
    /// The unit of its limit.
    pub unit: Unit,
    /// The least that `tc` takes after its name: with it a host is asked whether it has it.
    pub least: &'static str,
}

/// What a discipline counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
}

/// How `tc` takes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A time.
    Time,
    /// A whole number: of bytes, packets, flows or seconds.
    Count,
    /// A rate.
    Rate,
    /// A probability as a share of one.
    Share,
    /// A probability in per cent, without a sign.
    Percent,
    /// A word for true and one for false; an empty one is left out.
    Flag(&'static str, &'static str),
}

/// Where the statistics of a discipline of its own count ECN marks
/// (include/uapi/linux/pkt_sched.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Nowhere.
    None,
    /// In the numbers of 32 bits at these places, whose sum it is.
    Words(&'static [usize]),
    /// In the number of 64 bits at this byte.
    Long(usize),
    /// In attributes of its tins, one for each (`TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS`).
    Tins,
}

/// Marks instead of drops, of a discipline that `tc` tells either.
pub(crate) const ECN: (&str, Form) = ("ecn", Form::Flag("ecn", "noecn"));
/// As [`ECN`], of one that `tc` tells only to mark.
pub(crate) const ECN_IF_SET: (&str, Form) = ("ecn", Form::Flag("ecn", ""));
