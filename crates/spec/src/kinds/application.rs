//! What writes to a flow.

use super::{Example, Key, Kind, key};

const CONSTANT: Key = key(
    "constant",
    "whether times are always the mean instead of exponentially distributed",
    Some("false"),
);

/// Every application of flows.
pub const APPLICATIONS: &[Kind] = &[
    Kind {
        name: "bulk",
        summary: "everything at once, or as the flow's write_size and writes_per_second say",
        keys: &[],
        example: Example::Flow("application = \"bulk\""),
    },
    Kind {
        name: "on-off",
        summary: "payload at a rate for a time, then none for a time",
        keys: &[
            key("rate", "bits of payload per second while it is on", None),
            key("on", "mean time of writing", Some("\"500ms\"")),
            key("off", "mean time between", Some("\"500ms\"")),
            CONSTANT,
        ],
        example: Example::Flow("application = { kind = \"on-off\", rate = \"2Mbit\" }"),
    },
    Kind {
        name: "request-response",
        summary: "an answer, then, when all of it has arrived, a pause, then the next",
        keys: &[
            key("response", "bytes of an answer", None),
            key(
                "think",
                "mean time between an answer and the next request",
                Some("\"1s\""),
            ),
            CONSTANT,
        ],
        example: Example::Flow(
            "application = { kind = \"request-response\", response = \"10kB\" }",
        ),
    },
    Kind {
        name: "telnet",
        summary: "someone who types: a few bytes at random times",
        keys: &[
            key(
                "interval",
                "mean time between keystrokes, exponentially distributed",
                Some("\"500ms\""),
            ),
            key(
                "nagle",
                "whether short segments wait while data is outstanding",
                Some("true"),
            ),
        ],
        example: Example::Flow("application = { kind = \"telnet\" }"),
    },
];
