//! `cclab._core`: the laboratory for Python. Bindings only: JSON text and paths cross the
//! border, `_core.pyi` beside the package describes it, and nothing is decided here.

mod alone;
mod analyze;
mod error;
mod execute;
mod linux;
mod measure;
mod names;
mod plan;
mod sealed;
mod steps;
mod variant;

use pyo3::prelude::*;

/// The module `cclab._core`.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    // Wheels are built with it; what is built in a checkout changes too often to tell.
    let built_from = option_env!("CCLAB_BUILT_FROM").unwrap_or_default();
    module.add("BUILT_FROM", built_from)?;
    module.add("TAKEN_COLUMNS", cclab_cc::interface::state::TAKEN)?;
    module.add("CORE_VERSION", cclab_sim::VERSION)?;
    module.add("TESTBED_VERSION", cclab_testbed::VERSION)?;
    module.add("LEAST_SHARE", cclab_analyze::LEAST_SHARE)?;
    module.add("METRICS_VERSION", cclab_metrics::VERSION.to_string())?;
    module.add("WARNINGS", cclab_metrics::warnings::codes())?;
    let of_points = cclab_metrics::warnings::OF_POINTS.map(|(code, _)| code);
    module.add("POINT_WARNINGS", of_points.to_vec())?;
    let orders = cclab_units::ORDERS.map(|range| (*range.start(), *range.end()));
    module.add("ORDERS", orders.to_vec())?;
    module.add("StudyError", module.py().get_type::<error::StudyError>())?;
    module.add("RunError", module.py().get_type::<error::RunError>())?;
    module.add(
        "CaptureError",
        module.py().get_type::<error::CaptureError>(),
    )?;
    module.add_class::<analyze::Rows>()?;
    module.add_class::<execute::Progress>()?;
    module.add_class::<steps::Steps>()?;
    module.add_class::<variant::Window>()?;
    module.add_class::<variant::Ack>()?;
    module.add_class::<variant::Congestion>()?;
    module.add_class::<variant::Report>()?;
    module.add_function(wrap_pyfunction!(variant::layouts, module)?)?;
    module.add_function(wrap_pyfunction!(variant::raised_compiled, module)?)?;
    module.add_function(wrap_pyfunction!(plan::check, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(plan::schema, module)?)?;
    module.add_function(wrap_pyfunction!(plan::scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(plan::description_schema, module)?)?;
    module.add_function(wrap_pyfunction!(plan::run_id, module)?)?;
    module.add_function(wrap_pyfunction!(plan::run_ids, module)?)?;
    module.add_function(wrap_pyfunction!(plan::determinants, module)?)?;
    module.add_function(wrap_pyfunction!(plan::kernels, module)?)?;
    module.add_function(wrap_pyfunction!(plan::modules, module)?)?;
    module.add_function(wrap_pyfunction!(plan::describe, module)?)?;
    module.add_function(wrap_pyfunction!(plan::foreseen, module)?)?;
    module.add_function(wrap_pyfunction!(plan::baselines, module)?)?;
    module.add_function(wrap_pyfunction!(plan::expression, module)?)?;
    module.add_function(wrap_pyfunction!(plan::number, module)?)?;
    module.add_function(wrap_pyfunction!(plan::dimension, module)?)?;
    module.add_function(wrap_pyfunction!(execute::execute, module)?)?;
    module.add_function(wrap_pyfunction!(alone::end_with, module)?)?;
    module.add_function(wrap_pyfunction!(alone::guard, module)?)?;
    module.add_function(wrap_pyfunction!(alone::forked, module)?)?;
    module.add_function(wrap_pyfunction!(alone::wrong_files, module)?)?;
    module.add_function(wrap_pyfunction!(alone::execute_alone, module)?)?;
    module.add_function(wrap_pyfunction!(linux::execute_on_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(linux::needs_of, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::finish, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::seal, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::check_runs, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::read_runs, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::read_columns, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::run_names, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::most_of_file, module)?)?;
    module.add_function(wrap_pyfunction!(sealed::sync, module)?)?;
    module.add_function(wrap_pyfunction!(measure::measure, module)?)?;
    module.add_function(wrap_pyfunction!(measure::compare_repeats, module)?)?;
    module.add_function(wrap_pyfunction!(measure::beside_others, module)?)?;
    module.add_function(wrap_pyfunction!(analyze::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(analyze::analyze_memory, module)?)?;
    module.add_function(wrap_pyfunction!(names::shown, module)?)?;
    module.add_function(wrap_pyfunction!(names::variants, module)?)?;
    module.add_function(wrap_pyfunction!(names::variant_file, module)?)?;
    module.add_function(wrap_pyfunction!(names::declared_params, module)?)?;
    module.add_function(wrap_pyfunction!(names::qdiscs, module)?)?;
    module.add_function(wrap_pyfunction!(names::probes, module)?)?;
    module.add_function(wrap_pyfunction!(names::parts, module)?)?;
    module.add_function(wrap_pyfunction!(names::stacks, module)?)?;
    module.add_function(wrap_pyfunction!(names::metrics, module)?)?;
    module.add_function(wrap_pyfunction!(names::results_schema, module)?)?;
    module.add_function(wrap_pyfunction!(names::topologies, module)?)?;
    module.add_function(wrap_pyfunction!(names::impairments, module)?)?;
    module.add_function(wrap_pyfunction!(names::traffic, module)?)?;
    module.add_function(wrap_pyfunction!(names::applications, module)?)?;
    module.add_function(wrap_pyfunction!(names::receivers, module)?)?;
    Ok(())
}
