//! How receivers behave.

use super::{Example, Kind, key};

const fn kind(name: &'static str, summary: &'static str, example: &'static str) -> Kind {
    Kind {
        name,
        summary,
        keys: &[],
        example: Example::Flow(example),
    }
}

/// Every behaviour of receivers.
pub const RECEIVERS: &[Kind] = &[
    kind(
        "honest",
        "acknowledges what came, as the stack does",
        "receiver = \"honest\"",
    ),
    Kind {
        keys: &[key(
            "pieces",
            "acknowledgements for each full segment, 2 to 100",
            Some("4"),
        )],
        ..kind(
            "ack-division",
            "acknowledges each segment in several steps",
            "receiver = { kind = \"ack-division\" }",
        )
    },
    Kind {
        keys: &[key("copies", "copies of each, 1 to 100", Some("3"))],
        ..kind(
            "duplicate-acks",
            "sends copies of each acknowledgement",
            "receiver = { kind = \"duplicate-acks\" }",
        )
    },
    Kind {
        keys: &[key(
            "ahead",
            "full segments beyond those that came, 1 to 10000",
            Some("4"),
        )],
        ..kind(
            "optimistic-acks",
            "acknowledges what has not come yet; what is lost stays lost",
            "receiver = { kind = \"optimistic-acks\" }",
        )
    },
    kind(
        "loss-concealment",
        "acknowledges gaps as if they had come; what is lost stays lost",
        "receiver = \"loss-concealment\"",
    ),
    kind(
        "mark-concealment",
        "takes marked segments for unmarked ones",
        "receiver = \"mark-concealment\"",
    ),
    kind(
        "mark-exaggeration",
        "takes all segments for marked ones",
        "receiver = \"mark-exaggeration\"",
    ),
];
