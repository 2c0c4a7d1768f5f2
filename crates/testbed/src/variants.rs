//! The variants of Linux 6.12.

/// A variant that the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name that the kernel and studies give it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it is defined.
    pub reference: &'static str,
}

const fn variant(name: &'static str, summary: &'static str, reference: &'static str) -> Variant {
    Variant {
        name,
        summary,
        reference,
    }
}

/// Every one of them.
pub const VARIANTS: [Variant; 17] = [
    variant(
        "reno",
        "AIMD; fast recovery ends at the first new ACK",
        "RFC 2581, RFC 5681",
    ),
    variant(
        "bic",
        "Binary search for the window of the last loss",
        "L. Xu, K. Harfoush, I. Rhee, BIC-TCP, INFOCOM 2004",
    ),
    variant(
        "cubic",
        "A cubic of the time since the last loss; the default of most systems",
        "RFC 9438",
    ),
    variant(
        "westwood",
        "Reno whose threshold after a loss is the bandwidth estimated times the smallest RTT",
        "C. Casetti et al., TCP Westwood, MobiCom 2001",
    ),
    variant(
        "highspeed",
        "AIMD whose steps grow and whose cuts shrink with the window",
        "RFC 3649",
    ),
    variant(
        "htcp",
        "AIMD whose steps grow with the time since the last loss",
        "D. Leith, R. Shorten, H-TCP, PFLDnet 2004",
    ),
    variant(
        "hybla",
        "Reno as a flow of 25 ms would have it, whatever the RTT",
        "C. Caini, R. Firrincieli, TCP Hybla, IJSCN 2004",
    ),
    variant(
        "vegas",
        "Holds two to four segments in the queue, by the RTT's growth over its minimum",
        "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 1995",
    ),
    variant(
        "nv",
        "Vegas for data centres, by the delivery rate instead of the window",
        "L. Brakmo, TCP-NV, 2010; net/ipv4/tcp_nv.c",
    ),
    variant(
        "scalable",
        "Multiplicative increase and decrease by fixed shares",
        "T. Kelly, Scalable TCP, ACM CCR 2003",
    ),
    variant(
        "lp",
        "Yields to all others as soon as delay grows",
        "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003",
    ),
    variant(
        "veno",
        "Reno that cuts less when Vegas' estimate says that a loss was random",
        "C. Fu, S. Liew, TCP Veno, IEEE JSAC 2003",
    ),
    variant(
        "yeah",
        "Scalable while the queue is short, Reno when it is not",
        "A. Baiocchi et al., YeAH-TCP, PFLDnet 2007",
    ),
    variant(
        "illinois",
        "AIMD whose steps and cuts follow the queueing delay",
        "S. Liu, T. Basar, R. Srikant, TCP-Illinois, VALUETOOLS 2006",
    ),
    variant(
        "dctcp",
        "Cuts by the share of marked packets; needs queues that mark",
        "RFC 8257",
    ),
    variant(
        "cdg",
        "Backs off by the gradient of delay, at random",
        "D. Hayes, G. Armitage, CAIA Delay-Gradient, NETWORKING 2011",
    ),
    variant(
        "bbr",
        "Paces at the bottleneck's estimated rate (version 1)",
        "N. Cardwell et al., BBR, ACM Queue 2016; net/ipv4/tcp_bbr.c",
    ),
];
