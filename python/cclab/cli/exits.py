"""What the exit codes of the command line mean."""

DONE = 0
EXPECTATION_FAILED = 1
WRONG_INPUT = 2
RUN_FAILED = 3
INTERRUPTED = 130
