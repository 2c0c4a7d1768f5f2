//! Prints `docs/metrics.md`.

fn main() {
    print!("{}", cclab_metrics::markdown());
}
