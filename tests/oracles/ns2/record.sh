#!/usr/bin/env bash
# Writes expected.jsonl anew. Needs ns (Debian package ns2).
set -euo pipefail
cd "$(dirname "$0")"
for variant in tahoe reno newreno sack; do
    # window, queue, segments per acknowledgement
    for scenario in "20 50 1" "1000 50 1" "1000 10 1" "1000 50 2"; do
        # shellcheck disable=SC2086  # three words on purpose
        ns one-flow.tcl "$variant" $scenario
    done
done >expected.jsonl
