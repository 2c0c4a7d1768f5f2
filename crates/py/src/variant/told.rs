//! What a Python class is told: as an object of Python, or, compiled, as the structure that it is.

use std::convert::Infallible;
use std::mem::offset_of;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::layout::{Kind, Layout};

/// A number that there may be none of: not a number then, and None in Python.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Maybe(f64);

impl From<Option<f64>> for Maybe {
    fn from(number: Option<f64>) -> Maybe {
        Maybe(number.unwrap_or(f64::NAN))
    }
}

impl<'py> IntoPyObject<'py> for Maybe {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        let number = Some(self.0).filter(|number| !number.is_nan());
        number.into_pyobject(py)
    }
}

/// What shows congestion.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Sign {
    Loss,
    Ecn,
    Timeout,
}

/// What a class calls each [`Sign`].
pub const KINDS: [&str; 3] = ["loss", "ecn", "timeout"];

impl<'py> IntoPyObject<'py> for Sign {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(PyString::new(py, KINDS[self as usize]))
    }
}

/// Something that is told.
pub trait Told: pyo3::PyClass + Into<pyo3::PyClassInitializer<Self>> {
    /// Where compiled code finds what it says.
    const LAYOUT: Layout;
}

/// The layout of a structure from the kinds of its fields.
macro_rules! layouts {
    ($($name:ident { $($field:ident: $kind:ident,)* })*) => {$(
        impl Told for $name {
            const LAYOUT: Layout = Layout {
                name: stringify!($name),
                size: size_of::<$name>(),
                fields: &[$((stringify!($field), Kind::$kind, offset_of!($name, $field)),)*],
            };
        }
    )*};
}

layouts! {
    Ack {
        now: Float, acked: Whole, rtt: Maybe, srtt: Float, min_rtt: Float, in_flight: Whole,
        cwnd_limited: Truth, delivered: Whole, lost: Whole, ece: Truth, in_recovery: Truth,
        delivery_rate: Maybe, app_limited: Truth,
    }
    Congestion { now: Float, kind: Sign, in_flight: Whole, lost: Whole, }
    Report {
        now: Float, interval: Float, acked: Whole, lost: Whole, marked: Whole, rtt: Maybe,
        rtt_min: Maybe, rtt_max: Maybe, min_rtt: Float, delivery_rate: Float, in_flight: Whole,
        cwnd_limited: Truth,
    }
}

/// An acknowledgement.
#[pyclass(module = "cclab._core", frozen, get_all)]
#[repr(C)]
pub struct Ack {
    /// Seconds since the run began.
    pub now: f64,
    /// Segments that it delivered: cumulatively, and by SACK those that were not before.
    pub acked: u32,
    /// The round-trip time that it measured, in seconds.
    pub rtt: Maybe,
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
    pub delivery_rate: Maybe,
    /// Whether the application may have limited that sample.
    pub app_limited: bool,
}

/// A sign of congestion.
#[pyclass(module = "cclab._core", frozen, get_all)]
#[repr(C)]
pub struct Congestion {
    /// Seconds since the run began.
    pub now: f64,
    /// `loss`, `ecn` or `timeout`.
    pub kind: Sign,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments taken for lost since the connection began.
    pub lost: u32,
}

/// What a round trip showed.
#[pyclass(module = "cclab._core", frozen, get_all)]
#[repr(C)]
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
    pub rtt: Maybe,
    /// The shortest of them.
    pub rtt_min: Maybe,
    /// The longest of them.
    pub rtt_max: Maybe,
    /// Smallest round-trip time of the last minutes in seconds.
    pub min_rtt: f64,
    /// Bytes a second delivered meanwhile.
    pub delivery_rate: f64,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Whether the window is what limits the sender.
    pub cwnd_limited: bool,
}
