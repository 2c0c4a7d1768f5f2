//! What writes to a flow.

use super::{Example, Key, Kind, key};

const CONSTANT: Key = key(
    "constant",
    "whether times are always the mean instead of exponentially distributed",
    Some("false"),
);

const PAYLOAD: Key = key(
    "payload",
    "bytes of payload of a full datagram, over UDP",
    Some("\"1200B\""),
);

const FRAME_RATE: Key = key("frame_rate", "frames per second", Some("30"));
const I_FRAME: Key = key(
    "i_frame",
    "bytes of a frame that needs no other",
    Some("\"60kB\""),
);
const P_FRAME: Key = key(
    "p_frame",
    "bytes of a frame that needs the one before it",
    Some("\"12kB\""),
);
const GROUP: Key = key(
    "group",
    "frames from one that needs no other to the next",
    Some("30"),
);
const DEADLINE: Key = key(
    "deadline",
    "how long after its making a frame is shown, if it is there",
    Some("\"150ms\""),
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
        name: "scheduled",
        summary: "as much as there is room for, a rate, or nothing, each from given times on",
        keys: &[key(
            "schedule",
            "changes: `at`, counted from the run's start, and `rate` from then on, of payload, \
                 \"0\" for a pause, or \"unlimited\"",
            None,
        )],
        example: Example::Flow(
            "application = { kind = \"scheduled\", schedule = { at = \"2s\", rate = \"0\" } }",
        ),
    },
    Kind {
        name: "frames",
        summary: "frames of audio or video, each written when it is made",
        keys: &[
            FRAME_RATE,
            I_FRAME,
            P_FRAME,
            GROUP,
            DEADLINE,
            key(
                "skip_after",
                "how long a frame waits to be sent until frames are left out",
                None,
            ),
        ],
        example: Example::Flow("application = { kind = \"frames\" }"),
    },
    Kind {
        name: "on-off",
        summary: "payload at a rate for a time, then none for a time; over TCP or UDP",
        keys: &[
            key("rate", "bits of payload per second while it is on", None),
            key("on", "mean time of writing", Some("\"500ms\"")),
            key("off", "mean time between", Some("\"500ms\"")),
            CONSTANT,
            // Over UDP: `payload`, which the kinds below list.
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
    Kind {
        name: "constant-rate",
        summary: "datagrams at equal distances, over UDP",
        keys: &[key("rate", "bits of payload per second", None), PAYLOAD],
        example: Example::Flow(
            "transport = \"udp\"\napplication = { kind = \"constant-rate\", rate = \"2Mbit\" }",
        ),
    },
    Kind {
        name: "video",
        summary: "frames of a video, each sent at once, over UDP",
        keys: &[FRAME_RATE, I_FRAME, P_FRAME, GROUP, DEADLINE, PAYLOAD],
        example: Example::Flow("transport = \"udp\"\napplication = { kind = \"video\" }"),
    },
];
