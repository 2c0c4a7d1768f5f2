//! Loss recovery: what is lost, when the window falls, what leaves again.
//!
//! All of it reads and writes a [`flight::Flight`], which a sender holds. Below that is what
//! knows nothing of a sender: `news`, what an acknowledgement tells, and `episode` with the state
//! of each part (the detector of RACK, PRR, F-RTO, ...). Above it stand the reductions, by
//! `marks` and by losses (`reduction`), and the forms of recovery, each in one file:
//! - `classic`: Tahoe, Reno, NewReno, by counting duplicate ACKs;
//! - `vegas`: ns-2's Vegas, with a fine-grained timeout;
//! - `sack`: RFC 6675;
//! - `rack_prr`: RFC 8985 with its tail loss probes, and RFC 9937;
//! - `timeout`: the retransmission timer.
//!
//! Where the stack is Linux's and keeps the window itself, `linux` does all of that in the kernel's
//! order; `control` says which it is.

mod classic;
pub(crate) mod control;
pub(crate) mod episode;
pub(crate) mod flight;
pub(crate) mod linux;
mod marks;
pub(crate) mod news;
mod rack_prr;
mod reduction;
mod sack;
mod timeout;
mod vegas;

use cclab_units::Time;

use crate::profile::Recovery;
use flight::Flight;
use news::AckNews;

impl Flight {
    /// Lets the form of recovery in force take in an acknowledgement. Returns the bytes newly
    /// taken for lost.
    pub(crate) fn on_news(&mut self, now: Time, news: &AckNews) -> u64 {
        self.episode.undo.on_news(news);
        match self.recovery {
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => self.on_news_classic(now, news),
            Recovery::Vegas => self.on_news_vegas(now, news),
            Recovery::Sack => self.on_news_sack(now, news),
            Recovery::RackPrr => self.on_news_rack(now, news),
        }
    }
}
