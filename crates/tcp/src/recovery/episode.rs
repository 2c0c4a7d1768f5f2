//! An episode of loss recovery: where it is, and the state of each part.

mod fine_timer;
mod frto;
mod loss_cursor;
mod probe;
mod prr;
mod rack;
mod undo;

use std::ops::{Deref, DerefMut};

use cclab_cc::Repair;
use cclab_units::{Rare, Time, Usual};

use crate::due::Due;
use crate::profile::{CoarseTimer, Profile, Recovery};
use crate::recovery::news::AckNews;
pub(crate) use fine_timer::FineTimer;
pub(crate) use frto::Frto;
pub(crate) use loss_cursor::LossCursor;
pub(crate) use probe::Probe;
pub(crate) use prr::{Progress, Prr};
pub(crate) use rack::Rack;
pub(crate) use undo::Undo;

/// Where loss recovery is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Losses found by acknowledgements are being repaired.
    Recovery,
    /// The retransmission timer expired; everything outstanding then is being repaired.
    Loss,
}

/// State of loss recovery.
#[derive(Debug)]
pub struct Episode {
    pub(crate) phase: Phase,
    /// Whether the first lost segment leaves whatever the window says.
    pub(crate) retransmit_first: bool,
    pub(crate) rack: Rack,
    pub(crate) reorder_at: Time,
    pub(crate) probe_at: Due,
    /// What changes where the kernel's stack does not keep the window: that has its own.
    pub(crate) own: Rare<Own>,
}

/// What is repaired, by which rules, and how far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// `snd_nxt` when the episode began: acknowledged, it is over (`RecoveryPoint`).
    pub(crate) recover: Option<u64>,
    pub(crate) dup_acks: u32,
    /// What duplicate ACKs add to ssthresh during fast recovery (RFC 5681 section 3.2); partial
    /// ACKs may take it below zero (RFC 6582).
    pub(crate) inflation: i64,
    pub(crate) prr: Prr,
    pub(crate) sack: LossCursor,
    pub(crate) undo: Undo,
    pub(crate) frto: Frto,
    pub(crate) probe: Probe,
    pub(crate) vegas: FineTimer,
    /// Partial ACKs of this episode (RFC 6582 section 3.2, step 5).
    pub(crate) partial_acks: u32,
}

impl Usual for Own {
    const USUAL: &'static Own = &Own {
        recover: None,
        dup_acks: 0,
        inflation: 0,
        prr: Prr::NEW,
        sack: LossCursor::NEW,
        undo: Undo::NEW,
        frto: Frto::Off,
        probe: Probe::NEW,
        vegas: FineTimer::NEW,
        partial_acks: 0,
    };
}

impl Default for Episode {
    fn default() -> Episode {
        Episode {
            phase: Phase::Open,
            retransmit_first: false,
            rack: Rack::default(),
            reorder_at: Time::NEVER,
            probe_at: Due::NEVER,
            own: Rare::default(),
        }
    }
}

impl Deref for Episode {
    type Target = Own;

    #[inline]
    fn deref(&self) -> &Own {
        &self.own
    }
}

impl DerefMut for Episode {
    #[inline]
    fn deref_mut(&mut self) -> &mut Own {
        &mut self.own
    }
}

impl From<Phase> for Repair {
    fn from(phase: Phase) -> Repair {
        match phase {
            Phase::Open => Repair::Nothing,
            Phase::Recovery => Repair::Losses,
            Phase::Loss => Repair::Timeout,
        }
    }
}

impl Episode {
    /// Nothing is lost yet, on the stack of `profile`.
    pub(crate) fn of(profile: &Profile) -> Episode {
        let mut episode = Episode::default();
        episode.rack.window = profile.reordering_window;
        episode
    }

    /// Where loss recovery is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn is_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// Whether an episode that began before is over, `snd_una` being what is acknowledged.
    pub(crate) fn recovered(&self, snd_una: u64) -> bool {
        self.recover.is_none_or(|recover| snd_una >= recover)
    }

    pub(crate) fn recover(&self) -> u64 {
        self.recover.unwrap_or(0)
    }

    /// When the first of both timers is due, by the ticks of `timer`.
    pub(crate) fn deadline(&self, timer: &CoarseTimer) -> Time {
        self.reorder_at.min(self.probe_at.exactly(timer))
    }

    /// Before it neither is due.
    #[inline]
    pub(crate) fn least_deadline(&self) -> Time {
        self.reorder_at.min(self.probe_at.least())
    }

    pub(crate) fn stop_timers(&mut self) {
        self.reorder_at = Time::NEVER;
        self.probe_at = Due::NEVER;
    }

    /// The window in force, given the variant's.
    pub(crate) fn window(&self, recovery: Recovery, cwnd: u64, mss: u64) -> u64 {
        match (self.phase, recovery) {
            (Phase::Recovery, Recovery::Reno | Recovery::NewReno) => {
                cwnd.saturating_add_signed(self.inflation).max(mss)
            }
            (_, Recovery::Vegas) => cwnd.saturating_add_signed(self.inflation).max(mss),
            (Phase::Recovery, Recovery::RackPrr) => self.prr.cwnd(),
            _ => cwnd,
        }
    }

    /// Whether the reduction that began the episode shows now as a mistake. Reports of duplicates
    /// may come when recovery is over: until the next episode they count.
    #[inline]
    pub(crate) fn was_mistaken(&self, news: &AckNews) -> bool {
        if self.undo.una_at_entry().is_none() || !(news.advanced || news.dsack) {
            return false;
        }
        let by_frto =
            self.phase == Phase::Loss && self.frto != Frto::Off && news.original_delivered;
        let by_echo =
            self.phase != Phase::Open && news.advanced && self.undo.echo_is_older(news.tsecr);
        by_frto || by_echo || (news.dsack && self.undo.all_were_duplicates())
    }

    /// Nothing is to be repaired: what was taken for lost was not.
    pub(crate) fn take_back(&mut self) {
        self.rack.restart();
        self.phase = Phase::Open;
        self.inflation = 0;
        self.dup_acks = 0;
        self.retransmit_first = false;
        self.frto.end();
        self.undo.end();
    }
}
