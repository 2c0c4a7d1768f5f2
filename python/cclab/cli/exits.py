"""What the exit codes of the command line mean."""

DONE = 0
EXPECTATION_FAILED = 1
WRONG_INPUT = 2
RUN_FAILED = 3
INTERRUPTED = 130

MEANINGS = {
    DONE: "done",
    EXPECTATION_FAILED: "an expectation or a check failed",
    WRONG_INPUT: "wrong input",
    RUN_FAILED: "a run failed, or what was to be written could not be",
    INTERRUPTED: "interrupted",
}
