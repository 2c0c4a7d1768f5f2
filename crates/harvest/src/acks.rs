//! One row per acknowledgement, if they are asked for: a pass of its own over the events, when
//! it is known which connection of a program is the one to show.

use cclab_trace::schema::{AckEvent, Carrier};
use cclab_trace::{Event as Row, Probe, Recorder};
use cclab_units::{Rate, Time};

use crate::addresses::Addresses;
use crate::connection::{MICROSECOND, Offsets, RECOVERY};
use crate::error::HarvestError;
use crate::event::{Ack, Event};
use crate::flows::Carried;
use crate::machines::Events;
use crate::records::Run;
use crate::samples::{microseconds, threshold};
use crate::tally::Tally;

/// Bits per byte times microseconds per second.
const BIT_MICROSECONDS: u128 = 8_000_000;

/// Hands the acknowledgements of each TCP flow's main connection to `recorder`.
///
/// # Errors
/// If the ring cannot be read or is damaged.
pub fn record(
    run: &Run<'_>,
    events: &Events,
    tally: &Tally,
    carried: &[Carried],
    recorder: &mut Recorder,
) -> Result<(), HarvestError> {
    let addresses = Addresses::new(&run.orders.flows);
    let mut flows: Vec<Option<Follow>> = (0..run.orders.flows.len())
        .map(|index| Follow::new(run, index, tally).filter(|_| carried[index].by == Carrier::Tcp))
        .collect();
    events.for_each(|decoder, clock, data| {
        let now = run.at_monotonic(clock);
        let (Some(now), Some(Event::Ack(ack))) = (now, decoder.event(data)?) else {
            return Ok(());
        };
        let owner = addresses.owner(&ack.ends).filter(|owner| !owner.backward);
        let follow = owner.and_then(|owner| flows[owner.flow].as_mut());
        if let Some((at, row)) = follow.and_then(|follow| follow.row(now, &ack))
            && recorder.wants_acks(at)
        {
            recorder.record(at, Row::Ack(row));
        }
        Ok(())
    })
}

/// Follows one connection.
struct Follow {
    flow: u32,
    ports: (u16, u16),
    /// Bytes that it sends in all, if that is known.
    data: Option<u64>,
    /// Payload bytes of a full segment, for events that do not tell.
    mss: u32,
    offsets: Option<Offsets>,
    /// The acknowledgement before, whose outcome the next `tcp_probe` shows, and the bytes
    /// acknowledged before it.
    before: Option<(Time, u64)>,
}

impl Follow {
    fn new(run: &Run<'_>, index: usize, tally: &Tally) -> Option<Follow> {
        let main = tally.flows[index].main()?;
        let infos = run.outcome.flows[index].sender.iter();
        Some(Follow {
            flow: index as u32,
            ports: main.ports,
            data: main.data,
            mss: infos.map(|info| info.snd_mss).max().unwrap_or(0),
            offsets: None,
            before: None,
        })
    }

    /// The row that an event of this connection gives, and its time.
    fn row(&mut self, now: Time, ack: &Ack) -> Option<(Time, AckEvent)> {
        if (ack.ends.source_port, ack.ends.destination_port) != self.ports {
            return None;
        }
        let offsets = self.offsets.get_or_insert_with(|| Offsets::start(ack));
        let (snd_una, snd_nxt) = (offsets.of(ack.snd_una), offsets.of(ack.snd_nxt));
        let prior = ack.taken.map(|taken| offsets.of(taken.prior_una));
        offsets.advance(ack.snd_una);
        // What is beyond the data is the FIN.
        let end = self.data.unwrap_or(u64::MAX);
        let (snd_una, snd_nxt) = (snd_una.min(end), snd_nxt.min(end));
        let at = match prior {
            Some(_) => Some((now, prior.unwrap_or(0))),
            None => self.before.replace((now, snd_una)),
        };
        let (at, prior) = at?;
        let taken = ack.taken;
        let mss = u64::from(taken.map_or(self.mss, |taken| taken.mss));
        let row = AckEvent {
            flow: self.flow,
            snd_una,
            snd_nxt,
            newly_acked: snd_una.saturating_sub(prior),
            cwnd: u64::from(ack.cwnd) * mss,
            ssthresh: threshold(ack.ssthresh, mss),
            rtt: taken.and_then(|taken| {
                let measured = u64::try_from(taken.rtt_us).ok()?;
                Some(Time::from_nanos(measured * MICROSECOND))
            }),
            srtt: microseconds(ack.srtt_us),
            rto: taken.map(|taken| Time::from_micros(taken.rto_us.into())),
            in_flight: taken.map(|taken| u64::from(taken.in_flight) * mss),
            rwnd: u64::from(ack.rwnd),
            delivery_rate: taken.and_then(|taken| {
                delivery_rate(u64::from(taken.delivered) * mss, taken.interval_us)
            }),
            // The largest number stands for no limit.
            pacing_rate: taken.and_then(|taken| {
                let rate = taken.pacing_rate.filter(|&rate| rate != u64::MAX)?;
                Rate::from_bps(rate.saturating_mul(8))
            }),
            in_recovery: taken.map(|taken| taken.ca_state >= RECOVERY),
        };
        Some((at, row))
    }
}

/// `bytes` in so many microseconds; `None` if nothing was sampled.
fn delivery_rate(bytes: u64, interval_us: u32) -> Option<Rate> {
    let bits = u128::from(bytes) * BIT_MICROSECONDS;
    let rate = bits.checked_div(u128::from(interval_us))?;
    Rate::from_bps(u64::try_from(rate).ok()?)
}
