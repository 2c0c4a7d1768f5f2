//! Whether a timeout was spurious: F-RTO (RFC 5682 section 3, the SACK-enhanced form, as in Linux
//! `tcp_process_loss`). Without SACK an acknowledgement of segments that waited at the receiver
//! looks like one of originals that were late: there only timestamps tell.

use crate::recovery::news::AckNews;

/// State of F-RTO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frto {
    /// Not after a timeout, or the timeout was genuine.
    #[default]
    Off,
    /// After the first retransmission: the next ACK tells.
    Watching,
    /// The first ACK advanced: new data goes first, in place of retransmissions.
    Probing,
}

impl Frto {
    pub(crate) fn end(&mut self) {
        *self = Frto::Off;
    }

    /// RFC 5682 section 3.1, steps 2 and 3: that the timeout was spurious is seen where a
    /// reduction is taken back; here, that it may still turn out so. `unsent` tells whether there
    /// is new data to send.
    pub(crate) fn on_news(&mut self, news: &AckNews, unsent: bool) {
        *self = match *self {
            Frto::Watching if news.advanced && unsent => Frto::Probing,
            Frto::Watching if news.advanced || news.duplicate => Frto::Off,
            Frto::Probing if news.advanced || news.duplicate => Frto::Off,
            state => state,
        };
    }
}
