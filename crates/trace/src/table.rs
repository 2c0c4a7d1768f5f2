//! Tables as data: a column is declared once, with its name, type, nullability and meaning,
//! and writing, reading and documentation follow from that.

use bytes::Bytes;
use cclab_units::{Rate, Time};
use parquet::data_type::ByteArray;

use crate::schema::{Carrier, DropReason, QueueAction};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// IEEE 754 double.
    F64,
    /// True or false.
    Bool,
    /// UTF-8.
    Text,
}

impl Kind {
    /// The name that the documentation uses.
    pub fn name(self) -> &'static str {
        match self {
            Kind::U32 => "u32",
            Kind::U64 => "u64",
            Kind::I64 => "i64",
            Kind::F64 => "f64",
            Kind::Bool => "bool",
            Kind::Text => "text",
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit at its end.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether a value can be absent.
    pub nullable: bool,
    /// What it means.
    pub doc: &'static str,
}

/// A table: one Parquet file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name; the file is `NAME.parquet`.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// The columns, in the order of the file.
    pub columns: &'static [Column],
}

impl Table {
    /// What a row and each column is, as a section of a page.
    pub fn markdown(&self) -> String {
        let mut page = format!("\n## {}.parquet\n\n{}\n\n", self.name, self.doc);
        page += "| column | type | null | meaning |\n|---|---|---|---|\n";
        for column in self.columns {
            let null = if column.nullable { "yes" } else { "" };
            let (name, kind, doc) = (column.name, column.kind.name(), column.doc);
            page += &format!("| `{name}` | {kind} | {null} | {doc} |\n");
        }
        page
    }
}

/// A row type of a table.
pub trait Row: Sized {
    /// The table.
    const TABLE: Table;
    /// Appends this row's cells, one to each of `columns`.
    fn put(&self, columns: &mut [Values]);
    /// Takes the next cell of each of `columns`; the error names a column and its fault.
    fn take(columns: &mut [Values]) -> Result<Self, String>;
}

/// The cells of one column that are not yet written, or not yet taken.
#[derive(Debug)]
pub struct Values {
    /// The present values.
    pub(crate) data: Data,
    /// For nullable columns 1 where a value is present and 0 where it is absent.
    pub(crate) present: Vec<i16>,
    /// How many values, and how many cells, were taken.
    taken: (usize, usize),
}

/// Values by the physical type that Parquet knows.
#[derive(Debug)]
pub(crate) enum Data {
    /// `u32` as its bits.
    Int32(Vec<i32>),
    /// `i64`, or `u64` as its bits.
    Int64(Vec<i64>),
    /// `f64`.
    Double(Vec<f64>),
    /// `bool`.
    Bool(Vec<bool>),
    /// UTF-8.
    Text(Vec<ByteArray>),
}

impl Values {
    /// No cells, for a column of that kind.
    pub(crate) fn new(kind: Kind) -> Values {
        let data = match kind {
            Kind::U32 => Data::Int32(Vec::new()),
            Kind::U64 | Kind::I64 => Data::Int64(Vec::new()),
            Kind::F64 => Data::Double(Vec::new()),
            Kind::Bool => Data::Bool(Vec::new()),
            Kind::Text => Data::Text(Vec::new()),
        };
        Values {
            data,
            present: Vec::new(),
            taken: (0, 0),
        }
    }

    /// Forgets the cells and keeps the memory.
    pub(crate) fn clear(&mut self) {
        match &mut self.data {
            Data::Int32(v) => v.clear(),
            Data::Int64(v) => v.clear(),
            Data::Double(v) => v.clear(),
            Data::Bool(v) => v.clear(),
            Data::Text(v) => v.clear(),
        }
        self.present.clear();
        self.taken = (0, 0);
    }

    fn next_present(&mut self) -> Option<bool> {
        let present = *self.present.get(self.taken.1)?;
        self.taken.1 += 1;
        Some(present != 0)
    }

    /// Appends a text that needs no memory of its own.
    pub fn put_static(&mut self, text: &'static str) {
        if let Data::Text(values) = &mut self.data {
            values.push(ByteArray::from(Bytes::from_static(text.as_bytes())));
        }
    }

    /// The next text.
    pub fn take_text(&mut self) -> Option<&str> {
        let index = self.next_index();
        match &self.data {
            Data::Text(values) => values.get(index).and_then(|text| text.as_utf8().ok()),
            _ => None,
        }
    }

    fn next_index(&mut self) -> usize {
        let index = self.taken.0;
        self.taken.0 += 1;
        index
    }
}

/// A value that has a name in tables.
pub trait Named: Sized {
    /// Its name.
    fn name(&self) -> &'static str;
    /// The value of that name; None if there is none.
    fn named(name: &str) -> Option<Self>;
}

/// A type that fills one cell.
pub trait Cell: Sized {
    /// The column's type.
    const KIND: Kind;
    /// Whether the cell can be absent.
    const NULLABLE: bool = false;
    /// Appends to `column`, which is of this kind.
    fn put(&self, column: &mut Values);
    /// Takes the next value of `column`; `None` if it has none or one of another type.
    fn take(column: &mut Values) -> Option<Self>;
}

macro_rules! plain_cell {
    ($type:ty, $kind:ident, $variant:ident, $to:expr, $from:expr) => {
        impl Cell for $type {
            const KIND: Kind = Kind::$kind;
            fn put(&self, column: &mut Values) {
                if let Data::$variant(values) = &mut column.data {
                    values.push($to(self));
                }
            }
            fn take(column: &mut Values) -> Option<Self> {
                let index = column.next_index();
                let Data::$variant(values) = &column.data else {
                    return None;
                };
                values.get(index).and_then($from)
            }
        }
    };
}

plain_cell!(u32, U32, Int32, |v: &u32| v.cast_signed(), |v: &i32| Some(
    v.cast_unsigned()
));
plain_cell!(u64, U64, Int64, |v: &u64| v.cast_signed(), |v: &i64| Some(
    v.cast_unsigned()
));
plain_cell!(i64, I64, Int64, |v: &i64| *v, |v: &i64| Some(*v));
plain_cell!(f64, F64, Double, |v: &f64| *v, |v: &f64| Some(*v));
plain_cell!(bool, Bool, Bool, |v: &bool| *v, |v: &bool| Some(*v));
plain_cell!(
    Time,
    U64,
    Int64,
    |v: &Time| v.as_nanos().cast_signed(),
    |v: &i64| Some(Time::from_nanos(v.cast_unsigned()))
);
plain_cell!(
    Rate,
    U64,
    Int64,
    |v: &Rate| v.bps().cast_signed(),
    |v: &i64| Rate::from_bps(v.cast_unsigned())
);
plain_cell!(
    String,
    Text,
    Text,
    |v: &String| ByteArray::from(v.as_str()),
    |v: &ByteArray| v.as_utf8().ok().map(str::to_owned)
);

/// Declares how an enumeration is written: as text, so that a reader needs no key to it.
#[macro_export]
macro_rules! named_cell {
    ($type:ty { $($value:path = $name:literal,)+ }) => {
        impl $crate::table::Named for $type {
            fn name(&self) -> &'static str {
                match self { $($value => $name,)+ }
            }
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some($value),)+
                    _ => None,
                }
            }
        }
        impl $crate::table::Cell for $type {
            const KIND: $crate::table::Kind = $crate::table::Kind::Text;
            fn put(&self, column: &mut $crate::table::Values) {
                column.put_static($crate::table::Named::name(self));
            }
            fn take(column: &mut $crate::table::Values) -> Option<Self> {
                column.take_text().and_then($crate::table::Named::named)
            }
        }
    };
}

named_cell!(QueueAction { QueueAction::Enqueue = "enqueue", QueueAction::Dequeue = "dequeue", });
named_cell!(Carrier { Carrier::Tcp = "tcp", Carrier::Udp = "udp", Carrier::Nothing = "nothing", });
named_cell!(DropReason {
    DropReason::Queue = "queue",
    DropReason::Random = "random",
    DropReason::Burst = "burst",
    DropReason::Listed = "listed",
    DropReason::Outage = "outage",
    DropReason::Corrupt = "corrupt",
});

impl<C: Cell> Cell for Option<C> {
    const KIND: Kind = C::KIND;
    const NULLABLE: bool = true;
    fn put(&self, column: &mut Values) {
        column.present.push(i16::from(self.is_some()));
        if let Some(value) = self {
            value.put(column);
        }
    }
    fn take(column: &mut Values) -> Option<Self> {
        match column.next_present()? {
            true => C::take(column).map(Some),
            false => Some(None),
        }
    }
}

/// Declares the table of a row type `(KEY, ROW)`: the key's column, then one line per column
/// with its name, type, field and meaning; or that of a `struct ROW` that has its key as a field.
/// `ROW` has a default.
#[macro_export]
macro_rules! table {
    (
        $name:literal: $doc:literal, $row:ty,
        $key_name:literal: $key:ty, $key_doc:literal;
        $($column:literal: $type:ty = $($field:ident).+, $column_doc:literal;)+
    ) => {
        impl $crate::table::Row for ($key, $row) {
            const TABLE: $crate::table::Table = $crate::table::Table {
                name: $name,
                doc: $doc,
                columns: &[
                    $crate::table!(@column $key_name, $key, $key_doc),
                    $($crate::table!(@column $column, $type, $column_doc),)+
                ],
            };
            fn put(&self, columns: &mut [$crate::table::Values]) {
                let mut next = columns.iter_mut();
                let mut column = || next.next().expect("a buffer was made for every column of TABLE");
                <$key as $crate::table::Cell>::put(&self.0, column());
                $(<$type as $crate::table::Cell>::put(&self.1.$($field).+, column());)+
            }
            fn take(columns: &mut [$crate::table::Values]) -> Result<Self, String> {
                let mut next = columns.iter_mut();
                let mut column = || next.next().expect("a buffer was made for every column of TABLE");
                let key = $crate::table!(@take $key_name, $key, column());
                let mut row = <$row>::default();
                $(row.$($field).+ = $crate::table!(@take $column, $type, column());)+
                Ok((key, row))
            }
        }
    };
    (
        $name:literal: $doc:literal, struct $row:ty,
        $($column:literal: $type:ty = $($field:ident).+, $column_doc:literal;)+
    ) => {
        impl $crate::table::Row for $row {
            const TABLE: $crate::table::Table = $crate::table::Table {
                name: $name,
                doc: $doc,
                columns: &[$($crate::table!(@column $column, $type, $column_doc),)+],
            };
            fn put(&self, columns: &mut [$crate::table::Values]) {
                let mut next = columns.iter_mut();
                let mut column = || next.next().expect("a buffer was made for every column of TABLE");
                $(<$type as $crate::table::Cell>::put(&self.$($field).+, column());)+
            }
            fn take(columns: &mut [$crate::table::Values]) -> Result<Self, String> {
                let mut next = columns.iter_mut();
                let mut column = || next.next().expect("a buffer was made for every column of TABLE");
                let mut row = <$row>::default();
                $(row.$($field).+ = $crate::table!(@take $column, $type, column());)+
                Ok(row)
            }
        }
    };
    (@column $name:literal, $type:ty, $doc:literal) => {
        $crate::table::Column {
            name: $name,
            kind: <$type as $crate::table::Cell>::KIND,
            nullable: <$type as $crate::table::Cell>::NULLABLE,
            doc: $doc,
        }
    };
    (@take $name:literal, $type:ty, $column:expr) => {
        <$type as $crate::table::Cell>::take($column)
            .ok_or_else(|| format!("column {} lacks a value or has an impossible one", $name))?
    };
}
pub use {named_cell, table};
