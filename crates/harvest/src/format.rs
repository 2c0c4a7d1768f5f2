//! The layout of a trace event, from the text of its `format` file: a kernel may move fields,
//! so that they are found by name alone.

use std::net::Ipv4Addr;

/// Where a field is in the data of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The number of the event, which begins the data of every event.
    pub const COMMON_TYPE: Field = Field { offset: 0, size: 2 };

    /// Bytes before it.
    pub fn offset(self) -> usize {
        self.offset
    }

    /// The bytes of the field; `None` if `data` ends before it does.
    pub fn bytes(self, data: &[u8]) -> Option<&[u8]> {
        data.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// The field as an unsigned number in the byte order of a little-endian machine.
    pub fn number(self, data: &[u8]) -> Option<u64> {
        let bytes = self.bytes(data)?;
        Some(match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => u64::from_le_bytes(bytes.try_into().ok()?),
        })
    }

    /// The field as an IPv4 address: four bytes of it, or a `sockaddr_in` that holds them.
    pub fn address(self, data: &[u8]) -> Option<Ipv4Addr> {
        /// Family and port come first (netinet/in.h).
        const IN_SOCKADDR: usize = 4;
        let bytes = self.bytes(data)?;
        let start = if bytes.len() == 4 { 0 } else { IN_SOCKADDR };
        let octets: [u8; 4] = bytes.get(start..start + 4)?.try_into().ok()?;
        Some(octets.into())
    }
}

/// The layout of one kind of event, or of a page of the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Its name; empty for a page.
    pub name: String,
    /// The number that records name it by; 0 for a page.
    pub id: u16,
    fields: Vec<(String, Field)>,
}

impl Format {
    /// Reads the text of a `format` file, or of `header_page`.
    ///
    /// # Errors
    /// If a line is not what the kernel writes.
    pub fn parse(text: &str) -> Result<Format, String> {
        let mut format = Format::default();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().to_owned();
            } else if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().map_err(|_| fault(line))?;
            } else if line.starts_with("field:") {
                let field = field(line).ok_or_else(|| fault(line))?;
                format.fields.push(field);
            }
        }
        Ok(format)
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<Field> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, field)| *field)
    }

    /// The field called `name`, which has to be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn required(&self, name: &str) -> Result<Field, String> {
        self.field(name)
            .ok_or_else(|| format!("event {} has no field {name}", self.name))
    }
}

fn fault(line: &str) -> String {
    format!("{line:?} is no line of an event's format")
}

/// Such as `field:__u8 saddr[4]; offset:12; size:4; signed:0;`, with tabs.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?;
    let mut number = |key: &str| -> Option<usize> { parts.next()?.strip_prefix(key)?.parse().ok() };
    let offset = number("offset:")?;
    let size = number("size:")?;
    Some((name.to_owned(), Field { offset, size }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: tcp_probe\nID: 275\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:__u8 saddr[28];\toffset:8;\tsize:28;\tsigned:0;\n\
        \tfield:const void * skaddr;\toffset:40;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"x=%u\", REC->x\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse(TEXT).expect("a format");
        assert_eq!((format.name.as_str(), format.id), ("tcp_probe", 275));
        let field = |offset, size| Some(Field { offset, size });
        assert_eq!(format.field("common_type"), field(0, 2));
        assert_eq!(format.field("saddr"), field(8, 28));
        assert_eq!(format.field("skaddr"), field(40, 8));
        let missing = format.required("sport").expect_err("no such field");
        assert_eq!(missing, "event tcp_probe has no field sport");
    }

    #[test]
    fn a_line_that_makes_no_sense_is_an_error() {
        for line in [
            "field:int a;\toffset:x;\tsize:4;\tsigned:1;",
            "field:int a;",
            "ID: 70000",
        ] {
            let fault = Format::parse(line).expect_err(line);
            assert!(fault.contains("no line of an event's format"), "{fault}");
        }
    }

    #[test]
    fn values_are_read_by_size_and_never_past_the_end() {
        let data: Vec<u8> = (1..=16).collect();
        let at = |offset, size| Field { offset, size };
        assert_eq!(at(0, 1).number(&data), Some(1));
        assert_eq!(at(1, 2).number(&data), Some(0x0302));
        assert_eq!(at(2, 4).number(&data), Some(0x0605_0403));
        assert_eq!(at(8, 8).number(&data), Some(0x100f_0e0d_0c0b_0a09));
        assert_eq!(at(9, 8).number(&data), None);
        assert_eq!(at(0, 3).number(&data), None);
        assert_eq!(at(usize::MAX, 4).number(&data), None);
        assert_eq!(at(4, 4).address(&data), Some([5, 6, 7, 8].into()));
        assert_eq!(at(0, 12).address(&data), Some([5, 6, 7, 8].into()));
    }
}
