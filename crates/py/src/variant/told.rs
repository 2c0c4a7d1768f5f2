//! What a Python class is told.

use pyo3::prelude::*;

/// An acknowledgement.
#[pyclass(module = "cclab._core", frozen, get_all)]
pub struct Ack {
    /// Seconds since the run began.
    pub now: f64,
    /// Segments that it delivered: cumulatively, and by SACK those that were not before.
    pub acked: u32,
    /// The round-trip time that it measured, in seconds.
    pub rtt: Option<f64>,
    /// Smoothed round-trip time in seconds.
    pub srtt: f64,
    /// Smallest round-trip time of the last minutes in seconds.
    pub min_rtt: f64,
    /// Segments in flight once it is taken in.
    pub in_flight: u32,
    /// Whether the window is what limits the sender.
    pub cwnd_limited: bool,
    /// Segments delivered since the connection began.
    pub delivered: u32,
    /// Segments taken for lost since the connection began.
    pub lost: u32,
    /// Whether it carries an ECN echo.
    pub ece: bool,
    /// Whether the stack repairs losses.
    pub in_recovery: bool,
    /// Bytes a second delivered over the sampled interval.
    pub delivery_rate: Option<f64>,
    /// Whether the application may have limited that sample.
    pub app_limited: bool,
}

/// A sign of congestion.
#[pyclass(module = "cclab._core", frozen, get_all)]
pub struct Congestion {
    /// Seconds since the run began.
    pub now: f64,
    /// `loss`, `ecn` or `timeout`.
    pub kind: &'static str,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments taken for lost since the connection began.
    pub lost: u32,
}

/// What a round trip showed.
#[pyclass(module = "cclab._core", frozen, get_all)]
pub struct Report {
    /// Seconds since the run began.
    pub now: f64,
    /// Seconds since the last report.
    pub interval: f64,
    /// Segments delivered meanwhile.
    pub acked: u32,
    /// Segments taken for lost meanwhile.
    pub lost: u32,
    /// Segments acknowledged with a mark meanwhile.
    pub marked: u32,
    /// Mean of the round-trip times measured meanwhile, in seconds.
    pub rtt: Option<f64>,
    /// The shortest of them.
    pub rtt_min: Option<f64>,
    /// The longest of them.
    pub rtt_max: Option<f64>,
    /// Smallest round-trip time of the last minutes in seconds.
    pub min_rtt: f64,
    /// Bytes a second delivered meanwhile.
    pub delivery_rate: f64,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Whether the window is what limits the sender.
    pub cwnd_limited: bool,
}
