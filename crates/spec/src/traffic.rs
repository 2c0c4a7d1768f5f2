//! Kinds of cross traffic, with what each takes.

use cclab_units::Measure;
use cclab_units::parameter::Parameter;

/// A kind of cross traffic.
#[derive(Clone, Copy, Debug)]
pub struct TrafficKind {
    /// Its name in study files.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// What it takes beside the keys that all take.
    pub params: &'static [Parameter],
    /// Whether it is TCP, which takes `cc`.
    pub tcp: bool,
    /// Whether its transfers have sizes: `transfer` or `sizes`.
    pub sized: bool,
}

const fn parameter(
    name: &'static str,
    measure: Measure,
    meaning: &'static str,
    default: f64,
    [least, most]: [f64; 2],
) -> Parameter {
    Parameter {
        name,
        measure,
        meaning,
        default,
        least,
        most,
    }
}

/// A day: longer means are slips.
const DAY: f64 = 86_400.0;
/// What a 16-bit length holds.
const LARGEST_PACKET: f64 = 65_535.0;

const RATE: Parameter = parameter(
    "rate",
    Measure::Rate,
    "rate on a link; 0: the traffic is absent",
    f64::NAN,
    [0.0, 1e15],
);
const LOAD: Parameter = parameter(
    "load",
    Measure::Share,
    "instead of a rate: the share of the bottleneck's",
    f64::NAN,
    [0.0, 100.0],
);
const PACKET_SIZE: Parameter = parameter(
    "packet_size",
    Measure::Bytes,
    "bytes of a packet on a link, headers and framing included",
    1_000.0,
    [28.0, LARGEST_PACKET],
);
const CONSTANT: Parameter = parameter(
    "constant",
    Measure::Switch,
    "times are always the mean instead of exponentially distributed",
    0.0,
    [0.0, 1.0],
);
const CLIENTS: Parameter = parameter(
    "clients",
    Measure::Whole,
    "how many, each on its own",
    1.0,
    [1.0, 100_000.0],
);

/// Every kind.
pub const TRAFFIC_KINDS: &[TrafficKind] = &[
    TrafficKind {
        name: "constant-rate",
        summary: "datagrams at a constant rate",
        params: &[RATE, LOAD, PACKET_SIZE],
        tcp: false,
        sized: false,
    },
    TrafficKind {
        name: "on-off",
        summary: "datagrams at a constant rate for a time, then none for a time",
        params: &[
            RATE,
            LOAD,
            PACKET_SIZE,
            parameter(
                "on",
                Measure::Time,
                "mean time of sending",
                0.5,
                [1e-6, DAY],
            ),
            parameter("off", Measure::Time, "mean time between", 0.5, [0.0, DAY]),
            CONSTANT,
        ],
        tcp: false,
        sized: false,
    },
    TrafficKind {
        name: "random",
        summary: "small datagrams at random times, which break phase effects (Floyd and Jacobson 1992)",
        params: &[
            RATE,
            parameter(
                "load",
                Measure::Share,
                "instead of a rate: the share of the bottleneck's; 0.03 if neither is given",
                f64::NAN,
                [0.0, 100.0],
            ),
            parameter(
                "packet_size",
                Measure::Bytes,
                "bytes of a packet on a link, headers and framing included",
                64.0,
                [28.0, LARGEST_PACKET],
            ),
        ],
        tcp: false,
        sized: false,
    },
    TrafficKind {
        name: "ping-flood",
        summary: "echo requests as ping -f sends them, each when the last is answered, so at no fixed rate; and their replies",
        params: &[
            parameter(
                "payload",
                Measure::Bytes,
                "bytes of data in an echo request, as ping -s",
                56.0,
                [0.0, 65_000.0],
            ),
            parameter(
                "interval",
                Measure::Time,
                "time after which the next is sent without a reply to the last",
                0.01,
                [1e-6, DAY],
            ),
        ],
        tcp: false,
        sized: false,
    },
    TrafficKind {
        name: "poisson",
        summary: "TCP transfers that arrive as a Poisson process, each on a connection of its own",
        params: &[
            parameter(
                "flows_per_second",
                Measure::Number,
                "mean rate of arrivals; 0: the traffic is absent",
                f64::NAN,
                [0.0, 1e7],
            ),
            parameter(
                "load",
                Measure::Share,
                "instead of that: mean bytes arriving as a share of the bottleneck's rate",
                f64::NAN,
                [0.0, 100.0],
            ),
        ],
        tcp: true,
        sized: true,
    },
    TrafficKind {
        name: "request-response",
        summary: "clients that think, ask, and wait for the answer, over connections that stay",
        params: &[
            CLIENTS,
            parameter(
                "think",
                Measure::Time,
                "mean time before a request",
                1.0,
                [0.0, DAY],
            ),
            CONSTANT,
            parameter(
                "request",
                Measure::Bytes,
                "bytes of a request",
                400.0,
                [1.0, 1e9],
            ),
        ],
        tcp: true,
        sized: true,
    },
    TrafficKind {
        name: "telnet",
        summary: "people who type: a few bytes at random times over connections that stay",
        params: &[
            CLIENTS,
            parameter(
                "interval",
                Measure::Time,
                "mean time between keystrokes, exponentially distributed",
                0.5,
                [1e-6, DAY],
            ),
            parameter(
                "nagle",
                Measure::Switch,
                "short segments wait; TCP_NODELAY is its opposite",
                1.0,
                [0.0, 1.0],
            ),
        ],
        tcp: true,
        sized: false,
    },
];

/// The kind called `name`.
pub fn find(name: &str) -> Option<&'static TrafficKind> {
    TRAFFIC_KINDS.iter().find(|kind| kind.name == name)
}
