//! How text that others wrote is shown: names of files, titles, what programs print.

use std::fmt::Write;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What is escaped: controls, U+2028 and U+2029, which end a line, and what turns the direction of
/// writing (property Bidi_Control of UAX #9, as UTS #55 has it for source code). What joins letters
/// without a width of its own, as Persian and emoji need it, stays.
pub const ORDERS: [RangeInclusive<char>; 6] = [
    '\0'..='\x1f',
    '\x7f'..='\u{9f}',
    '\u{61c}'..='\u{61c}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2066}'..='\u{2069}',
];

/// `text` in one line that no terminal takes for an order: controls and what turns the direction of
/// writing are escaped (`\n`, `\x1b`, `\u202e`), and so is each byte that is not UTF-8 (`\xff`). The
/// spellings are those of Python's `backslashreplace`.
pub fn shown(text: &[u8]) -> String {
    let mut line = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => line.push_str("\\n"),
                '\r' => line.push_str("\\r"),
                '\t' => line.push_str("\\t"),
                _ if !ORDERS.iter().any(|range| range.contains(&c)) => line.push(c),
                '\0'..='\u{ff}' => push(&mut line, u32::from(c)),
                _ => {
                    // Writing to a String never fails.
                    let _ = write!(line, "\\u{:04x}", u32::from(c));
                }
            }
        }
        for &byte in chunk.invalid() {
            push(&mut line, byte.into());
        }
    }
    line
}

/// A path as [`shown`] shows it.
pub fn shown_path(path: &Path) -> String {
    shown(path.as_os_str().as_bytes())
}

/// Why the system refused, in its words and without its number.
pub fn refused(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "there is no such file".to_owned();
    }
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn push(line: &mut String, code: u32) {
    // Writing to a String never fails.
    let _ = write!(line, "\\x{code:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let text = "a\u{1b}[31m\u{7f}\u{9b}2J\u{202e}b\u{2066}\u{61c}\u{200e}\u{200f}\r\n\t";
        let told = r"a\x1b[31m\x7f\x9b2J\u202eb\u2066\u061c\u200e\u200f\r\n\t";
        assert_eq!(shown(text.as_bytes()), told);
    }

    #[test]
    fn a_refusal_of_the_system_is_told_in_words() {
        let opened = |path: &str| std::fs::read(path).expect_err("it cannot be read");
        assert_eq!(refused(&opened("nowhere/x")), "there is no such file");
        assert_eq!(refused(&opened("/dev/null/x")), "Not a directory");
        assert_eq!(refused(&opened("/")), "Is a directory");
        assert_eq!(refused(&io::Error::other("why")), "why");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_escaped_one_by_one_and_letters_stay() {
        assert_eq!(
            shown(b"x\xff\xc3(\xe2\x82.toml"),
            r"x\xff\xc3(\xe2\x82.toml"
        );
        assert_eq!(shown("Grüße ± → 日本".as_bytes()), "Grüße ± → 日本");
        // A family of one picture, and a word of Persian.
        let joined = "👩\u{200d}👧 می\u{200c}خواهم";
        assert_eq!(shown(joined.as_bytes()), joined);
    }
}
