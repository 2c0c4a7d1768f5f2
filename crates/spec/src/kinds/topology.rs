//! How hosts and routers are joined.

use super::{Example, Kind, key};

/// Every topology.
pub const TOPOLOGIES: &[Kind] = &[
    Kind {
        name: "chain",
        summary: "source, router, router, sink: everything shares the access links and the bottleneck",
        keys: &[],
        example: Example::Network("topology = \"chain\""),
    },
    Kind {
        name: "dumbbell",
        summary: "host, router, router, host: each flow and each traffic has hosts of its own",
        keys: &[],
        example: Example::Network("topology = \"dumbbell\""),
    },
    Kind {
        name: "parking-lot",
        summary: "equal bottlenecks in a row; each flow crosses those that its `crosses` says",
        keys: &[key(
            "bottlenecks",
            "how many bottlenecks there are",
            Some("3"),
        )],
        example: Example::Network("topology = \"parking-lot\""),
    },
    Kind {
        name: "graph",
        summary: "nodes and links as listed; flows run from a node to a node over the least delay",
        keys: &[
            key("link", "the links, one [[network.link]] each", None),
            key(
                "bottleneck_link",
                "the name of the link under study, unless one has bottleneck = true",
                None,
            ),
            key(
                "routing",
                "\"shortest\" or \"ecmp\": whether all take the same of several shortest ways",
                Some("\"shortest\""),
            ),
        ],
        example: Example::Network(
            "topology = \"graph\"\n[[network.link]]\nfrom = \"a\"\nto = \"b\"\n\
             rate = \"10Mbit\"\nbottleneck = true",
        ),
    },
];
