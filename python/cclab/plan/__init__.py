"""A study, and the plan of its runs.

study       a study as it was read from its file
plan        every run of a study, with its seed and content hash
runs        what a run is, and those of a sweep point
sharing     scenarios that are much alike, read into little memory
companions  the runs that a plan needs beside its own
measures    what the expressions of a study are computed from
changes     the keys in which two scenarios differ
ready       studies that come with cclab
"""

from cclab.plan.plan import (
    SCHEMA,
    Expectation,
    Measure,
    Named,
    Plan,
    Point,
    Until,
    in_words,
    short_key,
    text,
)
from cclab.plan.runs import Run

__all__ = [
    "SCHEMA",
    "Expectation",
    "Measure",
    "Named",
    "Plan",
    "Point",
    "Run",
    "Until",
    "in_words",
    "short_key",
    "text",
]
