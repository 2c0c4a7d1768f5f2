//! The sender: what Linux's stack does around a congestion control.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use cclab_interface::{
    AckSample, CaEvent, CaState, CongestionOps, RateSample, TCP_INFINITE_SSTHRESH, Tcp, ack_flags,
};

use super::network::{Ack, Bottleneck, Packet, Receiver, Script, dice};

const MSS: u32 = 1_448;
/// Segments that a later one must pass for an earlier one to be lost (`sysctl_tcp_reordering`).
const REORDERING: u64 = 3;
const INITIAL_WINDOW: u32 = 10;
const LEAST_RTO: u64 = 200_000;
/// Some two minutes, and no multiple of the time from one outage to the next.
const MOST_RTO: u64 = 119_700_001;

/// A segment that is not acknowledged cumulatively.
#[derive(Clone, Debug)]
struct Segment {
    sent: u64,
    copies: u64,
    sacked: bool,
    lost: bool,
    /// Its retransmission is on the way.
    repeated: bool,
    /// Of the rate sampler: what was when it was sent.
    first_tx: u64,
    delivered_at: u64,
    delivered: u32,
    delivered_ce: u32,
    app_limited: bool,
    in_flight: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrives { index: u64, sent: u64, marked: bool },
    ReceiverDue,
    Acked(usize),
    Timeout(u64),
    Written,
}

/// What an acknowledgement brought.
#[derive(Default)]
struct News {
    advanced: bool,
    acked: u32,
    sacked: u32,
    /// The newest segment among them.
    rate: RateSample,
    /// Send times of the oldest acknowledged, and of the last acknowledged or selectively
    /// acknowledged, never sent twice.
    oldest: Option<u64>,
    newest: Option<u64>,
    repeated: bool,
    in_flight: u32,
}

/// A connection with a congestion control.
pub struct Connection<O> {
    pub tcp: Tcp,
    pub ops: O,
    script: Script,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, What)>>,
    order: u64,
    acks: Vec<Ack>,
    bottleneck: Bottleneck,
    receiver: Receiver,
    out: VecDeque<Segment>,
    /// The index of the first of `out`.
    una: u64,
    /// Segments that the application has written.
    written: u64,
    high: u64,
    undo_retrans: i64,
    undoing: bool,
    retrans_stamp: u64,
    rto: u64,
    rttvar: u64,
    timer: u64,
    retransmits: u32,
    usage_until: u64,
    cwnd_used: u32,
    highest_sacked: u64,
    pub acknowledgements: u64,
}

impl<O: CongestionOps> Connection<O> {
    pub fn new(ops: O, script: Script) -> Connection<O> {
        let tcp = Tcp {
            snd_cwnd: INITIAL_WINDOW,
            mss_cache: MSS,
            saw_tstamp: 1,
            ecn_flags: u32::from(script.mark_at > 0),
            snd_una: 1,
            snd_nxt: 1,
            delivered: 1,
            dice: 7,
            ..Tcp::default()
        };
        let mut new = Connection {
            tcp,
            ops,
            script,
            // The clock does not begin at zero: some take that for "never".
            now: 5_000_000,
            events: BinaryHeap::new(),
            order: 0,
            acks: Vec::new(),
            bottleneck: Bottleneck::default(),
            receiver: Receiver::default(),
            out: VecDeque::new(),
            una: 0,
            written: 0,
            high: 0,
            undo_retrans: 0,
            undoing: false,
            retrans_stamp: 0,
            rto: 1_000_000,
            rttvar: 0,
            timer: 0,
            retransmits: 0,
            usage_until: 0,
            cwnd_used: 0,
            highest_sacked: 0,
            acknowledgements: 0,
        };
        new.clock();
        new.rtt(2 * script.delay + script.service);
        new.tcp.snd_cwnd_stamp = new.tcp.jiffies32();
        new.tcp.delivered_mstamp = new.now;
        new.ops.init(&mut new.tcp);
        new.write();
        new
    }

    /// Goes on until so many acknowledgements have arrived.
    pub fn run(&mut self, acknowledgements: u64) {
        while self.acknowledgements < acknowledgements {
            let Some(Reverse((at, _, what))) = self.events.pop() else {
                panic!("{}: nothing happens any more", self.script.name);
            };
            self.now = at;
            self.clock();
            match what {
                What::Arrives {
                    index,
                    sent,
                    marked,
                } => {
                    let packet = Packet {
                        index,
                        sent,
                        marked,
                    };
                    let ack = self.receiver.take(&self.script, &packet, at);
                    match (ack, self.receiver.due) {
                        (Some(ack), _) => self.answer(ack),
                        (None, Some(due)) => self.at(due, What::ReceiverDue),
                        (None, None) => {}
                    }
                }
                What::ReceiverDue if self.receiver.due == Some(at) => {
                    let ack = self.receiver.acknowledge(at);
                    self.answer(ack);
                }
                What::Acked(number) => {
                    let ack = self.acks[number].clone();
                    self.acknowledged(&ack);
                }
                What::Timeout(number) if number == self.timer => self.timeout(),
                What::Written => self.write(),
                What::ReceiverDue | What::Timeout(_) => {}
            }
        }
    }

    fn clock(&mut self) {
        self.tcp.tcp_mstamp = self.now;
        self.tcp.tcp_clock_cache = self.now * 1_000;
        self.tcp.tcp_wstamp_ns = self.now * 1_000;
        self.tcp.jiffies = self.now / 1_000;
    }

    fn at(&mut self, time: u64, what: What) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, what)));
    }

    fn answer(&mut self, ack: Ack) {
        let number = self.acks.len();
        let jitter = match self.script.jitter {
            0 => 0,
            most => dice(3, number as u64, 0) % most,
        };
        self.acks.push(ack);
        self.at(self.now + self.script.delay + jitter, What::Acked(number));
    }

    fn seq(index: u64) -> u32 {
        (index as u32).wrapping_mul(MSS).wrapping_add(1)
    }

    fn next(&self) -> u64 {
        self.una + self.out.len() as u64
    }

    fn write(&mut self) {
        self.written += match self.script.burst {
            0 => u64::MAX / 2,
            segments => segments,
        };
        self.send();
        self.tcp_timer();
    }

    fn set_state(&mut self, new: CaState) {
        self.ops.set_state(&mut self.tcp, new);
        self.tcp.ca_state = new as u8;
    }

    fn acknowledged(&mut self, ack: &Ack) {
        if ack.next < self.una {
            return;
        }
        self.acknowledgements += 1;
        let packets = self.tcp.packets_out;
        let delivered = self.tcp.delivered;
        let lost = self.tcp.lost;
        let prior_una = self.una;
        let mut news = News::default();
        news.rate.prior_in_flight = self.tcp.packets_in_flight();
        self.tcp.rcv_tsval = ack.stamp;
        self.tcp.rcv_tsecr = (ack.echo / 1_000) as u32;
        self.undo_retrans -= i64::from(ack.twice);
        for index in &ack.sacked {
            self.delivered(*index, true, ack.marked, &mut news);
        }
        while self.una < ack.next {
            self.delivered(self.una, false, ack.marked, &mut news);
        }
        news.advanced = self.una > prior_una;
        if news.advanced {
            self.retransmits = 0;
        }
        if packets > 0 {
            let ca_rtt = news.newest.map(|sent| self.now - sent);
            if let Some(oldest) = news.oldest.filter(|_| !news.repeated).or(news.newest) {
                self.rtt(self.now - oldest);
            }
            news.rate.rtt_us = ca_rtt.map_or(-1, |rtt| rtt as i64);
            let sample = AckSample {
                pkts_acked: news.acked,
                rtt_us: news.rate.rtt_us as i32,
                in_flight: news.in_flight,
            };
            self.ops.pkts_acked(&mut self.tcp, &sample);
        }
        let slow = !ack.sacked.is_empty() || ack.marked || !news.advanced || ack.twice > 0;
        let flags = match slow {
            true => ack_flags::SLOWPATH | if ack.marked { ack_flags::ECE } else { 0 },
            false => ack_flags::WIN_UPDATE,
        };
        self.ops.in_ack_event(&mut self.tcp, flags);
        if packets == 0 {
            self.send();
            return;
        }
        if slow || self.tcp.ca() != CaState::Open {
            self.alert(&news, ack);
        }
        self.ops.sndbuf_expand(&mut self.tcp);
        let delivered = self.tcp.delivered - delivered;
        let lost = self.tcp.lost - lost;
        self.sample(&mut news.rate, delivered, lost);
        self.control(&news, delivered, lost);
        self.send();
        if news.advanced || !ack.sacked.is_empty() {
            self.tcp_timer();
        }
    }

    /// Segment `index` has arrived: by SACK, or cumulatively, which takes it away.
    fn delivered(&mut self, index: u64, sacked: bool, marked: bool, news: &mut News) {
        let Some(place) = index.checked_sub(self.una).map(|place| place as usize) else {
            return;
        };
        let Some(segment) = self.out.get_mut(place) else {
            return;
        };
        let known = segment.sacked;
        if !known {
            self.tcp.delivered += 1;
            self.tcp.delivered_ce += u32::from(marked);
            if segment.lost {
                self.tcp.lost_out -= 1;
                segment.lost = false;
            }
            if segment.repeated {
                self.tcp.retrans_out -= 1;
                segment.repeated = false;
            }
            let rate = &mut news.rate;
            let later =
                (segment.sent, index) > (self.tcp.first_tx_mstamp, u64::from(rate.last_end_seq));
            if rate.prior_delivered == 0 || later {
                rate.prior_delivered = segment.delivered;
                rate.prior_delivered_ce = segment.delivered_ce;
                rate.prior_mstamp = segment.delivered_at;
                rate.is_app_limited = u8::from(segment.app_limited);
                rate.is_retrans = u8::from(segment.copies > 1);
                rate.last_end_seq = Self::seq(index + 1);
                self.tcp.first_tx_mstamp = segment.sent;
                rate.interval_us = (segment.sent - segment.first_tx.min(segment.sent)) as i64;
            }
            match segment.copies {
                1 => {
                    news.newest = Some(segment.sent);
                    if !sacked {
                        news.oldest.get_or_insert(segment.sent);
                    }
                    news.in_flight = segment.in_flight;
                }
                _ => news.repeated |= !sacked,
            }
        }
        if sacked {
            if !known {
                segment.sacked = true;
                self.tcp.sacked_out += 1;
                self.highest_sacked = self.highest_sacked.max(index);
                news.sacked += 1;
            }
            return;
        }
        self.tcp.sacked_out -= u32::from(known);
        self.tcp.packets_out -= 1;
        news.acked += 1;
        self.out.pop_front();
        self.una += 1;
        self.tcp.snd_una = Self::seq(self.una);
    }

    /// `tcp_rtt_estimator`, and the timeout.
    fn rtt(&mut self, rtt: u64) {
        let rtt = rtt.max(1);
        self.tcp.rtt_min_us = self.tcp.rtt_min_us.min(rtt as u32);
        let srtt = u64::from(self.tcp.srtt_us);
        if srtt == 0 {
            self.tcp.srtt_us = (rtt << 3) as u32;
            self.rttvar = rtt / 2;
        } else {
            self.rttvar = (3 * self.rttvar + (srtt >> 3).abs_diff(rtt)) / 4;
            self.tcp.srtt_us = (srtt - (srtt >> 3) + rtt) as u32;
        }
        self.rto = u64::from(self.tcp.srtt_us >> 3) + (4 * self.rttvar).max(LEAST_RTO);
        self.rto = self.rto.min(MOST_RTO);
        self.tcp.rto = self.rto.div_ceil(1_000) as u32;
    }

    /// `tcp_fastretrans_alert`.
    fn alert(&mut self, news: &News, ack: &Ack) {
        if ack.marked {
            self.tcp.prior_ssthresh = 0;
        }
        match self.tcp.ca() {
            CaState::Open => self.retrans_stamp = 0,
            CaState::Cwr if self.una > self.high => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery if self.una >= self.high => {
                self.undo_recovery(ack);
                self.end_reduction();
            }
            _ => {}
        }
        match self.tcp.ca() {
            CaState::Recovery => {
                if self.may_undo(ack) && news.advanced && self.tcp.retrans_out == 0 {
                    self.undo(true);
                    self.keep_open();
                    return;
                }
                self.identify_losses();
            }
            CaState::Loss => {
                if news.advanced && self.may_undo(ack) {
                    self.undo(true);
                    self.set_state(CaState::Open);
                } else if self.una >= self.high {
                    self.undo_recovery(ack);
                }
                self.identify_losses();
                if self.tcp.ca() == CaState::Open {
                    self.open(ack);
                }
            }
            _ => {
                if self.tcp.ca() <= CaState::Disorder && self.undoing && self.undo_retrans == 0 {
                    self.undo(false);
                }
                self.identify_losses();
                self.open(ack);
            }
        }
    }

    /// `tcp_try_to_open`, or the beginning of a recovery.
    fn open(&mut self, ack: &Ack) {
        if self.tcp.lost_out > 0 {
            self.tcp.prior_ssthresh = 0;
            self.begin_undo();
            if !self.tcp.in_cwnd_reduction() {
                if !ack.marked {
                    self.tcp.prior_ssthresh = self.tcp.current_ssthresh();
                }
                self.begin_reduction();
            }
            self.set_state(CaState::Recovery);
            return;
        }
        if ack.marked {
            self.tcp.prior_ssthresh = 0;
            if self.tcp.ca() < CaState::Cwr {
                self.undoing = false;
                self.tcp.undo_marker = 0;
                self.begin_reduction();
                self.set_state(CaState::Cwr);
            }
        }
        if self.tcp.ca() != CaState::Cwr {
            self.keep_open();
        }
    }

    fn keep_open(&mut self) {
        let disorder = self.tcp.left_out() > 0 || self.out.front().is_some_and(|s| s.copies > 1);
        let state = match disorder {
            true => CaState::Disorder,
            false => CaState::Open,
        };
        if self.tcp.ca() != state {
            self.set_state(state);
            self.set_high();
        }
    }

    fn set_high(&mut self) {
        self.high = self.next();
        self.tcp.high_seq = self.tcp.snd_nxt;
    }

    fn begin_undo(&mut self) {
        self.undoing = true;
        self.tcp.undo_marker = self.tcp.snd_una;
        self.undo_retrans = i64::from(self.tcp.retrans_out);
        if self.undo_retrans == 0 {
            self.undo_retrans = -1;
        }
    }

    fn begin_reduction(&mut self) {
        self.set_high();
        self.tcp.snd_cwnd_cnt = 0;
        self.tcp.prior_cwnd = self.tcp.snd_cwnd;
        self.tcp.prr_delivered = 0;
        self.tcp.prr_out = 0;
        self.tcp.snd_ssthresh = self.ops.ssthresh(&mut self.tcp);
    }

    fn end_reduction(&mut self) {
        if self.ops.has_cong_control() {
            return;
        }
        let known = self.tcp.snd_ssthresh < TCP_INFINITE_SSTHRESH;
        if known && (self.tcp.ca() == CaState::Cwr || self.undoing) {
            self.tcp.snd_cwnd = self.tcp.snd_ssthresh;
            self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        }
        self.ops.cwnd_event(&mut self.tcp, CaEvent::CompleteCwr);
    }

    /// `tcp_may_undo`: all repeats were in vain, or what is acknowledged left before the first.
    fn may_undo(&self, ack: &Ack) -> bool {
        let delayed = self.retrans_stamp > 0 && ack.echo < self.retrans_stamp;
        self.undoing && (self.undo_retrans == 0 || delayed)
    }

    fn undo_recovery(&mut self, ack: &Ack) {
        if self.may_undo(ack) {
            self.undo(false);
        }
        self.set_state(CaState::Open);
    }

    fn undo(&mut self, unmark: bool) {
        if unmark {
            for segment in &mut self.out {
                segment.lost = false;
            }
            self.tcp.lost_out = 0;
        }
        if self.tcp.prior_ssthresh > 0 {
            self.tcp.snd_cwnd = self.ops.undo_cwnd(&mut self.tcp);
            self.tcp.snd_ssthresh = self.tcp.snd_ssthresh.max(self.tcp.prior_ssthresh);
        }
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        self.undoing = false;
        self.tcp.undo_marker = 0;
    }

    /// Marks segments that enough later ones have passed.
    fn identify_losses(&mut self) {
        let until = self.highest_sacked.saturating_sub(REORDERING - 1);
        let first = self.una;
        for (place, segment) in self.out.iter_mut().enumerate() {
            if first + place as u64 >= until {
                break;
            }
            if !segment.sacked && !segment.lost && segment.copies == 1 {
                segment.lost = true;
                self.tcp.lost_out += 1;
                self.tcp.lost += 1;
            }
        }
    }

    /// `tcp_rate_gen`.
    fn sample(&mut self, rate: &mut RateSample, delivered: u32, lost: u32) {
        let tcp = &mut self.tcp;
        if tcp.app_limited > 0 && tcp.delivered > tcp.app_limited {
            tcp.app_limited = 0;
        }
        if delivered > 0 {
            tcp.delivered_mstamp = tcp.tcp_mstamp;
        }
        rate.acked_sacked = delivered;
        rate.losses = lost as i32;
        if rate.prior_mstamp == 0 {
            rate.delivered = -1;
            rate.interval_us = -1;
            return;
        }
        rate.delivered = (tcp.delivered - rate.prior_delivered) as i32;
        rate.delivered_ce = (tcp.delivered_ce - rate.prior_delivered_ce) as i32;
        rate.snd_interval_us = rate.interval_us as u32;
        rate.rcv_interval_us = (tcp.tcp_mstamp - rate.prior_mstamp) as u32;
        rate.interval_us = i64::from(rate.snd_interval_us.max(rate.rcv_interval_us));
        if rate.interval_us < i64::from(tcp.rtt_min_us) {
            rate.interval_us = -1;
        }
    }

    /// `tcp_cong_control`.
    fn control(&mut self, news: &News, delivered: u32, lost: u32) {
        let una = self.tcp.snd_una;
        if self.ops.has_cong_control() {
            self.ops.cong_control(&mut self.tcp, una, 0, &news.rate);
            return;
        }
        if self.tcp.in_cwnd_reduction() {
            self.reduce(news, delivered, lost);
        } else if news.acked > 0 {
            self.ops.cong_avoid(&mut self.tcp, una, delivered);
            self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        }
        let ratio = match self.tcp.snd_cwnd < self.tcp.snd_ssthresh / 2 {
            true => 200,
            false => 120,
        };
        let window = u64::from(self.tcp.snd_cwnd.max(self.tcp.packets_out));
        let rate = u64::from(MSS) * 80_000 * ratio * window / u64::from(self.tcp.srtt_us.max(1));
        self.tcp.pacing_rate = rate.min(self.tcp.max_pacing_rate);
    }

    /// `tcp_cwnd_reduction`.
    fn reduce(&mut self, news: &News, delivered: u32, lost: u32) {
        let tcp = &mut self.tcp;
        if delivered == 0 {
            return;
        }
        let in_flight = tcp.packets_in_flight();
        let delta = i64::from(tcp.snd_ssthresh) - i64::from(in_flight);
        tcp.prr_delivered += delivered;
        let (prr_delivered, prr_out) = (i64::from(tcp.prr_delivered), i64::from(tcp.prr_out));
        let mut count = if delta < 0 {
            let owed = i64::from(tcp.snd_ssthresh) * prr_delivered + i64::from(tcp.prior_cwnd) - 1;
            owed / i64::from(tcp.prior_cwnd) - prr_out
        } else {
            let more = (prr_delivered - prr_out).max(i64::from(delivered));
            (more + i64::from(news.advanced && lost == 0)).min(delta)
        };
        count = count.max(i64::from(prr_out == 0));
        tcp.snd_cwnd = (i64::from(in_flight) + count) as u32;
    }

    /// `tcp_enter_loss`, and what follows a timeout.
    fn timeout(&mut self) {
        if self.out.is_empty() {
            return;
        }
        for segment in &mut self.out {
            if segment.repeated {
                segment.repeated = false;
                self.tcp.retrans_out -= 1;
            }
            if !segment.sacked && !segment.lost {
                segment.lost = true;
                self.tcp.lost_out += 1;
                self.tcp.lost += 1;
            }
        }
        let again = self.tcp.ca() == CaState::Loss && self.retransmits == 0;
        if self.tcp.ca() <= CaState::Disorder || self.una >= self.high || again {
            self.tcp.prior_ssthresh = self.tcp.current_ssthresh();
            self.tcp.prior_cwnd = self.tcp.snd_cwnd;
            self.tcp.snd_ssthresh = self.ops.ssthresh(&mut self.tcp);
            self.ops.cwnd_event(&mut self.tcp, CaEvent::Loss);
            self.begin_undo();
        }
        self.tcp.snd_cwnd = self.tcp.packets_in_flight() + 1;
        self.tcp.snd_cwnd_cnt = 0;
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        self.set_state(CaState::Loss);
        self.set_high();
        self.retransmits += 1;
        self.rto = (2 * self.rto).min(MOST_RTO);
        self.tcp.rto = self.rto.div_ceil(1_000) as u32;
        self.send();
        self.tcp_timer();
    }

    fn tcp_timer(&mut self) {
        self.timer += 1;
        if !self.out.is_empty() {
            self.at(self.now + self.rto, What::Timeout(self.timer));
        }
    }

    /// Sends what the window allows: what is lost first.
    fn send(&mut self) {
        self.ops.min_tso_segs(&mut self.tcp);
        if self.tcp.lost_out > self.tcp.retrans_out {
            for place in 0..self.out.len() {
                if self.tcp.packets_in_flight() >= self.tcp.snd_cwnd {
                    break;
                }
                if self.out[place].lost && !self.out[place].repeated {
                    self.transmit(self.una + place as u64);
                }
            }
        }
        if self.tcp.packets_out == 0 && !self.ops.has_cong_control() && self.next() < self.written {
            let idle = self.tcp.jiffies32() - self.tcp.lsndtime;
            if idle > self.tcp.rto {
                self.restart(idle);
            }
        }
        let mut sent = false;
        while self.next() < self.written && self.tcp.packets_in_flight() < self.tcp.snd_cwnd {
            self.transmit(self.next());
            sent = true;
        }
        let limited = self.next() < self.written;
        if sent {
            self.validate(limited);
        }
        if !limited && self.tcp.packets_out == 0 {
            self.at(self.now + self.script.idle, What::Written);
        }
        if !limited {
            self.tcp.app_limited = (self.tcp.delivered + self.tcp.packets_in_flight()).max(1);
        }
    }

    fn transmit(&mut self, index: u64) {
        if self.tcp.packets_in_flight() == 0 {
            self.ops.cwnd_event(&mut self.tcp, CaEvent::TxStart);
        }
        self.tcp.lsndtime = self.tcp.jiffies32();
        if self.tcp.packets_out == 0 {
            self.tcp.first_tx_mstamp = self.now;
            self.tcp.delivered_mstamp = self.now;
        }
        if index == self.next() {
            self.out.push_back(Segment {
                sent: 0,
                copies: 0,
                sacked: false,
                lost: false,
                repeated: false,
                first_tx: 0,
                delivered_at: 0,
                delivered: 0,
                delivered_ce: 0,
                app_limited: false,
                in_flight: 0,
            });
            self.tcp.packets_out += 1;
            self.tcp.snd_nxt = Self::seq(self.next());
        } else {
            self.tcp.retrans_out += 1;
            self.out[(index - self.una) as usize].repeated = true;
            self.undo_retrans = self.undo_retrans.max(0) + 1;
            if self.retrans_stamp == 0 {
                self.retrans_stamp = self.now;
            }
        }
        if self.tcp.in_cwnd_reduction() {
            self.tcp.prr_out += 1;
        }
        let in_flight = self.tcp.packets_in_flight();
        let segment = &mut self.out[(index - self.una) as usize];
        segment.sent = self.now;
        segment.copies += 1;
        segment.first_tx = self.tcp.first_tx_mstamp;
        segment.delivered_at = self.tcp.delivered_mstamp;
        segment.delivered = self.tcp.delivered;
        segment.delivered_ce = self.tcp.delivered_ce;
        segment.app_limited = self.tcp.app_limited > 0;
        segment.in_flight = in_flight;
        let copies = segment.copies;
        if let Some((arrives, marked)) = self.bottleneck.pass(&self.script, index, copies, self.now)
        {
            let sent = self.now;
            self.at(
                arrives,
                What::Arrives {
                    index,
                    sent,
                    marked,
                },
            );
        }
    }

    /// `tcp_cwnd_restart`.
    fn restart(&mut self, idle: u32) {
        self.ops.cwnd_event(&mut self.tcp, CaEvent::CwndRestart);
        let tcp = &mut self.tcp;
        tcp.snd_ssthresh = tcp.current_ssthresh();
        let least = INITIAL_WINDOW.min(tcp.snd_cwnd);
        let mut left = i64::from(idle) - i64::from(tcp.rto);
        while left > 0 && tcp.snd_cwnd > least {
            tcp.snd_cwnd >>= 1;
            left -= i64::from(tcp.rto);
        }
        tcp.snd_cwnd = tcp.snd_cwnd.max(least);
        tcp.snd_cwnd_stamp = tcp.jiffies32();
        self.cwnd_used = 0;
    }

    /// `tcp_cwnd_validate`.
    fn validate(&mut self, limited: bool) {
        let next = self.next();
        let tcp = &mut self.tcp;
        if self.una >= self.usage_until
            || limited
            || (tcp.is_cwnd_limited == 0 && tcp.packets_out > tcp.max_packets_out)
        {
            tcp.is_cwnd_limited = u32::from(limited);
            tcp.max_packets_out = tcp.packets_out;
            self.usage_until = next;
        }
        if tcp.is_cwnd_limited() {
            self.cwnd_used = 0;
            tcp.snd_cwnd_stamp = tcp.jiffies32();
            return;
        }
        self.cwnd_used = self.cwnd_used.max(tcp.packets_out);
        let since = tcp.jiffies32().wrapping_sub(tcp.snd_cwnd_stamp);
        if since >= tcp.rto && !self.ops.has_cong_control() {
            let used = self.cwnd_used.max(INITIAL_WINDOW);
            if tcp.ca() == CaState::Open && used < tcp.snd_cwnd {
                tcp.snd_ssthresh = tcp.current_ssthresh();
                tcp.snd_cwnd = (tcp.snd_cwnd + used) >> 1;
            }
            self.cwnd_used = 0;
            tcp.snd_cwnd_stamp = tcp.jiffies32();
        }
    }
}
