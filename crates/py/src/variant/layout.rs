//! Where compiled code finds what it is told, and what it sets.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::told::{Ack, Congestion, KINDS, Report, Told};
use super::window::{Bounds, STATE};

/// A structure of C that compiled code is lent.
pub struct Layout {
    /// What its class is called.
    pub name: &'static str,
    /// Its bytes.
    pub size: usize,
    /// Name, kind and offset of each field.
    pub fields: &'static [(&'static str, Kind, usize)],
}

/// What a field is.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A number that may be set, within bounds, with a byte after it that says that it was.
    Set(Bounds),
    /// 64 bits of a number with a fraction.
    Float,
    /// The same; not a number is None.
    Maybe,
    /// 32 bits of a whole number from zero up.
    Whole,
    /// 64 bits of a whole number.
    Long,
    /// A byte: true or false.
    Truth,
    /// A byte: an index into [`super::told::KINDS`].
    Sign,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Set(_) => "set",
            Kind::Float => "float",
            Kind::Maybe => "maybe",
            Kind::Whole => "whole",
            Kind::Long => "long",
            Kind::Truth => "truth",
            Kind::Sign => "sign",
        }
    }
}

/// What compiled code is lent, by the name of its class: bytes, and of each field the name, the kind, the
/// offset and, of kind `set`, the least that it may be, whether it may be infinite, and whether it may
/// be None; and, as `kinds`, what signs of congestion are called.
#[pyfunction]
pub fn layouts(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("kinds", KINDS)?;
    for layout in [STATE, Ack::LAYOUT, Congestion::LAYOUT, Report::LAYOUT] {
        let fields = PyList::empty(py);
        for (name, kind, offset) in layout.fields {
            let bounds = match kind {
                Kind::Set(bounds) => Some(bounds.of()),
                _ => None,
            };
            fields.append((name, kind.name(), offset, bounds))?;
        }
        told.set_item(layout.name, (layout.size, fields))?;
    }
    Ok(told)
}
