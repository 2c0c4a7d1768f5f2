//! The quantities every other crate speaks in: time in integer nanoseconds, rate in
//! integer bits per second, named streams of random numbers, hashes of
//! names, queues in a ring, search near the last find, state that few have, hints on
//! memory and on ways seldom taken, and how others' text is shown. Text such as `"50Mbit"`
//! or `"1bdp"` exists only in crate `spec`.

mod hash;
pub mod hint;
mod in_kernel;
mod measure;
pub mod memory;
mod near;
mod noted;
pub mod parameter;
mod rare;
mod rate;
mod ring;
mod stream;
mod text;
mod time;

pub use hash::{hash, mixed};
pub use in_kernel::InKernel;
pub use measure::Measure;
pub use near::Near;
pub use noted::Noted;
pub use rare::{Rare, Usual};
pub use rate::{Rate, TxClock};
pub use ring::Ring;
pub use stream::Stream;
pub use text::{ORDERS, refused, shown, shown_path};
pub use time::Time;
