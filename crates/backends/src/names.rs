//! The names that studies know.

use cclab_spec::Names;

/// The names of the registries, and those of metrics that expectations have.
pub fn names() -> Names {
    let mut names = Names::default();
    for metric in cclab_metrics::metrics().filter(|metric| metric.is_expectable()) {
        for number in metric.numbers() {
            let (subject, name) = (metric.subject(), number.name());
            names.metrics.register(subject, &name, metric.baseline);
            // Of `jain` the whole name is the short one.
            if let Some(short) = number
                .short()
                .filter(|short| number.window_of().as_ref() != Some(short))
            {
                names.metrics.register(subject, &short, metric.baseline);
            }
        }
    }
    names
}
