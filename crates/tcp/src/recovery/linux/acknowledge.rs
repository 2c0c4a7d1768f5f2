//! What an acknowledgement does, in the kernel's order (`tcp_ack`).

use cclab_interface::{AckSample, RateSample, ack_flags};
use cclab_packet::EcnBytes;
use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use super::sack::Sacked;
use super::{Line, Linux, Resend, flag, rate};
use crate::accecn::Newly;
use crate::receiver::timestamp;
use crate::scoreboard::Segment;

/// An acknowledgement as it came.
pub(crate) struct Ack<'a> {
    /// Everything before this offset.
    pub ack: u64,
    /// SACK blocks above it.
    pub blocks: &'a [(u64, u64)],
    /// The block that reports a duplicate; lent, as a copy would wait for what was just written.
    pub dsack: Option<&'a (u64, u64)>,
    /// It echoes a mark.
    pub ece: bool,
    /// What it tells of marks where that is counted.
    pub counts: Option<Counts>,
    /// It changed the receiver's window, and it may not be of the fast path.
    pub window_changed: bool,
    pub slow_path: bool,
    /// It carries its sender's clock and echoes ours, in ticks; zero: it does not.
    pub tsval: u32,
    pub tsecr: u32,
    /// The round-trip time by the echo, if the profile measures by it.
    pub echoed_rtt: Option<Time>,
    /// How long until the pacer lets the next segment go.
    pub until_departure: Time,
    /// New data waits that the receiver has room for.
    pub data_left: bool,
}

/// Counts of marks in an acknowledgement (RFC 9768).
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    /// The three flags.
    pub ace: u8,
    pub option: Option<EcnBytes>,
    /// Its timestamp is later than any before.
    pub is_later: bool,
}

/// What was found in it, for those who watch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    pub rtt: Option<Time>,
    /// Segments delivered, and over how many microseconds; none if that was no sample of the rate.
    pub delivered: i32,
    pub interval_us: i64,
}

/// What was acknowledged cumulatively.
#[derive(Clone, Copy, Debug, Default)]
struct Cleaned {
    flags: u32,
    /// Segments acknowledged, those known by SACK included; those not known.
    acked: u32,
    delivered: u32,
    /// Departure of the first and the last that left once and was not known by SACK.
    first: Option<Time>,
    last: Option<Time>,
    /// Where the lowest of these begins.
    lowest: Option<u64>,
}

/// All that an acknowledgement delivered.
struct Found {
    cleaned: Cleaned,
    sacked: Sacked,
    /// Bytes acknowledged cumulatively.
    bytes: u64,
    /// Segments known by SACK before.
    prior_sacked: u64,
}

impl Linux {
    /// Takes in an acknowledgement of data sent, or an older one with SACK blocks.
    pub fn on_ack(&mut self, line: &mut Line<'_>, ack: &Ack<'_>) -> Took {
        self.set_clock(line.now);
        let tcp = &mut self.tcp;
        tcp.saw_tstamp = u32::from(ack.tsval != 0);
        if ack.tsval != 0 {
            // On the wire they count from one, on the clock that modules compare them with from zero.
            let [value, echo] = [ack.tsval, ack.tsecr].map(|stamp| stamp.wrapping_sub(1));
            self.clocks.stamp(tcp, value, echo);
        }
        self.echo = ack.tsecr;
        self.tcp.tcp_wstamp_ns = self.tcp.tcp_clock_cache + ack.until_departure.as_nanos();
        self.resend = Resend::Nothing;
        let prior_una = *line.snd_una;
        if unlikely(ack.ack < prior_una) {
            self.on_old_ack(line, ack);
            return Took::default();
        }
        let mut sample = RateSample {
            prior_in_flight: Self::in_flight(line),
            ..RateSample::default()
        };
        let advanced = ack.ack > prior_una;
        let mut flags = 0;
        if advanced {
            flags |= flag::SND_UNA_ADVANCED;
            self.retransmits = 0;
        }
        if ack.slow_path {
            flags |= flag::SLOWPATH;
        }
        if ack.window_changed || advanced {
            flags |= flag::WIN_UPDATE;
        }
        let (delivered, lost) = (self.tcp.delivered, line.board.counts().lost_ever);
        let outstanding = !line.board.is_empty();
        let reneged = self.reneged;
        let prior_sacked = line.board.delivered_segments();
        let prior_fack = self.highest_sacked(line);
        *line.snd_una = ack.ack;

        let mut sacked = Sacked::default();
        if !ack.blocks.is_empty() || ack.dsack.is_some() {
            sacked = self.take_sack(line, ack, prior_una, &mut sample);
            flags |= sacked.flags;
        }
        if ack.ece {
            rarely();
            line.counters.ecn_echoes += 1;
            flags |= flag::ECE;
        }
        self.count_delivered(sacked.delivered, ack.ece);
        if unlikely(!outstanding) {
            let news = self.tcp.delivered.wrapping_sub(delivered);
            flags |= self.take_counts(line, ack, advanced, news);
            self.on_ack_of_nothing(line, ack, prior_una, flags);
            return Took::default();
        }

        let cleaned = self.clean(line, ack, prior_sacked, &mut sample);
        flags |= cleaned.flags;
        let found = Found {
            cleaned,
            sacked,
            bytes: ack.ack - prior_una,
            prior_sacked,
        };
        flags |= self.measure(line, ack, &found, &mut sample);
        if unlikely(!self.finder.has_sack()) && cleaned.flags & flag::DATA_ACKED != 0 {
            self.remove_duplicates(line, cleaned.acked, ack.ece);
        }
        if cleaned.flags & flag::DATA_ACKED != 0
            && let Some(low) = cleaned.lowest
            && unlikely(low < prior_fack)
        {
            self.check_reordering(line, low);
        }
        self.see(line);
        let told = AckSample {
            pkts_acked: cleaned.acked,
            rtt_us: sample.rtt_us as i32,
            in_flight: (self.mss as u32)
                .wrapping_mul(self.tcp.delivered.wrapping_sub(sample.prior_delivered)),
        };
        self.ops.pkts_acked(&mut self.tcp, &told);
        line.rack
            .update_window(sample.prior_delivered, self.tcp.delivered);
        let news = self.tcp.delivered.wrapping_sub(delivered);
        flags |= self.take_counts(line, ack, advanced, news);
        self.tell_flags(flags);
        self.on_probe_acked(line, ack.ack, flags);
        if flags & flag::NOT_DUP == 0 || flags & flag::CA_ALERT != 0 || self.tcp.ca_state != 0 {
            rarely();
            let forward = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DSACKING_ACK;
            let duplicate = flags & forward == 0;
            self.alert(line, prior_una, &mut flags, duplicate, ack.data_left);
            self.see(line);
        }
        if flags & flag::SET_XMIT_TIMER != 0 {
            self.set_timer(line);
        }
        let delivered = self.tcp.delivered.wrapping_sub(delivered);
        let lost = line.board.counts().lost_ever.wrapping_sub(lost);
        sample.is_ack_delayed = u8::from(flags & flag::ACK_MAYBE_DELAYED != 0);
        self.complete(&mut sample, delivered, lost, reneged);
        self.control(line, flags, &sample);
        Took {
            rtt: u64::try_from(sample.rtt_us).ok().map(Time::from_micros),
            delivered: sample.delivered,
            interval_us: sample.interval_us,
        }
    }

    /// `tcp_accecn_process` of Linux 6.18, where marks are counted: those that the acknowledgement
    /// newly tells of, beside the segments that it newly `delivered`. Returns further flags.
    fn take_counts(
        &mut self,
        line: &mut Line<'_>,
        ack: &Ack<'_>,
        advanced: bool,
        delivered: u32,
    ) -> u32 {
        match &ack.counts {
            None => 0,
            Some(counts) => self.take_told(line, counts, advanced, delivered),
        }
    }

    #[inline(never)]
    fn take_told(
        &mut self,
        line: &mut Line<'_>,
        counts: &Counts,
        advanced: bool,
        delivered: u32,
    ) -> u32 {
        let Some(accurate) = line.accurate.as_deref_mut() else {
            return 0;
        };
        let newly = Newly {
            packets: delivered,
            is_news: advanced || delivered > 0 || counts.is_later,
            mss: self.mss as u32,
        };
        let marked = accurate
            .told
            .on_ack(counts.ace, counts.option.as_ref(), newly);
        if marked == 0 {
            return 0;
        }
        line.counters.ecn_echoes += 1;
        line.counters.marks_told += u64::from(marked);
        self.tcp.delivered_ce = self.tcp.delivered_ce.wrapping_add(marked);
        flag::ECE | flag::SLOWPATH // a change of the three flags is off the fast path
    }

    /// `tcp_cong_control`: the window and the rate, once all is known. Whoever changed the scoreboard or
    /// `high_seq` since the variant's `pkts_acked` has let it be seen.
    fn control(&mut self, line: &mut Line<'_>, flags: u32, sample: &RateSample) {
        debug_assert_eq!(u64::from(self.tcp.packets_out), line.board.segments());
        debug_assert_eq!(self.tcp.lost_out, line.board.counts().lost);
        debug_assert_eq!(self.tcp.retrans_out, line.board.counts().resent);
        debug_assert_eq!(self.tcp.high_seq, self.wire(self.high_seq));
        let ack = self.tcp.snd_una;
        if self.controls {
            self.ops.cong_control(&mut self.tcp, ack, flags, sample);
            return;
        }
        if self.tcp.in_cwnd_reduction() {
            rarely();
            self.reduce(line, sample.acked_sacked, sample.losses as u32, flags);
        } else if self.may_raise(flags) {
            self.ops.cong_avoid(&mut self.tcp, ack, sample.acked_sacked);
            self.note_entered_cwr(line);
            self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        }
        self.update_pacing_rate();
    }

    /// `tcp_may_raise_cwnd`: where reordering is large, any delivery counts.
    fn may_raise(&self, flags: u32) -> bool {
        let counts = match self.reordering > super::REORDERING {
            true => flag::FORWARD_PROGRESS,
            false => flag::DATA_ACKED,
        };
        flags & counts != 0
    }

    /// An acknowledgement older than what is known: its SACK blocks may be news.
    #[inline(never)]
    fn on_old_ack(&mut self, line: &mut Line<'_>, ack: &Ack<'_>) {
        if ack.blocks.is_empty() && ack.dsack.is_none() {
            return;
        }
        let prior_una = *line.snd_una;
        let sacked = self.take_sack(line, ack, prior_una, &mut RateSample::default());
        let mut flags = sacked.flags | flag::SLOWPATH;
        self.see(line);
        self.alert(line, prior_una, &mut flags, false, ack.data_left);
    }

    /// Nothing was outstanding: only duplicates are news.
    #[inline(never)]
    fn on_ack_of_nothing(&mut self, line: &mut Line<'_>, ack: &Ack<'_>, una: u64, flags: u32) {
        self.see(line);
        self.tell_flags(flags);
        if flags & flag::DSACKING_ACK != 0 {
            let mut flags = flags;
            self.alert(line, una, &mut flags, false, ack.data_left);
        }
        self.on_probe_acked(line, ack.ack, flags);
    }

    /// `tcp_in_ack_event`.
    fn tell_flags(&mut self, flags: u32) {
        let mut told = 0;
        if flags & flag::WIN_UPDATE != 0 {
            told |= ack_flags::WIN_UPDATE;
        }
        if flags & flag::SLOWPATH != 0 {
            told |= ack_flags::SLOWPATH;
            if flags & flag::ECE != 0 {
                told |= ack_flags::ECE;
            }
        }
        self.ops.in_ack_event(&mut self.tcp, told);
    }

    /// `tcp_highest_sack_seq`.
    pub(super) fn highest_sacked(&self, line: &Line<'_>) -> u64 {
        match line.board.highest_sacked() {
            Some(id) => line.board.get(id).end(),
            None => *line.snd_una,
        }
    }

    /// `tcp_clean_rtx_queue`: takes what was acknowledged off the board.
    fn clean(
        &mut self,
        line: &mut Line<'_>,
        ack: &Ack<'_>,
        prior_sacked: u64,
        sample: &mut RateSample,
    ) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let (min_rtt, high_seq, first, now) = (self.min_rtt(), self.high_seq, self.first, line.now);
        let up = self.clocks.uptime_us();
        let tcp = &mut self.tcp;
        let rack = &mut *line.rack;
        let has_sack = self.finder.has_sack();
        let echo = Some(ack.tsecr).filter(|&echo| ack.tsval != 0 && echo != 0);
        // The echo is older than the departure: it is of the original.
        let spurious = |segment: &Segment| {
            segment.ever_resent
                && echo.is_some_and(|echo| crate::seq::before(echo, timestamp(segment.sent)))
        };
        line.board.acknowledge_each(ack.ack, |segment| {
            if segment.ever_resent {
                rarely();
                cleaned.flags |= flag::RETRANS_DATA_ACKED;
            } else if !segment.sacked {
                cleaned.first = cleaned.first.or(Some(segment.sent));
                cleaned.last = Some(segment.sent);
                cleaned.lowest = cleaned.lowest.or(Some(segment.start));
                if segment.end() <= high_seq {
                    cleaned.flags |= flag::ORIG_SACK_ACKED;
                }
            }
            if !segment.sacked {
                if has_sack {
                    cleaned.delivered += 1;
                    if !spurious(segment) {
                        rack.on_delivered(segment, now, min_rtt);
                    }
                }
                rate::on_delivered(tcp, sample, segment, (first, up));
            }
            cleaned.acked += 1;
            cleaned.flags |= flag::DATA_ACKED;
        });
        self.count_delivered(cleaned.delivered, ack.ece);
        self.scan
            .on_cleaned(cleaned.acked - cleaned.delivered, line.board);
        if !has_sack && cleaned.flags & flag::RETRANS_DATA_ACKED != 0 {
            rarely();
            // Nothing tells which of what is acknowledged had arrived before.
            cleaned.flags &= !flag::ORIG_SACK_ACKED;
        }
        let board = &line.board;
        if prior_sacked == 0 {
            return cleaned;
        }
        rarely();
        if !board.is_empty() && board.get(board.ids().start).sacked {
            cleaned.flags |= flag::SACK_RENEGING;
        }
        cleaned
    }

    /// The round-trip times of an acknowledgement (the end of `tcp_clean_rtx_queue`, and
    /// `tcp_ack_update_rtt`). Returns further flags.
    fn measure(
        &mut self,
        line: &mut Line<'_>,
        ack: &Ack<'_>,
        found: &Found,
        sample: &mut RateSample,
    ) -> u32 {
        let Found {
            cleaned, sacked, ..
        } = found;
        let mut flags = 0;
        let now = self.tcp.tcp_mstamp;
        let up = self.clocks.uptime_us();
        let since = |sent: Time| now - up - sent.as_micros();
        let (mut seq_rtt, mut ca_rtt) = (None, None);
        if cleaned.flags & flag::RETRANS_DATA_ACKED == 0 {
            seq_rtt = cleaned.first.map(since);
            ca_rtt = cleaned.last.map(since);
            let lone = cleaned.acked == 1 && found.prior_sacked == 0 && found.bytes < self.mss;
            if seq_rtt.is_some()
                && unlikely(lone)
                && sample.prior_delivered.wrapping_add(1) == self.tcp.delivered
            {
                flags |= flag::ACK_MAYBE_DELAYED;
            }
        }
        let mut sack_rtt = None;
        if sacked.last.is_some() {
            rarely();
            sack_rtt = sacked.first.map(since);
            ca_rtt = sacked.last.map(since);
            seq_rtt = seq_rtt.or(sack_rtt);
        }
        if seq_rtt.is_none() && cleaned.flags & flag::DATA_ACKED != 0 {
            rarely();
            seq_rtt = ack.echoed_rtt.map(|rtt| rtt.as_micros());
            ca_rtt = seq_rtt.or(ca_rtt);
        }
        sample.rtt_us = ca_rtt.map_or(-1, |rtt| rtt as i64);
        if let Some(seq_rtt) = seq_rtt {
            let ca_rtt = ca_rtt.unwrap_or(seq_rtt);
            let delayed = flags & flag::ACK_MAYBE_DELAYED != 0;
            if !delayed || ca_rtt <= u64::from(self.tcp.rtt_min_us) {
                self.note_rtt_min(if ca_rtt == 0 { 1_000 } else { ca_rtt });
            }
            line.rtt.on_new_ack();
            line.rtt
                .on_sample(Time::from_micros(seq_rtt), *line.snd_una, line.snd_nxt);
            self.take_rtt(line);
        }
        if cleaned.flags & flag::DATA_ACKED != 0 {
            flags |= flag::SET_XMIT_TIMER;
        } else if let Some(sack_rtt) = sack_rtt
            && !line.board.is_empty()
            && sack_rtt > since(line.board.get(line.board.ids().start).sent)
        {
            flags |= flag::SET_XMIT_TIMER; // what was SACKed left before the first segment did
        }
        flags
    }

    /// `tcp_process_tlp_ack`: what an acknowledgement says of the probe.
    #[inline]
    fn on_probe_acked(&mut self, line: &mut Line<'_>, ack: u64, flags: u32) {
        if let Some(end) = self.tlp_high_seq
            && unlikely(ack >= end)
        {
            self.end_probe(line, ack, end, flags);
            self.see(line);
        }
    }

    /// The probe that ended at `end` is acknowledged, or reported as a duplicate.
    #[cold]
    fn end_probe(&mut self, line: &mut Line<'_>, ack: u64, end: u64, flags: u32) {
        let forward = flag::SND_UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED;
        if !self.tlp_retrans || flags & flag::DSACK_TLP != 0 {
            self.tlp_high_seq = None; // new data, or original and probe arrived
        } else if ack > end {
            // The probe repaired a loss.
            self.begin_reduction(line);
            self.set_state(cclab_interface::CaState::Cwr);
            self.end_reduction();
            self.try_keep_open(line);
        } else if flags & forward == 0 {
            self.tlp_high_seq = None; // a duplicate: original and probe arrived
        }
    }
}
