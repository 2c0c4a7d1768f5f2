//! Prints `docs/trace-schema.md`.

fn main() {
    print!("{}", cclab_trace::tables::markdown());
}
