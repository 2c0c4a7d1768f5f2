"""Where cclab and tshark differ."""

from __future__ import annotations

from agreement.explained.explanation import Explanation, kinds, runs

LINKS_AND_HEADERS = (
    "ipv6",
    "vlan",
    "qinq",
    "cooked",
    "cooked_2",
    "raw",
    "loopback",
    "pppoe",
    "ipv4_options",
    "snapped",
)
"""Of `capturing`: the same transfer in other frames."""

_GUESSED = runs("bottleneck", "receiver")
"""Where retransmissions fill holes."""

EXPLAINED = (
    Explanation(
        "tshark",
        ("retransmitted_packets", "retransmitted_bytes", "out_of_order_packets"),
        (
            *kinds("losses", "sack", "many_sack_blocks"),
            "capturing/one_way_data",
            *runs("sender", of=("simulator", "simulator unscaled", "kernel")),
        ),
        "it takes a retransmission that follows the highest segment within the first round-trip "
        "time for reordering; but the same bytes were seen before. The sum of both counts is "
        "compared as well, and equal",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("retransmitted_packets", "retransmitted_bytes", "out_of_order_packets"),
        (*kinds("losses", "late_reordering", "loss_before_the_capture"), *_GUESSED),
        "behind the place of the loss a retransmission looks as a late segment does. It guesses by "
        "time and duplicate acknowledgements; here new bytes below the highest are out of order, "
        "whatever they were. The sum of both counts is compared as well, and equal",
        "either",
    ),
    Explanation(
        "tshark",
        ("retransmitted_bytes",),
        kinds("losses", "longer_again", "overlapping"),
        "the retransmission carries new bytes too, which are not repeated; the sum of `tcp.len` "
        "has them",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        (
            "retransmitted_packets",
            "retransmitted_bytes",
            "retransmitted_packets + out_of_order_packets",
            "window_probes",
        ),
        kinds("windows", "opened_while_retransmitting"),
        "data sent again into a closed window are retransmissions to it; here whatever goes into a "
        "window of zero probes it, as in tcptrace",
        "either",
    ),
    Explanation(
        "tshark",
        (
            "retransmitted_packets",
            "retransmitted_bytes",
            "retransmitted_packets + out_of_order_packets",
        ),
        kinds("windows", "kept_alive_with_a_byte"),
        "the byte of a keep-alive was sent before (RFC 1122 section 4.2.3.6), so that it counts as "
        "a retransmission here and in tcptrace; tshark marks it as a keep-alive alone",
        "either",
        "less",
    ),
    Explanation(
        "tshark",
        ("duplicate_acks",),
        (
            *kinds("losses", "spurious", "duplication"),
            "capturing/twice",
            *runs("bottleneck", "receiver", of=("simulator unscaled",)),
        ),
        "it counts answers to data that had arrived before, although nothing is in flight (RFC "
        "5681 section 2, condition a)",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("duplicate_acks",),
        kinds("capturing", "one_way_acks"),
        "the data were not captured, so that nothing is known to be in flight (RFC 5681 section "
        "2, condition a); it does not ask",
        "either",
        "more",
    ),
    Explanation(
        "tshark",
        ("window_scaling",),
        (*kinds("capturing", "one_way_data", "one_way_acks"), "opening/refused"),
        "one SYN was seen, and it does not offer scaling: so there is none (RFC 7323 section 2.2)",
        "tshark",
    ),
    Explanation(
        "tshark",
        ("window_scaling", "window_mean_bytes", "window_max_bytes"),
        kinds("opening", "syn_ack_only"),
        "a SYN that answers one offers scaling only if the other did (RFC 7323 section 2.2): the "
        "windows of its sender are scaled",
        "tshark",
    ),
    Explanation(
        "tshark",
        ("outstanding_max_bytes",),
        (
            *kinds("losses", "limited_transmit", "late_reordering", "loss_before_the_capture"),
            "capturing/missed_data",
            *runs("bottleneck", "sender", "receiver", of=("simulator", "kernel")),
            *runs("bottleneck", "sender", "receiver", of=("kernel unscaled",)),
        ),
        "it adds up the segments that it saw and that no acknowledgement or SACK block covers, and "
        "gives up at a hole; here it is from the acknowledgement to the highest byte, as in "
        "tcptrace",
        "either",
        "less",
    ),
    Explanation(
        "tshark",
        ("outstanding_max_bytes",),
        kinds("losses", "longer_again", "overlapping"),
        "retransmissions count, also where they carry new bytes; here and in tcptrace only "
        "segments that are all new",
        "tshark",
        "more",
    ),
    Explanation(
        "tshark",
        ("outstanding_max_bytes",),
        kinds("capturing", "one_way_data", "one_way_acks"),
        "no acknowledgement was seen: it adds up all that was ever sent, and the SYN; here it is "
        "the payload of the segment alone",
        "either",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_mean_s"),
        (
            *kinds(
                "losses",
                "fast_retransmit",
                "sack",
                "many_sack_blocks",
                "duplicate_sack",
                "spurious",
                "timeout_with_backoff",
                "tail_loss_probe",
                "lost_again",
                "too_early",
                "limited_transmit",
                "go_back",
                "reordering",
                "late_reordering",
                "loss_before_the_capture",
                "duplication",
                "shorter_again",
            ),
            *kinds("opening", "syn_again", "syn_ack_again", "crossing"),
            *kinds("closing", "fin_again", "fin_with_data_again"),
            *kinds("capturing", *LINKS_AND_HEADERS, "ipv6_extended", "twice"),
            *runs("bottleneck"),
        ),
        "it times whatever is acknowledged, from when it was sent first or last; Karn's rule "
        "excludes what was sent again and what waited for it (RFC 6298 section 3)",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_mean_s"),
        kinds("windows", "probe_taken"),
        "the receiver took the byte of the probe, and its acknowledgement times it; what is sent "
        "into a closed window is not followed here, nor in tcptrace",
        "tshark",
    ),
    Explanation(
        "tshark",
        ("rtt_max_s",),
        (
            *kinds(
                "losses",
                "fast_retransmit",
                "sack",
                "many_sack_blocks",
                "duplicate_sack",
                "timeout_with_backoff",
                "tail_loss_probe",
                "lost_again",
                "too_early",
                "limited_transmit",
                "go_back",
                "loss_before_the_capture",
                "shorter_again",
            ),
            *kinds("opening", "syn_again", "syn_ack_again", "crossing"),
            *kinds("closing", "fin_again", "fin_with_data_again"),
            *kinds("capturing", *LINKS_AND_HEADERS, "ipv6_extended", "twice"),
            *runs("bottleneck"),
        ),
        "Karn's rule (RFC 6298 section 3): a repair takes longer than a round trip",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_min_s",),
        kinds("capturing", "twice"),
        "Karn's rule (RFC 6298 section 3): each segment was seen twice, and none times anything",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_mean_s", "rtt_max_s"),
        kinds("losses", "inside_segments"),
        "it times a segment of which a part had been acknowledged before; here and in tcptrace an "
        "acknowledgement that ends inside of a segment ends its timing",
        "either",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_min_s",),
        kinds("opening", "crossing"),
        "Karn's rule (RFC 6298 section 3): the SYN that answers the other's repeats the first",
        "cclab",
        "less",
    ),
    Explanation(
        "tshark",
        ("rtt_samples",),
        kinds("windows", "kept_alive_with_a_byte"),
        "it takes the byte of a keep-alive, which was sent before, for a sample",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_min_s", "rtt_mean_s", "rtt_max_s"),
        runs("sender", "receiver"),
        "it shows no round-trip time of 0, which an answer at the same microsecond has; and Karn's "
        "rule (RFC 6298 section 3)",
        "cclab",
    ),
)
