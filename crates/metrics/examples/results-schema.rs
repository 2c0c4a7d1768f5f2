//! Prints `docs/results.schema.json`.

fn main() {
    print!("{}", cclab_metrics::results_schema());
}
