//! The inner state that a module tells traces: fields of its private bytes.

#![allow(
    unsafe_code,
    reason = "a table of a shared object is read, and a flow's bytes"
)]

use std::ffi::{CStr, c_char};

use cclab_interface::state::{StateColumn, StateKind, unsound};

use crate::message::ModuleError;

/// `struct cclab_column` of include/net/tcp.h.
#[repr(C)]
pub(crate) struct Written {
    name: *const c_char,
    meaning: *const c_char,
    words: *const *const c_char,
    kind: u32,
    offset: u32,
    size: u32,
    is_signed: u32,
}

/// The columns, and the fields that they are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traced {
    pub columns: &'static [StateColumn],
    fields: &'static [Field],
}

/// A field of the private bytes.
#[derive(Clone, Copy)]
struct Field {
    offset: usize,
    size: u32,
    is_signed: bool,
}

impl Traced {
    /// What `file` has written, up to a column without a name. Texts and fields stay: those of each
    /// module that is loaded are few.
    ///
    /// # Errors
    /// Two columns have one name, or one has a name of the table's own.
    ///
    /// # Safety
    /// It is the table that `cclab_traced` of a library gives, which is loaded, or null.
    pub unsafe fn read(written: *const Written, file: &str) -> Result<Traced, ModuleError> {
        let (mut columns, mut fields) = (Vec::<StateColumn>::new(), Vec::new());
        let mut next = written;
        // SAFETY: the caller's promise: the last entry has no name.
        while let Some(column) = unsafe { next.as_ref() }.filter(|column| !column.name.is_null()) {
            // SAFETY: literals of the library, the words up to a null.
            let (name, meaning, words) = unsafe {
                let words = words(column.words);
                (text(column.name), text(column.meaning), words)
            };
            let kind = match column.kind {
                0 => StateKind::Number,
                1 => StateKind::Count,
                2 => StateKind::Flag,
                _ => StateKind::Word(Vec::leak(words)),
            };
            columns.push(StateColumn {
                name,
                kind,
                meaning,
            });
            fields.push(Field {
                offset: column.offset as usize,
                size: column.size,
                is_signed: column.is_signed != 0,
            });
            // SAFETY: an entry follows one that has a name.
            next = unsafe { next.add(1) };
        }
        if let Some(what) = unsound(&columns) {
            return Err(ModuleError::of(file, format!("tells {what}")));
        }
        Ok(Traced {
            columns: Vec::leak(columns),
            fields: Vec::leak(fields),
        })
    }

    /// Writes the state of the flow whose private bytes begin at `private_at`.
    pub fn tell(&self, private_at: u64, values: &mut [f64]) {
        for (field, value) in self.fields.iter().zip(values) {
            // SAFETY: the compiler has seen that the struct, of which this is a field, fits in these
            // bytes, and nothing of the module runs.
            *value = unsafe { field.read(private_at as *const u8) };
        }
    }
}

impl Field {
    /// # Safety
    /// `bytes` are those of a flow, in which the field lies.
    unsafe fn read(self, bytes: *const u8) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            let place = bytes.add(self.offset);
            match (self.size, self.is_signed) {
                (1, false) => f64::from(place.read()),
                (1, true) => f64::from(place.cast::<i8>().read()),
                (2, false) => f64::from(place.cast::<u16>().read_unaligned()),
                (2, true) => f64::from(place.cast::<i16>().read_unaligned()),
                (4, false) => f64::from(place.cast::<u32>().read_unaligned()),
                (4, true) => f64::from(place.cast::<i32>().read_unaligned()),
                (_, false) => place.cast::<u64>().read_unaligned() as f64,
                (_, true) => place.cast::<i64>().read_unaligned() as f64,
            }
        }
    }
}

/// # Safety
/// A text of C.
unsafe fn text(of: *const c_char) -> &'static str {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(of) };
    text.to_string_lossy().into_owned().leak()
}

/// # Safety
/// Texts of C up to a null, or null.
unsafe fn words(of: *const *const c_char) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut next = of;
    // SAFETY: the caller's promise.
    unsafe {
        while let Some(&word) = next.as_ref()
            && !word.is_null()
        {
            words.push(text(word));
            next = next.add(1);
        }
    }
    words
}
