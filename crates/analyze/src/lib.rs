//! Packet captures of any origin, analysed: what each TCP connection and each
//! conversation over UDP in them did.
//!
//! [`analyze`] reads a file and follows every connection and conversation, in one pass and in bounded memory. The
//! tables say what each number means; how the numbers compare to those of tcptrace and Wireshark
//! is in `docs/analyze.md`.
//!
//! Top down: [`Analysis`] is the document, [`Direction`] a row of its table and `row` how one is
//! filled; `reading` hands out segments, in a `batch` each time, to one core or, by `parts`, to
//! several; `together` holds the flows against each other; `table` keeps them, `connection` tells
//! one from the next on the same ports, `direction` counts what one end sends, `conversation` what
//! both do over UDP. That rests on `sent` (which bytes were seen and acknowledged), `timeouts`, `limits` (what held the
//! sender), `timeline` (amounts over time), `moments` and
//! `quantile`. [`segments`] is each segment and datagram with what
//! it was, for those who [`Watch`].

#![forbid(unsafe_code)]

use cclab_trace::table::Row;

mod analysis;
mod batch;
mod connection;
mod connections;
mod conversation;
mod conversations;
mod direction;
mod distance;
mod endpoints;
pub mod fuzzing;
mod kept;
mod limits;
mod moments;
mod parts;
mod quantile;
mod reading;
mod row;
pub mod segments;
mod sent;
mod table;
mod timeline;
mod timeouts;
mod together;

pub use analysis::{Analysis, Options, Problem, analyze, analyze_file};
pub use connections::{Direction, End, Limit};
pub use conversations::{Speaks, Talk};
pub use reading::PATIENCE;
pub use segments::{Series, Watch};
pub use together::{Interval, LEAST_SHARE, Share, Together};

/// The page `docs/analyze-tables.md`: what each column of the tables means.
pub fn markdown() -> String {
    let tables = [
        Direction::TABLE,
        segments::Segment::TABLE,
        segments::Sack::TABLE,
        Talk::TABLE,
        segments::Datagram::TABLE,
    ];
    let mut page = include_str!("tables_intro.md").to_owned();
    for table in tables {
        page += &table.markdown();
    }
    page
}
