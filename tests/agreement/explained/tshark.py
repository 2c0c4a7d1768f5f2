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
        (
            "retransmitted_packets",
            "retransmitted_bytes",
            "out_of_order_packets",
            "segments.kind with payload",
        ),
        (
            *kinds("losses", "sack", "many_sack_blocks"),
            "capturing/one_way_data",
            *runs("sender"),
        ),
        "it takes a retransmission that follows the highest segment within the first round-trip "
        "time for reordering; but the same bytes were seen before. The sum of both counts is "
        "compared as well, and equal",
        "cclab",
    ),
    Explanation(
        "tshark",
        (
            "retransmitted_packets",
            "retransmitted_bytes",
            "out_of_order_packets",
            "segments.kind with payload",
        ),
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
        ("duplicate_acks", "segments.kind without"),
        (
            *kinds("losses", "spurious", "duplication"),
            *kinds("opening", "syn_ack_after_data", "syn_ack_late", "syn_late"),
            *kinds("capturing", "twice", "missed_and_again"),
            *runs(),
        ),
        "it counts answers to data that had arrived before, although nothing is in flight (RFC "
        "5681 section 2, condition a)",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("window_scaling",),
        (
            *kinds("opening", "unanswered", "refused", "syn_ack_only"),
            *kinds("capturing", "one_way_data", "one_way_acks"),
        ),
        "it tells of an end that sends nothing but a SYN or nothing at all only that it does not "
        "know. One SYN without the option is enough to know that there is no scaling, and a SYN "
        "that answers one and has it, that there is (RFC 7323 section 2.2)",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("window_probes", "keep_alives", "segments.kind without"),
        kinds("windows", "probed_as_linux_does"),
        "probes without data look as keep-alives do; but the window is closed",
        "cclab",
    ),
    Explanation(
        "tshark",
        (
            "retransmitted_packets",
            "retransmitted_bytes",
            "spurious_retransmits",
            "out_of_order_packets",
            "segments.kind with payload",
        ),
        kinds("capturing", "missed_and_again"),
        "data that come after their acknowledgement are sent again to it, although the first time "
        "was not captured. Here only those that were: captures of several queues often have "
        "acknowledgements before the data",
        "either",
    ),
    Explanation(
        "tshark",
        ("window_scaling",),
        kinds("windows", "scaled_and_silent"),
        "of an end that sends nothing after its SYN it does not tell whether windows are scaled",
        "cclab",
    ),
    Explanation(
        "tshark",
        (
            "keep_alives",
            "retransmitted_packets",
            "retransmitted_bytes",
            "retransmitted_packets + out_of_order_packets",
            "segments.kind with payload",
        ),
        kinds("losses", "one_byte_again"),
        "one byte that was sent before is a keep-alive to it; but the byte was not acknowledged, "
        "and a keep-alive is sent only when nothing is in flight (RFC 9293 section 3.8.4)",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("window_scaling", "window_min_bytes", "window_mean_bytes", "segments.window_bytes"),
        kinds("opening", "answer_missed"),
        "it scales the windows of an end that offered to, without knowing of the answer; here they "
        "are as the header has them, and `window_scaling` tells that this is not known",
        "either",
    ),
    Explanation(
        "tshark",
        ("zero_windows",),
        kinds("windows", "closed_at_the_end"),
        "a FIN has a window as well",
        "cclab",
        "less",
    ),
    Explanation(
        "tshark",
        ("handshake_rtt_s",),
        (
            *kinds("opening", "syn_again", "syn_ack_again", "syn_ack_after_data", "syn_ack_late"),
            *kinds("opening", "syn_late", "crossing"),
            *kinds("capturing", "twice"),
        ),
        "which of two SYNs was answered is not known (Karn's rule, RFC 6298 section 3): none here",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("handshake_rtt_s",),
        (*kinds("opening", "refused", "answer_missed"), *kinds("capturing", "one_way_data")),
        "it takes an RST, or an acknowledgement of a SYN that was not seen, for the end of the "
        "handshake",
        "either",
    ),
    Explanation(
        "tshark",
        ("end",),
        kinds("closing", "fin_unanswered"),
        "one FIN is enough for it; here and in tcptrace a connection is complete when both ends "
        "have closed (RFC 9293 section 3.6)",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("missed_bytes",),
        (
            *kinds("losses", "reordering", "late_reordering", "loss_before_the_capture"),
            *kinds("losses", "hole_across_a_quarter"),
            *kinds("capturing", "missed_and_again"),
            *runs("bottleneck", "receiver"),
        ),
        "it tells of a hole when it appears; here a hole that is filled later was none",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("missed_bytes",),
        (*kinds("losses", "longer_again", "overlapping"), *kinds("windows", "probe_taken")),
        "it does not take in the new bytes of a retransmission or of a probe, and then misses them",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("segments.outstanding_bytes",),
        (
            *kinds("losses", "limited_transmit", "late_reordering", "loss_before_the_capture"),
            *kinds("losses", "duplicate_sack"),
            *runs(),
        ),
        "it takes off what SACK blocks cover, D-SACKs too, and begins anew at a hole; here it is "
        "from the acknowledgement to the highest byte",
        "either",
    ),
    Explanation(
        "tshark",
        ("segments.outstanding_bytes",),
        (*kinds("capturing", "one_way_data", "one_way_acks"), "opening/answer_missed"),
        "where no acknowledgement was seen, it counts the SYN among the bytes in flight",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("outstanding_max_bytes",),
        (
            *kinds("losses", "limited_transmit", "late_reordering", "loss_before_the_capture"),
            *kinds("losses", "hole_across_a_quarter"),
            *kinds("capturing", "missed_data", "missed_and_again"),
            *runs(),
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
        ("capturing/one_way_acks", "opening/answer_missed"),
        "where no acknowledgement was seen, it counts the SYN among the bytes in flight",
        "cclab",
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
                "hole_across_a_quarter",
                "first_lost",
                "one_byte_again",
                "duplication",
                "shorter_again",
            ),
            *kinds("opening", "syn_again", "syn_ack_again", "syn_ack_after_data", "crossing"),
            *kinds("closing", "fin_again", "fin_with_data_again"),
            *kinds("windows", "opened_while_retransmitting"),
            *kinds("capturing", *LINKS_AND_HEADERS, "ipv6_extended", "twice"),
            *runs("bottleneck"),
        ),
        "it times whatever is acknowledged, from when it was sent first or last; Karn's rule "
        "excludes what was sent again and what waited for it (RFC 6298 section 3)",
        "cclab",
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
                "first_lost",
                "one_byte_again",
                "shorter_again",
            ),
            *kinds("opening", "syn_again", "syn_ack_again", "syn_ack_after_data", "crossing"),
            *kinds("closing", "fin_again", "fin_with_data_again"),
            *kinds("windows", "opened_while_retransmitting"),
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
        ("rtt_min_s",),
        kinds("opening", "crossing"),
        "Karn's rule (RFC 6298 section 3): the SYN that answers the other's repeats the first",
        "cclab",
        "less",
    ),
    Explanation(
        "tshark",
        ("rtt_samples",),
        ("windows/kept_alive_with_a_byte", "opening/syn_ack_late"),
        "it takes the second acknowledgement of the same for a sample: of the byte of a "
        "keep-alive, of a SYN",
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
