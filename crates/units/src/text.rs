//! How text that others wrote is shown: names of files, titles, what programs print.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
                _ if c.is_control() => push(&mut line, u32::from(c)),
                // UAX #9 has embeddings, overrides and isolates; U+2028 and U+2029 end a line.
                '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    let _ = write!(line, "\\u{:04x}", u32::from(c));
                }
                _ => line.push(c),
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

fn push(line: &mut String, code: u32) {
    // Writing to a String never fails.
    let _ = write!(line, "\\x{code:02x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let text = "a\u{1b}[31m\u{7f}\u{9b}2J\u{202e}b\u{2066}\r\n\t";
        let told = r"a\x1b[31m\x7f\x9b2J\u202eb\u2066\r\n\t";
        assert_eq!(shown(text.as_bytes()), told);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_escaped_one_by_one_and_letters_stay() {
        assert_eq!(
            shown(b"x\xff\xc3(\xe2\x82.toml"),
            r"x\xff\xc3(\xe2\x82.toml"
        );
        assert_eq!(shown("Grüße ± → 日本".as_bytes()), "Grüße ± → 日本");
    }
}
