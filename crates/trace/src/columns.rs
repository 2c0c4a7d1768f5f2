//! Rows of a table in memory as other programs take them: column by column, and as CSV.

use crate::table::{Column, Data, Kind, Row, Table, Values};

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number from 0.
    Unsigned(u64),
    /// A whole number.
    Signed(i64),
    /// Any number.
    Number(f64),
    /// True or false.
    Truth(bool),
    /// UTF-8.
    Text(&'a str),
}

/// The rows of a table, column by column.
#[derive(Debug)]
pub struct Columns {
    table: Table,
    columns: Vec<Values>,
    rows: usize,
}

impl Columns {
    /// Those of `rows`.
    pub fn of<R: Row>(rows: &[R]) -> Columns {
        let kinds = R::TABLE.columns.iter().map(|column| column.kind);
        let mut columns: Vec<Values> = kinds.map(Values::new).collect();
        for row in rows {
            row.put(&mut columns);
        }
        Columns {
            table: R::TABLE,
            columns,
            rows: rows.len(),
        }
    }

    /// Each column and its cells; None where a cell is absent.
    pub fn each(&self) -> impl Iterator<Item = (&Column, impl Iterator<Item = Option<Value<'_>>>)> {
        let columns = self.table.columns.iter().zip(&self.columns);
        columns.map(|(column, values)| (column, cells(column, values, self.rows)))
    }

    /// The rows as CSV, below the names of the columns. What is absent is empty, and an empty text
    /// is `""`; numbers are in full.
    pub fn csv(&self) -> String {
        let names = self.table.columns.iter().map(|column| column.name);
        let mut text = names.collect::<Vec<_>>().join(",").into_bytes();
        text.push(b'\n');
        let mut columns: Vec<_> = self.each().map(|(_, cells)| cells).collect();
        for _ in 0..self.rows {
            for (place, cells) in columns.iter_mut().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                if let Some(value) = cells.next().flatten() {
                    value.write(&mut text);
                }
            }
            text.push(b'\n');
        }
        String::from_utf8(text).expect("names, numbers and texts are UTF-8")
    }
}

fn cells<'a>(
    column: &Column,
    values: &'a Values,
    rows: usize,
) -> impl Iterator<Item = Option<Value<'a>>> {
    let (kind, nullable) = (column.kind, column.nullable);
    let mut taken = 0;
    (0..rows).map(move |row| {
        if nullable && values.present.get(row) != Some(&1) {
            return None;
        }
        let value = value(kind, &values.data, taken);
        taken += 1;
        value
    })
}

fn value(kind: Kind, data: &Data, index: usize) -> Option<Value<'_>> {
    Some(match data {
        Data::Int32(all) => Value::Unsigned(all.get(index)?.cast_unsigned().into()),
        Data::Int64(all) if kind == Kind::U64 => Value::Unsigned(all.get(index)?.cast_unsigned()),
        Data::Int64(all) => Value::Signed(*all.get(index)?),
        Data::Double(all) => Value::Number(*all.get(index)?),
        Data::Bool(all) => Value::Truth(*all.get(index)?),
        Data::Text(all) => Value::Text(all.get(index)?.as_utf8().ok()?),
    })
}

impl Value<'_> {
    /// Appends it to a line of CSV.
    fn write(self, text: &mut Vec<u8>) {
        // As JSON: the shortest text that reads as this number again, written straight into the line.
        let written = match self {
            Value::Unsigned(number) => serde_json::to_writer(&mut *text, &number),
            Value::Signed(number) => serde_json::to_writer(&mut *text, &number),
            Value::Number(number) if number.is_finite() => {
                serde_json::to_writer(&mut *text, &number)
            }
            // JSON has no others.
            Value::Number(number) => return text.extend_from_slice(number.to_string().as_bytes()),
            Value::Truth(truth) => serde_json::to_writer(&mut *text, &truth),
            Value::Text(told) if told.is_empty() || told.contains(['"', ',', '\n', '\r']) => {
                text.push(b'"');
                text.extend_from_slice(told.replace('"', "\"\"").as_bytes());
                return text.push(b'"');
            }
            Value::Text(told) => return text.extend_from_slice(told.as_bytes()),
        };
        written.expect("memory takes all that is written");
    }
}

#[cfg(test)]
mod tests {
    use super::{Columns, Value};
    use crate::table;

    #[derive(Clone, Debug, Default)]
    struct Example {
        number: u32,
        most: u64,
        least: i64,
        share: Option<f64>,
        known: Option<bool>,
        word: String,
    }

    table! {
        "example": "An example.",
        struct Example,
        "number": u32 = number, "";
        "most": u64 = most, "";
        "least": i64 = least, "";
        "share": Option<f64> = share, "";
        "known": Option<bool> = known, "";
        "word": String = word, "";
    }

    fn rows() -> Vec<Example> {
        let row = |number, share, known, word: &str| Example {
            number,
            most: u64::MAX,
            least: -1,
            share,
            known,
            word: word.to_owned(),
        };
        vec![
            row(1, None, Some(true), "plain"),
            row(u32::MAX, Some(1e-5), None, "a,b"),
            row(3, Some(1e16), Some(false), "say \"so\""),
            row(4, Some(0.25), Some(true), ""),
            row(5, Some(-0.0), None, "é"),
            row(6, Some(f64::NAN), None, "x"),
            row(7, Some(f64::NEG_INFINITY), None, "x"),
        ]
    }

    #[test]
    fn csv_has_absent_cells_empty_and_quotes_what_would_be_misread() {
        let most = u64::MAX;
        assert_eq!(
            Columns::of(&rows()).csv(),
            format!(
                "number,most,least,share,known,word\n\
                 1,{most},-1,,true,plain\n\
                 4294967295,{most},-1,0.00001,,\"a,b\"\n\
                 3,{most},-1,1e+16,false,\"say \"\"so\"\"\"\n\
                 4,{most},-1,0.25,true,\"\"\n\
                 5,{most},-1,-0.0,,é\n\
                 6,{most},-1,NaN,,x\n\
                 7,{most},-1,-inf,,x\n"
            )
        );
        assert_eq!(
            Columns::of::<Example>(&[]).csv(),
            "number,most,least,share,known,word\n"
        );
    }

    #[test]
    fn a_column_has_a_cell_for_each_row() {
        let columns = Columns::of(&rows());
        let (_, shares) = columns.each().nth(3).expect("there are six");
        let shares: Vec<_> = shares.collect();
        assert_eq!(
            shares[..4],
            [None, Some(1e-5), Some(1e16), Some(0.25)].map(|share| share.map(Value::Number))
        );
        let (column, numbers) = columns.each().next().expect("there are six");
        assert_eq!((column.name, numbers.count()), ("number", 7));
    }
}
