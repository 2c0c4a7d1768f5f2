//! One Parquet file per table: written in row groups of bounded size, read back whole.

use std::fs::{self, File};
use std::io::Write;
use std::marker::PhantomData;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::SCHEMA_VERSION;
use crate::error::TraceError;
use crate::table::{Data, Kind, Row, Table, Values};

/// Rows that are held in memory before they are written: a few megabytes for the widest table.
const ROW_GROUP_ROWS: usize = 1 << 16;

/// The file of table `table` in the trace at `dir`.
pub(crate) fn table_path(dir: &Path, table: &Table) -> PathBuf {
    file_of(dir, table.name)
}

fn file_of(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.parquet"))
}

/// A column's name, its type, and whether a value can be absent.
type Field = (&'static str, Kind, bool);

fn fields(table: &Table) -> impl Iterator<Item = Field> + use<> {
    let columns = table.columns.iter();
    columns.map(|column| (column.name, column.kind, column.nullable))
}

/// Writes rows of one table.
pub struct TableWriter<R, W: Write + Send = File> {
    groups: RowGroups<W>,
    row: PhantomData<R>,
}

impl<R: Row> TableWriter<R> {
    /// Creates the table's file in `dir`.
    pub fn create(dir: &Path) -> Result<TableWriter<R>, TraceError> {
        Ok(TableWriter {
            groups: RowGroups::create(dir, R::TABLE.name, fields(&R::TABLE))?,
            row: PhantomData,
        })
    }
}

impl<R: Row, W: Write + Send> TableWriter<R, W> {
    /// Writes the table to `file`, which messages call `path`.
    pub fn new(file: W, path: PathBuf) -> Result<TableWriter<R, W>, TraceError> {
        Ok(TableWriter {
            groups: RowGroups::new(file, path, R::TABLE.name, fields(&R::TABLE))?,
            row: PhantomData,
        })
    }

    /// Appends a row.
    pub fn push(&mut self, row: &R) -> Result<(), TraceError> {
        self.groups.push(|columns| row.put(columns))
    }

    /// Writes what is left and the footer.
    pub fn finish(self) -> Result<(), TraceError> {
        self.groups.finish()
    }

    /// Writes what is left and the footer, and gives back what was written to.
    pub fn into_inner(self) -> Result<W, TraceError> {
        self.groups.into_inner()
    }

    /// The error that a value does not fit this table.
    pub(crate) fn unfit(&self, reason: &str) -> TraceError {
        TraceError::encode(&self.groups.path, reason)
    }
}

/// Rows of any columns, in row groups of bounded size.
pub(crate) struct RowGroups<W: Write + Send = File> {
    path: PathBuf,
    file: SerializedFileWriter<W>,
    columns: Vec<Values>,
    rows: usize,
}

impl RowGroups {
    /// Creates the file of the table called `name` in `dir`.
    pub(crate) fn create(
        dir: &Path,
        name: &str,
        fields: impl Iterator<Item = Field>,
    ) -> Result<RowGroups, TraceError> {
        let path = file_of(dir, name);
        let file = File::create(&path).map_err(|e| TraceError::io(&path, e))?;
        RowGroups::new(file, path, name, fields)
    }
}

impl<W: Write + Send> RowGroups<W> {
    fn new(
        file: W,
        path: PathBuf,
        name: &str,
        fields: impl Iterator<Item = Field>,
    ) -> Result<RowGroups<W>, TraceError> {
        let fields: Vec<Field> = fields.collect();
        let schema = schema(name, &fields).map_err(|e| TraceError::encode(&path, e))?;
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties()))
            .map_err(|e| TraceError::encode(&path, e))?;
        let columns = fields.iter().map(|&(_, kind, _)| Values::new(kind));
        Ok(RowGroups {
            columns: columns.collect(),
            path,
            file,
            rows: 0,
        })
    }

    /// Appends a row, whose cells `put` appends to each of the columns.
    pub(crate) fn push(&mut self, put: impl FnOnce(&mut [Values])) -> Result<(), TraceError> {
        put(&mut self.columns);
        self.rows += 1;
        if self.rows == ROW_GROUP_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes what is left and the footer.
    pub(crate) fn finish(self) -> Result<(), TraceError> {
        self.into_inner().map(|_| ())
    }

    /// A row that cannot be written.
    pub(crate) fn unwritable(&self, reason: String) -> TraceError {
        TraceError::encode(&self.path, reason)
    }

    fn into_inner(mut self) -> Result<W, TraceError> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.file
            .into_inner()
            .map_err(|e| TraceError::encode(&self.path, e))
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        write_row_group(&mut self.file, &self.columns)
            .map_err(|e| TraceError::encode(&self.path, e))?;
        self.columns.iter_mut().for_each(Values::clear);
        self.rows = 0;
        Ok(())
    }
}

/// All rows of table `R` in the trace at `dir`.
pub(crate) fn read_table<R: Row>(dir: &Path) -> Result<Vec<R>, TraceError> {
    let path = table_path(dir, &R::TABLE);
    // All of it is wanted: read at once, since the library reads each column by several calls.
    let file = fs::read(&path).map_err(|e| TraceError::io(&path, e))?;
    // The library panics on some of what it finds in damaged files.
    let rows = panic::catch_unwind(|| read_rows(Bytes::from(file)));
    rows.unwrap_or_else(|_| Err("its metadata contradicts itself".to_owned()))
        .map_err(|reason| TraceError::damaged(&path, reason))
}

fn read_rows<R: Row>(file: Bytes) -> Result<Vec<R>, String> {
    let text = |e: ParquetError| e.to_string();
    let reader = SerializedFileReader::new(file).map_err(text)?;
    let found = reader.metadata().file_metadata().schema();
    if *found != *schema(R::TABLE.name, &fields(&R::TABLE).collect::<Vec<_>>()).map_err(text)? {
        return Err(format!(
            "its columns are not those of {} {}",
            SCHEMA_VERSION,
            R::TABLE.name
        ));
    }
    let mut rows = Vec::new();
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index).map_err(text)?;
        let count = usize::try_from(group.metadata().num_rows())
            .ok()
            .filter(|&n| n <= ROW_GROUP_ROWS)
            .ok_or("impossible number of rows")?;
        let mut columns = read_row_group(&*group, &R::TABLE, count)?;
        for _ in 0..count {
            rows.push(R::take(&mut columns)?);
        }
    }
    Ok(rows)
}

/// Nothing that depends on when, where or by which library version a file was written, so that
/// the same run gives the same bytes.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(SCHEMA_VERSION.to_owned())
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::SNAPPY)
        // Most tables are short: what says where and how large values are would be longer than they.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false)
        .build()
}

fn schema(name: &str, fields: &[Field]) -> Result<TypePtr, ParquetError> {
    let fields = fields.iter().map(column_type).collect::<Result<_, _>>()?;
    Ok(Arc::new(
        Type::group_type_builder(name).with_fields(fields).build()?,
    ))
}

fn column_type(&(name, kind, nullable): &Field) -> Result<TypePtr, ParquetError> {
    let unsigned = |bit_width| Some(LogicalType::integer(bit_width, false));
    let (physical, logical) = match kind {
        Kind::U32 => (Physical::INT32, unsigned(32)),
        Kind::U64 => (Physical::INT64, unsigned(64)),
        Kind::I64 => (Physical::INT64, Some(LogicalType::integer(64, true))),
        Kind::F64 => (Physical::DOUBLE, None),
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    Ok(Arc::new(
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()?,
    ))
}

fn write_row_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    columns: &[Values],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        let mut writer = group
            .next_column()?
            .expect("the schema has a column for every buffer");
        let present = (!column.present.is_empty()).then_some(&*column.present);
        match (writer.untyped(), &column.data) {
            (ColumnWriter::Int32ColumnWriter(w), Data::Int32(v)) => w.write_batch(v, present, None),
            (ColumnWriter::Int64ColumnWriter(w), Data::Int64(v)) => w.write_batch(v, present, None),
            (ColumnWriter::DoubleColumnWriter(w), Data::Double(v)) => {
                w.write_batch(v, present, None)
            }
            (ColumnWriter::BoolColumnWriter(w), Data::Bool(v)) => w.write_batch(v, present, None),
            (ColumnWriter::ByteArrayColumnWriter(w), Data::Text(v)) => {
                w.write_batch(v, present, None)
            }
            _ => unreachable!("schema and buffers come from the same declaration"),
        }?;
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

fn read_row_group(
    group: &dyn RowGroupReader,
    table: &Table,
    rows: usize,
) -> Result<Vec<Values>, String> {
    let mut columns = Vec::with_capacity(table.columns.len());
    for (index, column) in table.columns.iter().enumerate() {
        let fault =
            |reason: &dyn ToString| format!("column {}: {}", column.name, reason.to_string());
        let mut values = Values::new(column.kind);
        let reader = group.get_column_reader(index).map_err(|e| fault(&e))?;
        let present = column.nullable.then_some(&mut values.present);
        let (records, _, _) = match (reader, &mut values.data) {
            (ColumnReader::Int32ColumnReader(mut r), Data::Int32(v)) => {
                r.read_records(rows, present, None, v)
            }
            (ColumnReader::Int64ColumnReader(mut r), Data::Int64(v)) => {
                r.read_records(rows, present, None, v)
            }
            (ColumnReader::DoubleColumnReader(mut r), Data::Double(v)) => {
                r.read_records(rows, present, None, v)
            }
            (ColumnReader::BoolColumnReader(mut r), Data::Bool(v)) => {
                r.read_records(rows, present, None, v)
            }
            (ColumnReader::ByteArrayColumnReader(mut r), Data::Text(v)) => {
                r.read_records(rows, present, None, v)
            }
            _ => return Err(fault(&"of another type")),
        }
        .map_err(|e| fault(&e))?;
        if records != rows {
            return Err(fault(&format!("{records} of {rows} rows")));
        }
        columns.push(values);
    }
    Ok(columns)
}
