//! Packet captures of any origin, analysed: what each TCP connection in them did.
//!
//! [`analyze`] reads a file and follows every connection, in one pass and in bounded memory. What
//! each number means, and how it compares to tcptrace's, is in `docs/analyze.md`.
//!
//! Top down: [`Analysis`] is the document; `table` keeps the connections, `connection` tells one
//! from the next on the same ports, `direction` counts what one end sends, `sent` keeps which of
//! its bytes were seen and acknowledged, `moments` sums up samples.

#![forbid(unsafe_code)]

mod analysis;
mod connection;
mod direction;
pub mod fuzzing;
mod moments;
mod sent;
mod table;

pub use analysis::{Analysis, Direction, End, Options, Problem, analyze, analyze_file};
