//! What happens to packets on a link beside queueing, transmission and propagation.

use super::{Example, Key, Kind, key};

const AT: Key = key(
    "at",
    "where: \"sender\", \"router\" or \"receiver\"",
    Some("\"router\""),
);
const KIND: Key = key("kind", "may be left out: the other keys tell it", None);

/// Every impairment. The name begins with the key of the link; a loss has its kind behind it.
pub const IMPAIRMENTS: &[Kind] = &[
    Kind {
        name: "loss.random",
        summary: "independent losses",
        keys: &[KIND, key("rate", "the probability of a loss", None), AT],
        example: Example::Link("loss = { kind = \"random\", rate = \"1%\" }"),
    },
    Kind {
        name: "loss.gilbert-elliott",
        summary: "losses in bursts: a channel of two states",
        keys: &[
            KIND,
            key(
                "p",
                "the probability that the state turns bad behind a packet",
                None,
            ),
            key(
                "r",
                "the probability that the state turns good behind a packet",
                None,
            ),
            key(
                "good",
                "the probability of loss in the good state",
                Some("0"),
            ),
            key("bad", "the probability of loss in the bad state", Some("1")),
            AT,
        ],
        example: Example::Link("loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"30%\" }"),
    },
    Kind {
        name: "loss.packets",
        summary: "the loss of the n-th data packets that pass",
        keys: &[
            KIND,
            key("packets", "their numbers, counted from 1", None),
            key(
                "flow",
                "the flow whose packets count; else those of all",
                None,
            ),
            AT,
        ],
        example: Example::Link("loss = { kind = \"packets\", packets = [100, 101] }"),
    },
    Kind {
        name: "outage",
        summary: "a time in which every packet is lost",
        keys: &[
            key("start", "when it begins", None),
            key("duration", "how long it lasts", None),
            AT,
        ],
        example: Example::Link("outage = { start = \"4s\", duration = \"100ms\" }"),
    },
    Kind {
        name: "jitter",
        summary: "random extra delay",
        keys: &[
            key("max", "the largest extra delay", None),
            key(
                "distribution",
                "from zero to the largest: \"uniform\" or \"normal\"",
                Some("\"uniform\""),
            ),
            key(
                "reorder",
                "whether packets may overtake each other by it",
                Some("false"),
            ),
        ],
        example: Example::Link("jitter = { max = \"2ms\" }"),
    },
    Kind {
        name: "jitter.wifi",
        summary: "random extra delay as on a Wi-Fi network with many others around",
        keys: &[
            key("average", "the average that the model is asked for", None),
            key("distribution", "\"wifi\"", None),
            key(
                "reorder",
                "whether packets may overtake each other by it",
                Some("false"),
            ),
        ],
        example: Example::Link("jitter = { distribution = \"wifi\", average = \"7ms\" }"),
    },
    Kind {
        name: "slots",
        summary: "slots for which packets wait in order, as behind a link that aggregates them",
        keys: &[
            key(
                "every",
                "the time until a slot opens, or the shortest and the longest",
                None,
            ),
            key(
                "packets",
                "the most packets that one lets pass; else all that wait",
                None,
            ),
            key(
                "bytes",
                "the bytes, with link framing, by which one is used up; else as many as come",
                None,
            ),
        ],
        example: Example::Link("slots = { every = [\"0.8ms\", \"5ms\"], packets = 16 }"),
    },
    Kind {
        name: "reorder",
        summary: "packets that are held back, so that later ones overtake them",
        keys: &[
            key("probability", "the probability that a packet is", None),
            key("delay", "for how long", None),
        ],
        example: Example::Link("reorder = { probability = \"1%\", delay = \"10ms\" }"),
    },
    Kind {
        name: "duplicate",
        summary: "the probability that a packet arrives at the queue twice",
        keys: &[],
        example: Example::Link("duplicate = \"0.1%\""),
    },
    Kind {
        name: "corrupt",
        summary: "the probability that a packet is changed on the way and discarded at its end",
        keys: &[],
        example: Example::Link("corrupt = \"0.1%\""),
    },
    Kind {
        name: "remark",
        summary: "changes of the codepoint of ECN: \"bleach\", which clears it, or a table",
        keys: &[
            key(
                "not-ect",
                "what packets become that are not ECN-capable",
                None,
            ),
            key("ect1", "what ECT(1) becomes", None),
            key("ect0", "what ECT(0) becomes", None),
            key("ce", "what CE becomes", None),
            key(
                "probability",
                "the probability that a packet is changed",
                Some("1"),
            ),
            AT,
        ],
        example: Example::Link("remark = { ect1 = \"ect0\" }"),
    },
    Kind {
        name: "schedule",
        summary: "changes of rate, delay, loss, jitter or slots during the run",
        keys: &[
            key("at", "when", None),
            key("rate", "the new rate", None),
            key("delay", "the new one-way delay", None),
            key("loss", "the new probability of independent loss", None),
            key(
                "jitter",
                "the new largest extra delay, or the new average, of the link's jitter",
                None,
            ),
            key(
                "slots",
                "the new slots; none if they open every \"0s\"",
                None,
            ),
        ],
        example: Example::Link("schedule = { at = \"5s\", rate = \"5Mbit\" }"),
    },
    Kind {
        name: "schedule.when",
        summary: "the same changes as a flow's variant comes into a state, on the simulator",
        keys: &[
            key(
                "when",
                "the state: the `column` of the variant of a `flow` becomes what it `is`, the `nth` time",
                None,
            ),
            key("after", "how long after it", Some("\"0s\"")),
        ],
        example: Example::Link(
            "schedule = { when = { flow = \"flow1\", column = \"phase\", is = \"cubic\" }, rate = \"5Mbit\" }",
        ),
    },
    Kind {
        name: "trace",
        summary: "a file of delivery opportunities in Mahimahi's format instead of a rate",
        keys: &[],
        example: Example::Link("trace = \"cellular.up\""),
    },
    Kind {
        name: "reverse",
        summary: "a way back of its own: rate, delay, queue and impairments",
        keys: &[],
        example: Example::Link("reverse = { rate = \"1Mbit\" }"),
    },
];
