"""Where cclab and a judge differ, on which kinds, why, and which of them is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RUNS = ("simulator", "simulator unscaled", "kernel", "kernel unscaled")


@dataclass(frozen=True)
class Explanation:
    """Why some columns differ on some kinds."""

    judge: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    """All of them, and none on which the columns agree."""
    why: str
    right: Literal["cclab", "tcptrace", "tshark", "either"]
    """Who is; either, where it is a matter of what one wants to know."""
    theirs: Literal["more", "less", "other"] = "other"
    """What the judge's numbers are beside cclab's, in every case."""


def _kinds(family: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{family}/{name}" for name in names)


def _runs(*points: str, of: tuple[str, ...] = RUNS) -> tuple[str, ...]:
    return tuple(f"{run}/{point}" for run in of for point in points)


LINKS_AND_HEADERS = ("ipv6", "vlan", "qinq", "cooked", "raw", "snapped")
"""Of `capturing`: the same transfer in other frames."""

TCPTRACE = (
    Explanation(
        "tcptrace",
        ("connection",),
        _kinds("capturing", "qinq"),
        "it does not read frames with two VLAN tags",
        "cclab",
        "less",
    ),
    Explanation(
        "tcptrace",
        (
            "pure_acks",
            "data_packets",
            "total_bytes",
            "unique_bytes",
            "throughput_bps",
            "retransmitted_packets",
            "retransmitted_bytes",
            "duplicate_acks",
            "segment_min_bytes",
            "segment_max_bytes",
            "initial_window_bytes",
            "initial_window_packets",
            "outstanding_mean_bytes",
            "outstanding_max_bytes",
            "rtt_samples",
            "rtt_min_s",
            "rtt_mean_s",
            "rtt_max_s",
            "rtt_stdev_s",
        ),
        _kinds("capturing", "ipv6_extended"),
        "it takes the extension headers of IPv6 for payload of TCP, whereas the length in the IPv6 "
        "header counts them (RFC 8200 section 3)",
        "cclab",
    ),
    Explanation(
        "tcptrace",
        ("duplicate_acks",),
        (
            *_kinds(
                "transfers",
                "plain",
                "delayed_acks",
                "telnet",
                "requests",
                "both_ways",
                "offloaded",
                "timestamps",
                "at_the_receiver",
                "wrapped",
                "ecn",
                "urgent",
            ),
            *_kinds(
                "losses",
                "fast_retransmit",
                "sack",
                "many_sack_blocks",
                "duplicate_sack",
                "spurious",
                "timeout_with_backoff",
                "go_back",
                "reordering",
                "late_reordering",
                "loss_before_the_capture",
                "duplication",
                "longer_again",
                "shorter_again",
                "overlapping",
            ),
            *_kinds(
                "opening",
                "syn_again",
                "syn_ack_again",
                "crossing",
                "syn_ack_only",
                "reused",
                "reused_after_silence",
                "with_data",
            ),
            *_kinds("closing", "crossing", "half_closed", "fin_again", "reset_after_fin"),
            *_kinds(
                "windows",
                "scaled",
                "scaling_refused",
                "shift_of_zero",
                "updated",
                "updated_in_flight",
                "full",
                "closed_and_probed",
                "probed_as_linux_does",
                "probe_taken",
                "opened_while_retransmitting",
                "kept_alive",
                "kept_alive_with_a_byte",
            ),
            *_kinds(
                "capturing",
                "ipv6",
                "vlan",
                "cooked",
                "raw",
                "snapped",
                "missed_data",
                "missed_end",
                "missed_acks",
            ),
            *_runs("bottleneck", "receiver", of=("simulator unscaled",)),
            *_runs("bottleneck", "sender", "receiver", of=("kernel",)),
        ),
        "it counts every acknowledgement that repeats one: of a SYN by the first data, of a FIN by "
        "the other FIN, those that only move the window, answers to keep-alives and probes. In RFC "
        "5681 section 2 a duplicate comes while data are in flight, carries none, and repeats the "
        "window",
        "cclab",
        "more",
    ),
    Explanation(
        "tcptrace",
        ("window_min_bytes",),
        _kinds(
            "windows",
            "closed_and_probed",
            "probed_as_linux_does",
            "probe_taken",
            "opened_while_retransmitting",
        ),
        "it leaves windows of zero out; a window of zero is one (RFC 9293 section 3.8.6.1)",
        "cclab",
        "more",
    ),
    Explanation(
        "tcptrace",
        ("initial_window_bytes", "initial_window_packets"),
        _kinds("opening", "midstream"),
        "it takes what the capture begins with for what the connection began with; here the "
        "initial window is what follows a SYN (RFC 6928 section 2), and unknown without one",
        "cclab",
        "more",
    ),
    Explanation(
        "tcptrace",
        ("window_scale_announced",),
        ("opening/syn_ack_only", "windows/scaling_refused"),
        "it forgets what a SYN announced where the other end did not announce it as well; whether "
        "windows are scaled is another column here, `window_scaling`",
        "cclab",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("rtt_stdev_s",),
        _kinds("opening", "syn_again", "crossing", "syn_ack_only", "reused_after_silence"),
        "it takes the deviation of two samples for 0",
        "cclab",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("rtt_ambiguous",),
        _kinds("losses", "shorter_again"),
        "where a segment repeats parts of two, it notes the time of the first only, and counts the "
        "acknowledgement of the second under `post-loss acks`. It times nothing in either",
        "either",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("retransmitted_packets",),
        _kinds("closing", "fin_with_data_again"),
        "the FIN came again with data: one segment to it, a segment and a FIN here",
        "either",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("window_mean_bytes",),
        _kinds("closing", "reset_by_a", "reset_by_b", "reset_after_fin", "data_after_reset"),
        "it divides the sum of windows by all segments, RSTs too, whose windows it does not add: "
        "an RST has no window (RFC 9293 section 3.10.7.4 looks at none)",
        "cclab",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("outstanding_mean_bytes",),
        _kinds("opening", "midstream"),
        "before the first acknowledgement its number is what is in flight and not one more",
        "cclab",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("outstanding_mean_bytes",),
        _kinds("windows", "probed_as_linux_does"),
        "a probe that repeats the last number acknowledged counts as -1 in flight to it",
        "cclab",
        "less",
    ),
    Explanation(
        "tcptrace",
        ("outstanding_mean_bytes", "outstanding_max_bytes"),
        _kinds("capturing", "one_way_data", "one_way_acks"),
        "no acknowledgement was seen: it adds up all that was ever sent, SYN and FIN included; "
        "here it is the payload of the segment alone",
        "either",
        "more",
    ),
)

_GUESSED = _runs("bottleneck", "receiver")
"""Where retransmissions fill holes."""

TSHARK = (
    Explanation(
        "tshark",
        ("retransmitted_packets", "retransmitted_bytes", "out_of_order_packets"),
        (
            *_kinds("losses", "sack", "many_sack_blocks"),
            "capturing/one_way_data",
            *_runs("sender", of=("simulator", "simulator unscaled", "kernel")),
        ),
        "it takes a retransmission that follows the highest segment within the first round-trip "
        "time for reordering; but the same bytes were seen before. The sum of both counts is "
        "compared as well, and equal",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("retransmitted_packets", "retransmitted_bytes", "out_of_order_packets"),
        (*_kinds("losses", "late_reordering", "loss_before_the_capture"), *_GUESSED),
        "behind the place of the loss a retransmission looks as a late segment does. It guesses by "
        "time and duplicate acknowledgements; here new bytes below the highest are out of order, "
        "whatever they were. The sum of both counts is compared as well, and equal",
        "either",
    ),
    Explanation(
        "tshark",
        ("retransmitted_bytes",),
        _kinds("losses", "longer_again", "overlapping"),
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
        _kinds("windows", "opened_while_retransmitting"),
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
        _kinds("windows", "kept_alive_with_a_byte"),
        "the byte of a keep-alive was sent before (RFC 1122 section 4.2.3.6), so that it counts as "
        "a retransmission here and in tcptrace; tshark marks it as a keep-alive alone",
        "either",
        "less",
    ),
    Explanation(
        "tshark",
        ("duplicate_acks",),
        (
            *_kinds("losses", "spurious", "duplication"),
            *_runs("bottleneck", "receiver", of=("simulator unscaled",)),
        ),
        "it counts answers to data that had arrived before, although nothing is in flight (RFC "
        "5681 section 2, condition a)",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("duplicate_acks",),
        _kinds("capturing", "one_way_acks"),
        "the data were not captured, so that nothing is known to be in flight (RFC 5681 section "
        "2, condition a); it does not ask",
        "either",
        "more",
    ),
    Explanation(
        "tshark",
        ("window_scaling",),
        (*_kinds("capturing", "one_way_data", "one_way_acks"), "opening/refused"),
        "one SYN was seen, and it does not offer scaling: so there is none (RFC 7323 section 2.2)",
        "tshark",
    ),
    Explanation(
        "tshark",
        ("window_scaling", "window_mean_bytes", "window_max_bytes"),
        _kinds("opening", "syn_ack_only"),
        "a SYN that answers one offers scaling only if the other did (RFC 7323 section 2.2): the "
        "windows of its sender are scaled",
        "tshark",
    ),
    Explanation(
        "tshark",
        ("outstanding_max_bytes",),
        (
            *_kinds("losses", "late_reordering", "loss_before_the_capture"),
            "capturing/missed_data",
            *_runs("bottleneck", "sender", "receiver", of=("simulator", "kernel")),
            *_runs("bottleneck", "sender", "receiver", of=("kernel unscaled",)),
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
        _kinds("losses", "longer_again", "overlapping"),
        "retransmissions count, also where they carry new bytes; here and in tcptrace only "
        "segments that are all new",
        "tshark",
        "more",
    ),
    Explanation(
        "tshark",
        ("outstanding_max_bytes",),
        _kinds("capturing", "one_way_data", "one_way_acks"),
        "no acknowledgement was seen: it adds up all that was ever sent, and the SYN; here it is "
        "the payload of the segment alone",
        "either",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_mean_s"),
        (
            *_kinds(
                "losses",
                "fast_retransmit",
                "sack",
                "many_sack_blocks",
                "duplicate_sack",
                "spurious",
                "timeout_with_backoff",
                "go_back",
                "reordering",
                "late_reordering",
                "loss_before_the_capture",
                "duplication",
                "shorter_again",
            ),
            *_kinds("opening", "syn_again", "syn_ack_again", "crossing"),
            *_kinds("closing", "fin_again", "fin_with_data_again"),
            *_kinds("capturing", *LINKS_AND_HEADERS, "ipv6_extended"),
            *_runs("bottleneck"),
        ),
        "it times whatever is acknowledged, from when it was sent first or last; Karn's rule "
        "excludes what was sent again and what waited for it (RFC 6298 section 3)",
        "cclab",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_mean_s"),
        _kinds("windows", "probe_taken"),
        "the receiver took the byte of the probe, and its acknowledgement times it; what is sent "
        "into a closed window is not followed here, nor in tcptrace",
        "tshark",
    ),
    Explanation(
        "tshark",
        ("rtt_max_s",),
        (
            *_kinds(
                "losses",
                "fast_retransmit",
                "sack",
                "many_sack_blocks",
                "duplicate_sack",
                "timeout_with_backoff",
                "go_back",
                "loss_before_the_capture",
                "shorter_again",
            ),
            *_kinds("opening", "syn_again", "syn_ack_again", "crossing"),
            *_kinds("closing", "fin_again", "fin_with_data_again"),
            *_kinds("capturing", *LINKS_AND_HEADERS, "ipv6_extended"),
            *_runs("bottleneck"),
        ),
        "Karn's rule (RFC 6298 section 3): a repair takes longer than a round trip",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_min_s",),
        _kinds("opening", "crossing"),
        "Karn's rule (RFC 6298 section 3): the SYN that answers the other's repeats the first",
        "cclab",
        "less",
    ),
    Explanation(
        "tshark",
        ("rtt_samples",),
        _kinds("windows", "kept_alive_with_a_byte"),
        "it takes the byte of a keep-alive, which was sent before, for a sample",
        "cclab",
        "more",
    ),
    Explanation(
        "tshark",
        ("rtt_samples", "rtt_min_s", "rtt_mean_s", "rtt_max_s"),
        _runs("sender", "receiver"),
        "it shows no round-trip time of 0, which an answer at the same microsecond has; and Karn's "
        "rule (RFC 6298 section 3)",
        "cclab",
    ),
)

EXPLAINED = TCPTRACE + TSHARK
