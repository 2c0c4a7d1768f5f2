//! From the counters of a connection to its rows in the table, and to what limited it.

use cclab_trace::captured::TcpFlags;
use cclab_units::Time;

use crate::connection::Connection;
use crate::connections::{Direction, Limit};
use crate::direction::Sending;
use crate::limits::Shares;

/// Without losses, a 95th percentile of the RTT of so many times the least is a queue that the
/// sender fills.
const QUEUED: f64 = 1.5;

/// Data that come at this share of the rate of the closest segments come at the clock of a link.
const EVEN: f64 = 0.9;

/// A window that has not grown for this share of the time is one that is not meant to grow.
const SETTLED: f64 = 0.5;

/// Both directions of `connection`, which has that number.
pub(crate) fn rows(number: u32, connection: &mut Connection) -> [Direction; 2] {
    [0, 1].map(|side| row(number, connection, side))
}

fn row(number: u32, connection: &mut Connection, side: usize) -> Direction {
    let shares = connection.sending[side].limits.shares();
    let connection = &*connection;
    let own = &connection.sending[side];
    let (source, destination) = (connection.ends[side], connection.ends[1 - side]);
    let elapsed_s = (connection.last - connection.first).as_secs_f64();
    let since_first = |time: Option<Time>| time.map(|t| (t - connection.first).as_secs_f64());
    let data = own.first_data.zip(own.last_data);
    let data_s = data.map(|(first, last)| (last - first).as_secs_f64());
    let rate = |seconds: f64| (seconds > 0.0).then(|| own.unique_bytes as f64 * 8.0 / seconds);
    let syn = own.syn_options;
    let initial = |count| (own.isn.is_some() && own.data_packets() > 0).then_some(count);
    let windows = own.windows();
    // The middle of a bin may lie beyond the samples in it.
    let bounds = own.rtt.min().zip(own.rtt.max());
    let percentile = |q| {
        let (least, most) = bounds?;
        let within = own.rtts.quantile(q)?.clamp(least as f64, most as f64);
        Some(seconds(within))
    };
    let other = &connection.sending[1 - side];
    let limit = limit(own, other, shares).map(|(limit, because)| {
        if other.windows_are_known(TcpFlags::default()) {
            (limit, because)
        } else {
            let doubt =
                "how windows are scaled was not seen, so that the receiver's may have held it";
            (limit, format!("{because}; {doubt}"))
        }
    });
    Direction {
        connection: number,
        source: source.address.to_string(),
        source_port: source.port.into(),
        destination: destination.address.to_string(),
        destination_port: destination.port.into(),
        end: connection.end(),
        started_ns: connection.first.as_nanos(),
        elapsed_s,
        first_packet_s: since_first(own.first),
        last_packet_s: since_first(own.last),
        idle_max_s: own.idle_max.map(Time::as_secs_f64),
        data_s,
        handshake_rtt_s: connection.handshake_rtt().map(Time::as_secs_f64),
        packets: own.packets,
        data_packets: own.data_packets(),
        pure_acks: own.pure_acks,
        total_bytes: own.payload.sum(),
        unique_bytes: own.unique_bytes,
        missed_bytes: own.missed(),
        throughput_bps: rate(elapsed_s),
        goodput_bps: data_s.and_then(rate),
        interval_bytes: own.interval_bytes,
        retransmitted_packets: own.retransmitted_packets,
        retransmitted_bytes: own.retransmitted_bytes,
        retransmitted_syn_fin: own.repeated_syn_fin,
        spurious_retransmits: own.spurious,
        timer_retransmits: own.timer_retransmits,
        rto_events: own.timeouts.count,
        out_of_order_packets: own.out_of_order,
        duplicate_acks: own.duplicate_acks,
        sacks: own.sacks,
        sack_blocks: own.sack_blocks,
        sack_blocks_max: (own.sacks > 0).then_some(own.sack_blocks_max as u32),
        dsacks: own.dsacks,
        keep_alives: own.keep_alives,
        window_probes: own.window_probes,
        window_full_packets: own.window_full,
        syns: own.syns,
        fins: own.fins,
        rsts: own.rsts,
        urgent_packets: own.urgent,
        mss_announced_bytes: syn.and_then(|options| options.mss).map(u32::from),
        window_scale_announced: syn.and_then(|options| options.window_scale).map(u32::from),
        window_scaling: own.scaling(),
        sack_permitted: syn.map(|options| options.sack_permitted),
        timestamps: own.timestamps,
        ecn: connection.ecn(),
        ce_packets: own.ce,
        ece_packets: own.ece,
        cwr_packets: own.cwr,
        segment_min_bytes: own.payload.min(),
        segment_max_bytes: own.payload.max(),
        window_min_bytes: windows.min(),
        window_mean_bytes: windows.mean(),
        window_max_bytes: windows.max(),
        zero_windows: own.zero_windows,
        outstanding_mean_bytes: own.outstanding.mean(),
        outstanding_max_bytes: own.outstanding.max(),
        initial_window_bytes: initial(own.initial_window_bytes),
        initial_window_packets: initial(own.initial_window_packets),
        rtt_samples: own.rtt.count(),
        rtt_ambiguous: own.rtt_ambiguous,
        rtt_min_s: own.rtt.min().map(|ns| seconds(ns as f64)),
        rtt_mean_s: own.rtt.mean().map(seconds),
        rtt_max_s: own.rtt.max().map(|ns| seconds(ns as f64)),
        rtt_stdev_s: own.rtt.stdev().map(seconds),
        rtt_p05_s: percentile(0.05),
        rtt_p50_s: percentile(0.5),
        rtt_p95_s: percentile(0.95),
        rtt_p99_s: percentile(0.99),
        limited_cwnd: shares.map(|shares| shares.cwnd),
        limited_rwnd: shares.map(|shares| shares.rwnd),
        limited_application: shares.map(|shares| shares.application),
        limited_by: limit.as_ref().map(|(limit, _)| *limit),
        limited_because: limit.map(|(_, because)| because),
    }
}

/// What limited the sender, and what that rests on. Zhang et al. and Siekkinen et al. decide in
/// the same order: application, receiver's window, losses, rate of the path, sender.
fn limit(own: &Sending, other: &Sending, shares: Option<Shares>) -> Option<(Limit, String)> {
    let shares = shares?;
    let of = "of the time with data";
    if shares.application >= shares.rwnd && shares.application >= shares.cwnd {
        let because = format!(
            "for {:.0} % {of} the sender had nothing to send",
            shares.application * 100.0
        );
        return Some((Limit::Application, because));
    }
    if shares.rwnd >= shares.cwnd {
        let because = format!(
            "for {:.0} % {of} the receiver's window had no room for a full segment",
            shares.rwnd * 100.0
        );
        return Some((Limit::ReceiverWindow, because));
    }
    let held = format!(
        "for {:.0} % {of} the sender held itself back",
        shares.cwnd * 100.0
    );
    // What comes late was lost before, or was overtaken: a loss is told by three duplicate
    // acknowledgements or more (RFC 5681 section 3.2), or as many with SACK blocks.
    let told = own.duplicate_acks.max(other.sacks) / 3;
    let late = own.out_of_order.min(told);
    let lost = own.retransmitted_packets + late;
    // Behind the queue that marks there are CE, before it only what the receiver tells of them.
    let marked = own.ce.max(other.ece);
    if lost + marked > 0 {
        let because = format!(
            "{held}, and of {} segments {} were sent again, {}, and {marked} were marked",
            own.data_packets(),
            own.retransmitted_packets,
            came_late(own.out_of_order, late)
        );
        return Some((Limit::Congestion, because));
    }
    let to_sender = own.limits.distance.estimate().as_nanos() as f64;
    if let (Some(high), Some(least)) = (own.rtts.quantile(0.95), own.data_rtt_min) {
        let (high, least) = (high + to_sender, least.as_nanos() as f64 + to_sender);
        if high >= QUEUED * least {
            let because = format!(
                "{held} without a loss, while the RTT rose from {} to {}: a queue took what was \
                 more than the path's rate",
                in_words(least),
                in_words(high)
            );
            return Some((Limit::Bandwidth, because));
        }
    }
    // Near the sender the queue shows in the RTT; what comes evenly there is written evenly.
    let far = own.limits.is_far();
    if let Some((goodput, clock)) = evenly(own).filter(|_| far)
        && goodput >= EVEN * clock
    {
        let because = format!(
            "{held} without a loss, and its segments came evenly, at {:.0} % of the {:.3} Mbit/s of \
             those closest together: the clock of a full link",
            100.0 * goodput / clock,
            clock / 1e6
        );
        return Some((Limit::Bandwidth, because));
    }
    if shares.grew_until >= SETTLED {
        let because = format!("{held} without a loss, and what was in flight still grew");
        return Some((Limit::Opportunity, because));
    }
    let because = format!(
        "{held} without a loss or a queue, and for {:.0} % of the time what was in flight did not \
         grow: its send buffer, or a bound on its window",
        (1.0 - shares.grew_until) * 100.0
    );
    Some((Limit::SenderWindow, because))
}

/// How many segments came late, as the row has them, and how many of them tell of a loss.
fn came_late(all: u64, lost: u64) -> String {
    match lost {
        0 => format!("{all} came late"),
        _ if lost == all => format!("{all} came late (after a loss before the capture point)"),
        _ => format!("{all} came late ({lost} of them after a loss before the capture point)"),
    }
}

/// Bits per second of the data, and of the tenth of full segments that came closest together.
fn evenly(own: &Sending) -> Option<(f64, f64)> {
    let data = own.first_data.zip(own.last_data);
    let seconds = data.map(|(first, last)| (last - first).as_secs_f64())?;
    let gap = own.gaps.0.get().filter(|&gap| gap > 0.0)?;
    let goodput = own.unique_bytes as f64 * 8.0 / seconds;
    Some((goodput, own.payload.max()? as f64 * 8e9 / gap))
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

/// A time in the unit in which it reads best, with three digits.
fn in_words(ns: f64) -> String {
    let (size, unit) = match ns {
        1e9.. => (1e9, "s"),
        1e6.. => (1e6, "ms"),
        1e3.. => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let value = ns / size;
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{came_late, in_words};

    #[test]
    fn what_came_late_is_counted_as_the_row_has_it() {
        assert_eq!(came_late(0, 0), "0 came late");
        assert_eq!(came_late(3, 0), "3 came late");
        assert_eq!(
            came_late(66, 66),
            "66 came late (after a loss before the capture point)"
        );
        assert_eq!(
            came_late(70, 66),
            "70 came late (66 of them after a loss before the capture point)"
        );
    }

    #[test]
    fn round_trips_are_told_in_the_unit_of_their_scale() {
        let told = [40_123.0, 999.0, 1_300_000.0, 25e6, 2.5e9].map(in_words);
        assert_eq!(told, ["40.1 µs", "999 ns", "1.30 ms", "25.0 ms", "2.50 s"]);
    }
}
