//! CAKE: shaper, fair queueing of hosts and flows, and CoDel in one. Only kernels have it.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::declare::{DERIVED, flag, number};
use crate::discipline::Discipline;
use crate::tc::{Form, Kind, Marks, Tc, Unit};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "cake",
    version: 1,
    summary: "CAKE: a shaper with fair queueing of hosts and flows and CoDel, as in Linux",
    reference: "T. Høiland-Jørgensen et al., Piece of CAKE, LANMAN 2018; sch_cake of Linux",
    params: &[BANDWIDTH, RTT, OVERHEAD, MPU, SPLIT_GSO, ACK_FILTER],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_cake",
            symbol: "CONFIG_NET_SCH_CAKE",
        },
        kinds: &[Kind {
            name: "cake",
            limit: "memlimit",
            unit: Unit::Bytes,
            least: "",
        }],
        words: &[
            ("bandwidth", Form::Rate),
            ("rtt", Form::Time),
            ("overhead", Form::Count),
            ("mpu", Form::Count),
            ("split-gso", Form::Flag("split-gso", "no-split-gso")),
            ("ack-filter", Form::Flag("ack-filter", "no-ack-filter")),
        ],
        marks: Marks::Tins,
        ..Tc::PLAIN
    }),
    build: None,
};

/// Bounds and defaults are those of tc-cake(8).
const BANDWIDTH: Parameter = number(
    "bandwidth",
    Measure::Rate,
    "rate to shape to; unlimited unless given",
    DERIVED,
    [1.0, 1e12],
);
const RTT: Parameter = number(
    "rtt",
    Measure::Time,
    "round trip that its CoDel is set up for",
    0.1,
    [1e-6, 4293.0],
);
const OVERHEAD: Parameter = number(
    "overhead",
    Measure::Bytes,
    "bytes that the link adds to each packet",
    0.0,
    [0.0, 256.0],
);
const MPU: Parameter = number(
    "mpu",
    Measure::Bytes,
    "the least bytes that a packet counts for",
    0.0,
    [0.0, 256.0],
);
const SPLIT_GSO: Parameter = flag("split-gso", "split what the host merged", true);
const ACK_FILTER: Parameter = flag(
    "ack-filter",
    "drop acknowledgements that later ones make redundant",
    false,
);
