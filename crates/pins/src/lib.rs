//! What each version stands for. A run is named by the versions of what it uses, so whoever changes
//! what one of them does must raise it: `pins.txt` holds the digest of what short runs are with the
//! versions of today, and [`check`] names the version to raise where a run is no longer that.
//!
//! For tests alone: nothing depends on it.

mod blame;
mod cases;
mod digest;
mod place;
mod table;

use std::fs;
use std::path::Path;

pub use cases::found;
pub use table::Row;

/// Compares what was `found` with the table in `file`; `accept` writes what was found there, unless
/// a digest is another one under the same versions.
///
/// # Errors
/// Which versions are to be raised, or how the table is made to say what was found.
pub fn check(file: &Path, found: &[Row], accept: bool) -> Result<(), String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let pinned = table::parse(&text);
    let moved: Vec<&Row> = table::moved(&pinned, found);
    if !moved.is_empty() {
        return Err(complaint(found, &moved));
    }
    let wanted = table::write(found);
    if accept {
        return fs::write(file, wanted).map_err(|why| format!("{}: {why}", file.display()));
    }
    if text == wanted {
        return Ok(());
    }
    let stale = table::stale(&pinned, found).join("\n  ");
    let file = file.display();
    Err(format!(
        "{file} is not of these versions and cases; `make pins` writes it anew, for a commit of its \
         own:\n  {stale}"
    ))
}

fn complaint(found: &[Row], moved: &[&Row]) -> String {
    let blamed = blame::blamed(found, moved);
    let mut lines = vec!["behaviour changed, and its version did not; raise:".to_owned()];
    lines.extend(
        blamed
            .iter()
            .map(|part| format!("  {part}: {}", place::of(part))),
    );
    if blamed.len() > 1 {
        lines.push(format!(
            "or, if the cause is in what they share, {} alone",
            place::of("core")
        ));
    }
    lines.push("and then `make pins`. What is no longer what it was:".to_owned());
    lines.extend(moved.iter().map(|row| format!("  {}", row.key())));
    lines.join("\n")
}
