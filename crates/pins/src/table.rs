//! The table of pins: one row per case, in columns.

use std::collections::BTreeMap;

/// A case and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What the case is about: the name of a part that has a version.
    pub subject: String,
    /// Which case of it.
    pub case: String,
    /// Hash of what was asked for; another question has another answer.
    pub asked: String,
    /// Hash of what came of it.
    pub digest: String,
    /// The versions of what was used: `core 1, linux-6.12 1, cubic 1, droptail 1`.
    pub versions: String,
}

impl Row {
    /// What tells it from the others.
    pub fn key(&self) -> String {
        format!("{} ({})", self.subject, self.case)
    }

    /// The names of what was used.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        numbered(&self.versions).map(|(name, _)| name)
    }

    /// Whether a version of `pinned` is lower than this row's of the same name.
    fn is_raised_over(&self, pinned: &Row) -> bool {
        let before: BTreeMap<&str, u32> = numbered(&pinned.versions).collect();
        let mut now = numbered(&self.versions);
        now.any(|(name, version)| before.get(name).is_some_and(|&known| known < version))
    }
}

fn numbered(versions: &str) -> impl Iterator<Item = (&str, u32)> {
    let each = versions.split(", ").filter_map(|one| one.rsplit_once(' '));
    each.filter_map(|(name, number)| Some((name, number.parse().ok()?)))
}

const HEAD: &str = "\
# What runs come to, by the versions of what they use. A test compares; where behaviour changed, it
# names the version to raise, and then `make pins` writes this table anew, for a commit of its own.
";

/// The table of `rows`.
pub fn write(rows: &[Row]) -> String {
    let columns = |row: &Row| {
        [
            &row.subject,
            &row.case,
            &row.asked,
            &row.digest,
            &row.versions,
        ]
        .map(String::clone)
    };
    let head = ["subject", "case", "asked", "digest", "versions"].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(head)
        .chain(rows.iter().map(columns))
        .collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max();
    let widths: Vec<usize> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
    let line = |line: &[String; 5]| {
        let padded = line.iter().zip(&widths);
        let padded: Vec<String> = padded
            .map(|(text, width)| format!("{text:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    HEAD.to_owned() + &lines.iter().map(line).collect::<String>()
}

/// The rows of a table.
pub fn parse(text: &str) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let mut columns = line.split("  ").filter(|text| !text.is_empty());
        let mut next = || columns.next().unwrap_or_default().trim().to_owned();
        Row {
            subject: next(),
            case: next(),
            asked: next(),
            digest: next(),
            versions: next(),
        }
    };
    lines.map(row).collect()
}

/// Those of `found` that are another thing than what is `pinned`, though the question is the same
/// and no version was raised.
pub fn moved<'a>(pinned: &[Row], found: &'a [Row]) -> Vec<&'a Row> {
    let known: BTreeMap<String, &Row> = pinned.iter().map(|row| (row.key(), row)).collect();
    let is_moved = |row: &&Row| {
        known.get(&row.key()).is_some_and(|before| {
            row.digest != before.digest && row.asked == before.asked && !row.is_raised_over(before)
        })
    };
    found.iter().filter(is_moved).collect()
}

/// What is to be written anew, in lines.
pub fn stale(pinned: &[Row], found: &[Row]) -> Vec<String> {
    let known: BTreeMap<String, &Row> = pinned.iter().map(|row| (row.key(), row)).collect();
    let now: BTreeMap<String, &Row> = found.iter().map(|row| (row.key(), row)).collect();
    let gone = known.keys().filter(|key| !now.contains_key(*key));
    let gone = gone.map(|key| format!("{key}: there is no such case any more"));
    let other = now.iter().filter_map(|(key, row)| match known.get(key) {
        None => Some(format!("{key}: new")),
        Some(before) if before.versions != row.versions => Some(format!(
            "{key}: now of {}, was of {}",
            row.versions, before.versions
        )),
        Some(before) if before.asked != row.asked => Some(format!("{key}: asks for another thing")),
        Some(_) => None,
    });
    gone.chain(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, asked: &str, digest: &str, versions: &str) -> Row {
        Row {
            subject: "hybla".into(),
            case: case.into(),
            asked: asked.into(),
            digest: digest.into(),
            versions: versions.into(),
        }
    }

    #[test]
    fn a_table_reads_as_it_was_written() {
        let rows = [
            row("on rfc", "aa", "bb", "core 1, rfc 1, hybla 1"),
            row("fast and long", "cc", "dd", "core 1, hybla 12"),
        ];
        assert_eq!(parse(&write(&rows)), rows);
        assert_eq!(parse(""), []);
    }

    #[test]
    fn another_digest_needs_a_raised_version_or_another_question() {
        let pinned = [row("on rfc", "aa", "bb", "core 1, hybla 2")];
        let is_moved = |now: Row| !moved(&pinned, &[now]).is_empty();
        assert!(is_moved(row("on rfc", "aa", "xx", "core 1, hybla 2")));
        assert!(is_moved(row("on rfc", "aa", "xx", "core 1, hybla 1")));
        assert!(is_moved(row("on rfc", "aa", "xx", "core 1, reno 3")));
        for allowed in [
            row("on rfc", "aa", "bb", "core 1, hybla 2"),
            row("on rfc", "aa", "xx", "core 1, hybla 3"),
            row("on rfc", "aa", "xx", "core 2, hybla 2"),
            row("on rfc", "zz", "xx", "core 1, hybla 2"),
            row("on ns2", "aa", "xx", "core 1, hybla 2"),
        ] {
            assert!(!is_moved(allowed.clone()), "{allowed:?}");
        }
    }
}
