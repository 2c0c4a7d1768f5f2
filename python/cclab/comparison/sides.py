"""The two sides of a comparison: what they are, and their runs."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from cclab import _core, api, kernel, shown, sweep
from cclab.errors import DamagedRunsError, InputError
from cclab.late import late
from cclab.plan.study import Study
from cclab.store import Store
from cclab.store.folder import folder_called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.comparison import correction as corrections
    from cclab.comparison import margin as margins
    from cclab.comparison import metric as measured_metrics
    from cclab.comparison import results as comparisons
    from cclab.comparison.correction import Correction
    from cclab.comparison.margin import Margin
    from cclab.comparison.results import Comparison, Kind, Side
    from cclab.documents.scenario import Scenario
    from cclab.execute import Listener
    from cclab.measure import results as measured_results
    from cclab.measure.results import Results
    from cclab.plan import Plan
else:
    corrections = late("cclab.comparison.correction")
    margins = late("cclab.comparison.margin")
    measured_metrics = late("cclab.comparison.metric")
    comparisons = late("cclab.comparison.results")
    measured_results = late("cclab.measure.results")


@dataclass(frozen=True)
class PlannedSide:
    """A side whose runs are to be done, or are done in part."""

    label: str
    """The backend, the variant or the kernel."""
    plan: Plan
    store: Store


@dataclass(frozen=True)
class PlannedPair:
    """A study on two backends, with two variants, or on two kernels."""

    kind: Kind
    a: PlannedSide
    b: PlannedSide
    meant: list[str]
    """The keys of the scenarios in which the sides differ on purpose; a pattern may have stars."""


class _How(TypedDict):
    """How two sides are compared."""

    metrics: Sequence[str]
    correction: Correction
    margin: Margin | None


def compare(
    a: str | Path | Results,
    b: str | Path | Results,
    *,
    study: str | Path | Study | None = None,
    flows: str | Sequence[str] = (),
    metrics: str | Sequence[str] = (),
    correction: str = "fdr",
    margin: str | float | None = None,
    out: str | Path | None = None,
    backend: str | None = None,
    repeat: int | str | None = None,
    seed: int | None = None,
    set: str | Sequence[str] = (),
    jobs: int | None = None,
    listener: Listener | None = None,
) -> Comparison:
    """How B differs from A, at every sweep point and for every flow, over runs.

    Without `study`, `a` and `b` are results folders or the `Results` themselves, and nothing is
    run. With it they are two backends (`"sim"`, `"linux"`), two variants (`"cubic"`, `"bbr"`) or
    two kernels of backend linux (`"6.1"`, `"6.12"`): the study is run twice with the same seeds,
    as far as the folders `results/NAME.A` and `results/NAME.B` (`out/A`, `out/B`; A and B being
    what they are called) do not hold it already. `flows` are the flows whose variant or kernel is
    replaced, all if empty. `metrics` chooses what is compared; `correction` is how p-values are
    corrected for the number of all that is, `"fdr"` or
    `"holm"`. With a `margin` (`"5%"` of A's mean, `"1pp"` of fractions) each metric is also better,
    no worse, worse or undecided against it. The others are those of `cclab.run`, and need a
    `study`.

    Raises `InputError` or `StudyError` for wrong input, `StoreError` and `DamageError` if a folder
    cannot be used, and `RunError` if a run fails.
    """
    flows, metrics, set = api.each(flows), api.each(metrics), api.each(set)
    # A wrong name is found before an hour of runs.
    meant = measured_metrics.metric_names(metrics)
    allowed = None if margin is None else margins.Margin.of(margin)
    if allowed is not None:
        allowed.check(meant)
    how: _How = {
        "metrics": metrics,
        "correction": corrections.known_correction(correction),
        "margin": allowed,
    }
    if study is None:
        asked = {"flows": flows, "out": out, "backend": backend, "repeat": repeat}
        refuse_without_study(asked | {"seed": seed, "set": set, "jobs": jobs})
        return comparisons.compare_results("stores", side(a), side(b), **how)
    if not isinstance(a, str) or not isinstance(b, str):
        raise InputError(
            "with a study, A and B are the names of two backends, two variants or two kernels"
        )
    pair = plan_pair(
        a, b, study, flows=flows, out=out, backend=backend, repeat=repeat, seed=seed, set=set
    )
    done = [
        comparisons.Side(
            one.label, sweep.carry_out(one.plan, one.store, jobs=jobs, listener=listener)
        )
        for one in (pair.a, pair.b)
    ]
    return comparisons.compare_results(pair.kind, *done, meant=pair.meant, **how)


def refuse_without_study(asked: dict[str, Any]) -> None:
    """Raises `InputError` if one of `asked` is given, which only a study to run has use for."""
    given = [name for name, value in asked.items() if value is not None and value != ()]
    if given:
        raise InputError(
            f"{', '.join(given)}: only with a study to run; two results folders are compared as "
            "they are"
        )


def side(given: str | Path | Results) -> Side:
    """A results folder, or results, as a side; nothing is run.

    Raises `StoreError` if it is not a results folder, `DamageError` if runs in it are damaged and
    `InputError` if it holds none.
    """
    if isinstance(given, measured_results.Results):
        return comparisons.Side(str(given.store.path), given)
    store = Store(given)
    names = str(given) in (*backends(), *variants()) or _is_kernel(str(given))
    if names and not store.path.exists():
        raise InputError(
            f"no results folder {shown.quoted(given)} here; two backends, two variants or "
            "two kernels are compared with a study to run (--study STUDY.toml)"
        )
    plan = store.plan()
    survey = store.survey(plan)
    if survey.damaged:
        raise DamagedRunsError(store.path, [run.id for run in survey.damaged])
    if not survey.sound:
        raise InputError(f"{given} holds none of its runs; run the study first")
    return comparisons.Side(str(given), api.load(store.path))


def plan_pair(
    a: str,
    b: str,
    study: str | Path | Study,
    *,
    flows: Sequence[str] = (),
    out: str | Path | None = None,
    backend: str | None = None,
    repeat: int | str | None = None,
    seed: int | None = None,
    set: Sequence[str] = (),
) -> PlannedPair:
    """The two plans of `study` on the backends, with the variants, or on the kernels `a` and `b`.

    Raises `InputError` or `StudyError` if one of them cannot be run, before anything is.
    """
    if a == b:
        raise InputError(f"A and B are both {shown.quoted(a)}; there is nothing to compare")
    loaded = study if isinstance(study, Study) else Study.load(study)
    kind = _kind(a, b)
    options: dict[str, Any] = {"repeat": repeat, "seed": seed}
    if kind == "backends":
        if flows or backend is not None:
            raise InputError(
                f"{'--flow' if flows else '--backend'}: only where two variants or two kernels are "
                f"compared; {shown.quoted(a)} and {shown.quoted(b)} are backends"
            )
        plans = [loaded.plan(set=list(set), backend=name, **options) for name in (a, b)]
        meant = ["backend"]
    else:
        written = flow_names(loaded)
        unknown = [name for name in flows if name not in written]
        if unknown:
            raise InputError(
                f"{loaded.file}: no flow {shown.quoted(unknown[0])}; it has {', '.join(written)}"
            )
        replaced = list(flows) or written
        key = "cc"
        whole: list[str] = []
        if kind == "kernels":
            key, backend = "kernel", _with_kernels(backend)
            # Hosts of probes have it, too.
            whole = [] if flows else ["kernel"]
        keys = [*whole, *(f"flow.{flow}.{key}" for flow in replaced)]
        plans = [
            loaded.plan(
                set=list(set),
                replaced=[(f"argument {name}", f"{path}={json.dumps(name)}") for path in keys],
                backend=backend,
                **options,
            )
            for name in (a, b)
        ]
        for name, plan in zip((a, b), plans, strict=True):
            _check_replaced(plan, replaced, key, name)
        # Copies of a flow are called NAME.1, NAME.2; a change that all flows have is `flow.*.cc`.
        stars = [f"flow.[*].{key}"] if len(replaced) == len(written) else []
        each = (f"flow.{name}{copy}.{key}" for name in replaced for copy in ("", ".*"))
        meant = [*whole, *stars, *each]
    for plan in plans:
        sweep.check(plan)
    side_a, side_b = (
        PlannedSide(name, plan, _store(plan, name, out))
        for name, plan in zip((a, b), plans, strict=True)
    )
    return PlannedPair(kind, side_a, side_b, meant)


def _kind(a: str, b: str) -> Kind:
    """What `a` and `b` are. Raises `InputError` if they are not of one kind."""
    both = (a, b)
    if all(name in backends() for name in both):
        return "backends"
    known = variants()
    # A kernel may be called as a variant is: the one that it was built for.
    of_kernels = [_is_kernel(name) for name in both]
    if all(of_kernels) and not all(name in known for name in both):
        return "kernels"
    lone = any(
        is_kernel and name not in known for name, is_kernel in zip(both, of_kernels, strict=True)
    )
    if lone or any(name in backends() for name in both):
        raise InputError(
            f"{shown.quoted(a)} and {shown.quoted(b)}: either two backends "
            f"({', '.join(backends())}), two variants "
            "(`cclab list variants`) or two kernels (`cclab kernel list`)"
        )
    return "variants"


def _is_kernel(name: str) -> bool:
    """Whether a kernel is called so, or would be by its series."""
    return kernel.is_series(name) or any(known.name == name for known in kernel.current())


def _with_kernels(asked: str | None) -> str:
    """The backend on which kernels are compared. Raises `InputError` if another is asked for."""
    if asked not in (None, "linux"):
        raise InputError(f"--backend {asked}: kernels are compared on backend linux")
    return "linux"


def backends() -> list[str]:
    """Every name that a study can have as its backend, whether this version has it or not."""
    schema = json.loads(_core.schema())
    return [choice["const"] for choice in schema["$defs"]["Backend"]["oneOf"]]


def variants() -> list[str]:
    """The variants that this version has itself."""
    return [variant["name"] for variant in json.loads(_core.variants())]


def flow_names(study: Study) -> list[str]:
    """The names of the flows as the study writes them: once for all copies (`count`)."""
    flows = tomllib.loads(study.text).get("flow", [])
    return [flow.get("name", f"flow{number}") for number, flow in enumerate(flows, start=1)]


def _check_replaced(plan: Plan, replaced: Sequence[str], key: str, name: str) -> None:
    """Raises `InputError` if some sweep point gives one of the flows another `key` after all."""
    for point in plan.points:
        for flow in point.scenario["flows"]:
            stem = flow["name"].rpartition(".")[0] or flow["name"]
            given = flow.get(key, point.scenario.get(key))
            if stem in replaced and given != name and not _is_file(name, given, point.scenario):
                swept = next((path for path in point.params if path.endswith(key)), f"flow.{key}")
                raise InputError(
                    f"the sweep of {swept} gives flow {shown.quoted(flow['name'])} the "
                    f"{'variant' if key == 'cc' else key} {shown.quoted(str(given))}, "
                    f"so it cannot be {shown.quoted(name)} as well; "
                    "choose other flows (--flow) or take the key out of the sweep"
                )


def _is_file(name: str, label: object, scenario: Scenario) -> bool:
    """Whether the flows of `scenario` call the variant's file `name` by `label`."""
    file, _, called = name.rpartition("/")[2].partition(".py:")
    file = f"{file}.py" if called else file
    files = scenario.get("variant_files", [])
    return any(entry["label"] == label and entry["file"] == file for entry in files)


def _store(plan: Plan, label: str, out: str | Path | None) -> Store:
    # A variant's file is called by its path.
    label = label.removeprefix("./").replace("/", "-")
    folder = Path(out) / label if out is not None else folder_called(f"{plan.name}.{label}")
    return Store(folder)
