//! The quantities every other crate speaks in: time in integer nanoseconds, rate in
//! integer bits per second, and named streams of random numbers. Text such as `"50Mbit"`
//! or `"1bdp"` exists only in crate `spec`.

pub mod parameter;
mod prefetch;
mod rate;
mod stream;
mod time;

pub use prefetch::prefetch;
pub use rate::{Rate, TxClock};
pub use stream::Stream;
pub use time::Time;
