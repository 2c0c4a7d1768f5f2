//! Prints `docs/analyze-tables.md`.

fn main() {
    print!("{}", cclab_analyze::markdown());
}
