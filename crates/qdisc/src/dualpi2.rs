//! DualPI2 (RFC 9332, appendix A): a shallow queue for L4S traffic beside one for the rest, their
//! signals coupled so that flows of both kinds get like rates.

use cclab_packet::Ecn;
use cclab_units::{Measure, Time};

use crate::declare::{self, DERIVED, number, time};
use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::ticks::Ticks;
use crate::{Backlog, Band, Cx, Departure, Descriptor, Dropped, MTU, Qdisc, ecn};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "dualpi2",
    version: 1,
    summary: "DualPI2: an L4S queue and a classic one, coupled, PI2 for the classic",
    reference: "RFC 9332, appendix A; tc-dualpi2(8)",
    params: &[
        // RFC 9332, appendix A.1: 15 ms.
        time("target", "delay of the classic queue to keep to", 0.015),
        // The lesser of the target and a third of the longest usual RTT of 100 ms; Linux: 16 ms.
        declare::tupdate(0.016),
        // 0.1 tupdate / RTT_max^2 and 0.3 / RTT_max, rounded as in Linux.
        number(
            "alpha",
            Measure::Number,
            "weight of the deviation from the target, in Hz",
            0.16,
            [0.0, 100.0],
        ),
        number(
            "beta",
            Measure::Number,
            "weight of the change of the delay, in Hz",
            3.2,
            [0.0, 100.0],
        ),
        // RFC 9332, section 2.1: 2.
        number(
            "coupling_factor",
            Measure::Number,
            "by how much more often L4S packets are marked than the root of the classic rate",
            2.0,
            [0.0, 255.0],
        ),
        number(
            "step_thresh",
            Measure::Time,
            "sojourn time from which on L4S packets are marked",
            0.001,
            [0.0, 60.0],
        ),
        number(
            "ramp",
            Measure::Time,
            "sojourn time beyond step_thresh over which the marking grows to all; 0: a step",
            0.0,
            [0.0, 60.0],
        ),
        number(
            "classic_protection",
            Measure::Share,
            "share of the link that the classic queue has at least",
            0.1,
            [0.0, 1.0],
        ),
        number(
            "tshift",
            Measure::Time,
            "schedule by sojourn time with this head start for L4S, instead of by shares",
            DERIVED,
            [0.0, 60.0],
        ),
    ],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &["L", "C"],
    // Linux 6.12 does not have it yet.
    kernel: None,
    build: Some(|config| Box::new(DualPi2::new(config))),
};

/// The L4S queue among the bands.
const L: usize = 0;
/// The classic queue among them.
const C: usize = 1;

/// `p_Lmax` of RFC 9332, appendix A.2: from here on marks alone cannot control L4S traffic.
const MOST_MARKING: f64 = 1.0;

/// Which queue goes next when both have packets.
#[derive(Clone, Copy, Debug)]
enum Scheduler {
    /// The one whose first packet has waited longer, L4S with a head start (RFC 9332, appendix A.1).
    TimeShifted(Time),
    /// By weighted round robin with a classic share; L4S goes while its credit lasts, as in Linux.
    Weighted { classic: f64, credit: f64 },
}

/// Evens out drops and marks: one comes whenever the probabilities of the packets so far add up to
/// one (`recur` of RFC 9332, appendix A.1).
#[derive(Clone, Copy, Debug, Default)]
struct Recurrence(f64);

impl Recurrence {
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let due = self.0 > 1.0;
        if due {
            self.0 -= 1.0;
        }
        due
    }
}

struct DualPi2 {
    l4s: Fifo,
    classic: Fifo,
    room: Room,
    scheduler: Scheduler,
    target: Time,
    alpha: f64,
    beta: f64,
    coupling: f64,
    step_thresh: Time,
    ramp: Time,
    ticks: Ticks,
    /// The base probability p'.
    base: f64,
    delay_before: Time,
    l4s_signals: Recurrence,
    classic_signals: Recurrence,
    bands: [Band; 2],
    last_band: usize,
}

impl DualPi2 {
    fn new(config: &Config) -> DualPi2 {
        let classic = config.params.get("classic_protection");
        let weighted = Scheduler::Weighted {
            classic,
            credit: full_credit(classic),
        };
        DualPi2 {
            l4s: Fifo::default(),
            classic: Fifo::default(),
            room: Room::new(config),
            scheduler: config
                .time_given("tshift")
                .map_or(weighted, Scheduler::TimeShifted),
            target: config.time("target"),
            alpha: config.params.get("alpha"),
            beta: config.params.get("beta"),
            coupling: config.params.get("coupling_factor"),
            step_thresh: config.time("step_thresh"),
            ramp: config.time("ramp"),
            ticks: Ticks::every(config.time("tupdate")),
            base: 0.0,
            delay_before: Time::ZERO,
            l4s_signals: Recurrence::default(),
            classic_signals: Recurrence::default(),
            bands: [Band::default(); 2],
            last_band: L,
        }
    }

    /// The probability of a signal to classic packets: p'^2.
    fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// The coupled probability of a mark on L4S packets: k p'.
    fn coupled_probability(&self) -> f64 {
        self.coupling * self.base
    }

    /// Whether p' is so high that L4S marks are all there can be: signals become drops (RFC 9332,
    /// appendix A.2).
    fn is_overloaded(&self) -> bool {
        self.coupled_probability() >= MOST_MARKING
    }

    /// Updates that were due by `now`.
    fn catch_up(&mut self, now: Time) {
        while let Some(tick) = self.ticks.due(now) {
            // The longer of both delays, as in Linux, so that L4S alone is controlled too.
            let delay = self.classic.sojourn(tick).max(self.l4s.sojourn(tick));
            let seconds = Time::as_secs_f64;
            let step = self.alpha * (seconds(delay) - seconds(self.target))
                + self.beta * (seconds(delay) - seconds(self.delay_before));
            self.base = (self.base + step).clamp(0.0, 1.0);
            self.delay_before = delay;
            if self.base == 0.0 && self.backlog().packets == 0 && delay == Time::ZERO {
                self.ticks.pass(now);
            }
        }
    }

    /// The native marking of the L4S queue, for a packet that has waited `sojourn`: a step or a
    /// ramp (RFC 9332, appendix A.1, `laqm`).
    fn native_probability(&self, sojourn: Time) -> f64 {
        // A single packet is no queue: it may take longer than the threshold to send.
        if self.l4s.is_empty() || sojourn < self.step_thresh {
            return 0.0;
        }
        let beyond = (sojourn - self.step_thresh).as_secs_f64();
        let ramp = self.ramp.as_secs_f64();
        if beyond >= ramp { 1.0 } else { beyond / ramp }
    }

    /// Whether the L4S queue goes next.
    fn l4s_goes_next(&self, now: Time) -> bool {
        if self.l4s.is_empty() || self.classic.is_empty() {
            return !self.l4s.is_empty();
        }
        match self.scheduler {
            Scheduler::TimeShifted(shift) => {
                self.l4s.sojourn(now) + shift >= self.classic.sojourn(now)
            }
            Scheduler::Weighted { credit, .. } => credit <= 0.0,
        }
    }

    /// Settles the shares after a packet of `bytes` went; while one queue is empty nothing is owed.
    fn settle(&mut self, from_l4s: bool, bytes: f64) {
        let both = !self.l4s.is_empty() && !self.classic.is_empty();
        if let Scheduler::Weighted { classic, credit } = &mut self.scheduler {
            *credit = match (both, from_l4s) {
                (false, _) => full_credit(*classic),
                (true, true) => *credit + *classic * bytes,
                (true, false) => *credit - (1.0 - *classic) * bytes,
            };
        }
    }

    /// Takes a packet from the L4S queue; `None` if it was dropped.
    fn take_l4s(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Departure> {
        let mut departure = self.l4s.pop()?;
        let coupled = self.coupled_probability();
        let marked = if self.is_overloaded() {
            let classic = self.classic_probability();
            if self.l4s_signals.recurs(classic) {
                self.bands[L].drops += 1;
                dropped.push(Dropped(departure.packet));
                return None;
            }
            true
        } else {
            let native = self.native_probability(now - departure.enqueued);
            self.l4s_signals.recurs(native.max(coupled))
        };
        if marked && ecn::mark(&mut departure.packet) {
            self.bands[L].marks += 1;
        }
        self.bands[L].packets += 1;
        Some(departure)
    }

    /// Takes a packet from the classic queue; `None` if it was dropped.
    fn take_classic(&mut self, dropped: &mut Vec<Dropped>) -> Option<Departure> {
        let mut departure = self.classic.pop()?;
        let (classic, overloaded) = (self.classic_probability(), self.is_overloaded());
        let band = &mut self.bands[C];
        if self.classic_signals.recurs(classic) {
            if overloaded || !ecn::mark(&mut departure.packet) {
                band.drops += 1;
                dropped.push(Dropped(departure.packet));
                return None;
            }
            band.marks += 1;
        }
        band.packets += 1;
        Some(departure)
    }
}

/// The credit at which L4S begins: it goes first for some packets, as in Linux.
fn full_credit(classic: f64) -> f64 {
    MTU as f64 * (classic - (1.0 - classic)).min(0.0)
}

impl Qdisc for DualPi2 {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        self.catch_up(cx.now);
        let admitted = self.room.admits(self.backlog(), &packet);
        // RFC 9331, section 5.1: ECT(1) and CE are L4S.
        let (band, queue) = match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => (L, &mut self.l4s),
            Ecn::NotEct | Ecn::Ect0 => (C, &mut self.classic),
        };
        if admitted {
            queue.push(packet, cx.now);
        } else {
            self.bands[band].drops += 1;
            dropped.push(Dropped(packet));
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) -> Option<Departure> {
        self.catch_up(cx.now);
        while self.backlog().packets > 0 {
            let from_l4s = self.l4s_goes_next(cx.now);
            let taken = match from_l4s {
                true => self.take_l4s(cx.now, dropped),
                false => self.take_classic(dropped),
            };
            if let Some(departure) = taken {
                self.last_band = if from_l4s { L } else { C };
                self.settle(from_l4s, f64::from(departure.packet.wire_len));
                return Some(departure);
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        let [l4s, classic] = [self.l4s.backlog(), self.classic.backlog()];
        Backlog {
            packets: l4s.packets + classic.packets,
            bytes: l4s.bytes + classic.bytes,
        }
    }

    fn marks(&self) -> u64 {
        self.bands.iter().map(|band| band.marks).sum()
    }

    fn bands(&self) -> &[Band] {
        &self.bands
    }

    fn last_band(&self) -> usize {
        self.last_band
    }
}

#[cfg(test)]
mod tests;
