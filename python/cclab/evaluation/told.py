"""Lines of a card in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import units

if TYPE_CHECKING:
    from cclab.evaluation.evidence import Line, Sample, Setting
    from cclab.evaluation.schema import Criterion
    from cclab.measure.stats import Estimate


def scale(criterion: Criterion, largest: float) -> tuple[float, str]:
    """What to divide values by that reach `largest`, and the unit that they then have."""
    match criterion.unit:
        case "bit/s":
            return units.rate(largest)
        case "s":
            return units.time(largest)
        case "share":
            return 0.01, "%"
    return 1.0, ""


def value(criterion: Criterion, number: float) -> str:
    """A value with its unit."""
    divisor, unit = scale(criterion, abs(number))
    return f"{number / divisor:.3g}{'' if unit == '%' else ' ' if unit else ''}{unit}"


def interval(criterion: Criterion, estimate: Estimate | None) -> str:
    """A mean with its interval and unit."""
    if estimate is None:
        return "not measured"
    ends = [end for end in (estimate.low, estimate.high) if end is not None]
    divisor, unit = scale(criterion, max(abs(number) for number in (estimate.mean, *ends)))
    unit = unit if unit == "%" else f" {unit}".rstrip()
    if len(ends) < 2 or ends[0] == ends[1]:
        return f"{estimate.mean / divisor:.3g}{unit}"
    # Digits enough for its ends to differ: where they do decides.
    mean, low, high = (number / divisor for number in (estimate.mean, *ends))
    digits = next((d for d in (3, 4, 5, 6) if f"{low:.{d}g}" != f"{high:.{d}g}"), 6)
    return f"{mean:.{digits}g} [{low:.{digits}g}, {high:.{digits}g}]{unit}"


def sample(criterion: Criterion, measured: Sample) -> str:
    """What a variant measured; of how many runs, if some did not."""
    known = sum(number is not None for number in measured.values)
    text = interval(criterion, measured.estimate)
    if measured.unended:
        text = f"at {'least' if criterion.better == 'lower' else 'most'} {text}"
    return (
        text
        if known in (0, len(measured.values))
        else (f"{text} in {known} of {len(measured.values)} runs")
    )


def told(criterion: Criterion, setting: Setting) -> str:
    """A setting in one line: the subject, and each standard beside it."""
    parts = [sample(criterion, setting.subject)]
    parts += [f"{b.standard.variant} {sample(criterion, b.standard)}" for b in setting.besides]
    return parts[0] + (f"; {', '.join(parts[1:])}" if parts[1:] else "")


def margin_in_words(criterion: Criterion) -> str:
    """What is asked, and whose it is."""
    asked = []
    if criterion.below is not None:
        asked.append(f"at most {value(criterion, criterion.below)}")
    if criterion.above is not None:
        asked.append(f"at least {value(criterion, criterion.above)}")
    if criterion.margin is not None:
        way = "below" if criterion.better == "higher" else "above"
        part = f"{100 * criterion.margin:.3g}% of its value" if criterion.margin else ""
        slack = value(criterion, criterion.slack) if criterion.slack else ""
        if criterion.slack and criterion.unit == "share":
            points = 100 * criterion.slack
            slack = f"{points:.3g} point{'' if points == 1 else 's'}"
        by = " or ".join(filter(None, (part, slack))) or "nothing"
        asked.append(f"at most {by} {way} a standard")
    return f"{', '.join(asked)} ({criterion.whose})"


def _difference(criterion: Criterion, setting: Setting) -> str:
    """How far the subject is from the standard that it comes off best beside."""
    beside = setting.nearest
    if beside is None or beside.difference is None:
        return ""
    if beside.standard.runs == setting.subject.runs:
        return ""
    apart = interval(criterion, beside.difference)
    apart = f"{apart.removesuffix('%')} points" if apart.endswith("%") else apart
    return f"; difference to {beside.standard.variant} {apart}"


def why(line: Line) -> str:
    """What decided, in one line."""
    if line.unavailable:
        return line.unavailable
    if not line.deciding:
        return "not judged"
    first = line.deciding[0]
    of = len(line.settings)
    at = "" if of == 1 else f" at {first.label}"
    said = f"{line.criterion.measure}: {told(line.criterion, first)}{at}"
    if line.verdict in ("no worse than standard", "meets"):
        said += f", of {of} settings the nearest to what is asked" if of > 1 else ""
        return said + _difference(line.criterion, first)
    if of > 1:
        said += f"; so at {len(line.deciding)} of {of} settings"
    said += _difference(line.criterion, first)
    if line.verdict != "undecided":
        return said
    doubts = dict.fromkeys(doubt for setting in line.deciding for doubt in setting.doubts)
    if doubts:
        return f"{said}; warned: {', '.join(doubts)}"
    if any(setting.unmeasured for setting in line.deciding):
        return f"{said}; some runs did not measure it"
    if len(first.subject.seeds) < 2:
        return f"{said}; one seed has no interval: more are needed"
    unended = next((setting for setting in line.deciding if setting.unended), None)
    if unended is not None:
        counts = [
            f"{len(each.unended)} of {len(each.seeds)} of {each.variant}"
            for each in unended.samples
            if each.unended
        ]
        return f"{said}; runs that ended before it did: {', '.join(counts)}"
    more = line.more_seeds
    if more is not None:
        return f"{said}; about {more} more seed{'' if more == 1 else 's'} would decide"
    return f"{said}; more seeds would not decide"
