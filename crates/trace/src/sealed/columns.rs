//! Columns of the tables in a run's sealed file, as numbers and texts: for whoever reads a few of
//! thousands of runs.

use std::io::{self, ErrorKind};
use std::panic;
use std::path::Path;

use bytes::Bytes;
use parquet::basic::LogicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::{Comment, invalid, member, opened};

/// A column, row by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Numbers and truth values; NaN where nothing is known.
    Numbers(Vec<f64>),
    /// Texts; empty where nothing is known.
    Texts(Vec<String>),
}

/// The columns `wanted` of the table `table` in the sealed file `file`; none if the run recorded no
/// such table or no row in it.
///
/// What is read is compared with the checksum of the archive.
///
/// # Errors
/// If the file cannot be read, is damaged there, is of another run than its name says, or has no such
/// column.
pub fn columns(file: &Path, table: &str, wanted: &[String]) -> io::Result<Option<Vec<Cells>>> {
    let mut opened = opened(file)?;
    match Comment::of(&mut opened)? {
        None => return Err(invalid("it is not as it was sealed")),
        Some(comment) if !comment.is_of(file) => return Err(invalid("it is of another run")),
        Some(_) => {}
    }
    let Some(content) = member(&opened, &format!("{table}.parquet"))? else {
        return Ok(None);
    };
    // The library panics on some of what it finds in damaged files.
    panic::catch_unwind(|| within(Bytes::from(content), wanted))
        .unwrap_or_else(|_| Err("its metadata contradicts itself".to_owned()))
        .map_err(|why| io::Error::new(ErrorKind::InvalidData, format!("{table}: {why}")))
}

fn within(content: Bytes, wanted: &[String]) -> Result<Option<Vec<Cells>>, String> {
    let text = |error: ParquetError| error.to_string();
    let reader = SerializedFileReader::new(content).map_err(text)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let rows = reader.metadata().file_metadata().num_rows();
    if rows == 0 {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(wanted.len());
    for name in wanted {
        let place = (schema.columns().iter())
            .position(|column| column.name() == name)
            .ok_or_else(|| format!("no column {name}"))?;
        let column = schema.column(place);
        let mut cells: Option<Cells> = None;
        for index in 0..reader.num_row_groups() {
            let group = reader.get_row_group(index).map_err(text)?;
            let count = usize::try_from(group.metadata().num_rows())
                .map_err(|_| "impossible number of rows")?;
            let part = group.get_column_reader(place).map_err(text)?;
            let part = read(part, &column, count).map_err(text)?;
            cells = Some(match (cells, part) {
                (Some(Cells::Numbers(mut all)), Cells::Numbers(more)) => {
                    all.extend(more);
                    Cells::Numbers(all)
                }
                (Some(Cells::Texts(mut all)), Cells::Texts(more)) => {
                    all.extend(more);
                    Cells::Texts(all)
                }
                (_, part) => part,
            });
        }
        found.push(cells.unwrap_or(Cells::Numbers(Vec::new())));
    }
    Ok(Some(found))
}

fn read(
    reader: ColumnReader,
    column: &ColumnDescriptor,
    rows: usize,
) -> Result<Cells, ParquetError> {
    let unsigned = matches!(
        column.logical_type_ref(),
        Some(LogicalType::Integer(kind)) if !kind.is_signed
    );
    let numbers = match reader {
        ColumnReader::Int32ColumnReader(reader) if unsigned => {
            spread(reader, column, rows, f64::NAN, |v| f64::from(*v as u32))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            spread(reader, column, rows, f64::NAN, |v| f64::from(*v))
        }
        ColumnReader::Int64ColumnReader(reader) if unsigned => {
            spread(reader, column, rows, f64::NAN, |v| *v as u64 as f64)
        }
        ColumnReader::Int64ColumnReader(reader) => {
            spread(reader, column, rows, f64::NAN, |v| *v as f64)
        }
        ColumnReader::DoubleColumnReader(reader) => spread(reader, column, rows, f64::NAN, |v| *v),
        ColumnReader::BoolColumnReader(reader) => {
            spread(reader, column, rows, f64::NAN, |v| f64::from(u8::from(*v)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let texts = spread(reader, column, rows, String::new(), |v| {
                String::from_utf8_lossy(v.data()).into_owned()
            })?;
            return Ok(Cells::Texts(texts));
        }
        _ => return Err(ParquetError::General("of a type that no trace has".into())),
    };
    numbers.map(Cells::Numbers)
}

/// The values of a column row by row, `absent` where a row has none.
fn spread<T: DataType, V: Clone>(
    mut reader: ColumnReaderImpl<T>,
    column: &ColumnDescriptor,
    rows: usize,
    absent: V,
    value: impl Fn(&T::T) -> V,
) -> Result<Vec<V>, ParquetError> {
    let mut present = Vec::new();
    let mut values = Vec::new();
    let levels = (column.max_def_level() > 0).then_some(&mut present);
    let (records, _, _) = reader.read_records(rows, levels, None, &mut values)?;
    let known = present.iter().filter(|level| **level > 0).count();
    let optional = column.max_def_level() > 0;
    if records != rows || values.len() != if optional { known } else { rows } {
        let why = format!("{}: {records} of {rows} rows", column.name());
        return Err(ParquetError::General(why));
    }
    let mut values = values.iter().map(value);
    if !optional {
        return Ok(values.collect());
    }
    let row = |level: &i16| {
        let value = (*level > 0).then(|| values.next()).flatten();
        value.unwrap_or_else(|| absent.clone())
    };
    Ok(present.iter().map(row).collect())
}
