//! The ring of a real kernel, against what the same kernel printed of it as text.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cclab_testbed::records::EventFormats;

use crate::error::HarvestError;
use crate::event::{Ack, AtQueue, Decoder, Ends, Event, Lost, Taken};
use crate::ring::{PageFormat, Ring, for_each};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn formats() -> EventFormats {
    let text = std::fs::read_to_string(data("events.json")).expect("test data");
    serde_json::from_str(&text).expect("formats")
}

fn pages(formats: &EventFormats) -> PageFormat {
    PageFormat::new(formats.page_size, &formats.header_page).expect("a page's header")
}

/// Times, in microseconds as the kernel prints them, and events of the ring at `path`.
fn decode(path: &Path, formats: &EventFormats) -> Vec<(u64, Event)> {
    let ring = Ring::open(path, pages(formats)).expect("a whole ring");
    let decoder = Decoder::new(formats).expect("known formats");
    let mut events = Vec::new();
    for_each([&ring], |_, time, data| {
        if let Some(event) = decoder.event(data)? {
            events.push((time / 1000, event));
        }
        Ok(())
    })
    .expect("a whole ring");
    events
}

/// A line of the kernel's text.
struct Line<'a> {
    time: u64,
    name: &'a str,
    values: HashMap<&'a str, &'a str>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Line<'a> {
        let mut words = line.split(' ');
        let time: f64 = words.next().expect("a time").parse().expect("seconds");
        Line {
            time: (time * 1e6).round() as u64,
            name: words.next().expect("a name"),
            values: words.filter_map(|word| word.split_once('=')).collect(),
        }
    }

    fn number(&self, key: &str) -> u64 {
        let text = self.values[key];
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        parsed.unwrap_or_else(|e| panic!("{key}={text}: {e}"))
    }

    fn word(&self, key: &str) -> u32 {
        self.number(key) as u32
    }

    /// `src=10.0.0.1:5001 dest=...`, or addresses and ports apart.
    fn ends(&self) -> Ends {
        let (source, destination) = match self.values.get("src") {
            Some(source) => (*source, self.values["dest"]),
            None => (self.values["saddr"], self.values["daddr"]),
        };
        let split = |text: &str, key: &str| match text.split_once(':') {
            Some((address, port)) => (
                address.parse().expect("an address"),
                port.parse().expect("a port"),
            ),
            None => (text.parse().expect("an address"), self.number(key) as u16),
        };
        let (source, source_port) = split(source, "sport");
        let (destination, destination_port) = split(destination, "dport");
        Ends {
            source,
            destination,
            source_port,
            destination_port,
        }
    }

    /// The state of TCP that the text names.
    fn state(&self, key: &str) -> u8 {
        const NAMES: [&str; 12] = [
            "TCP_ESTABLISHED",
            "TCP_SYN_SENT",
            "TCP_SYN_RECV",
            "TCP_FIN_WAIT1",
            "TCP_FIN_WAIT2",
            "TCP_TIME_WAIT",
            "TCP_CLOSE",
            "TCP_CLOSE_WAIT",
            "TCP_LAST_ACK",
            "TCP_LISTEN",
            "TCP_CLOSING",
            "TCP_NEW_SYN_RECV",
        ];
        let name = self.values[key];
        let found = NAMES.iter().position(|known| *known == name);
        found.expect("a state of TCP") as u8 + 1
    }

    fn event(&self) -> Event {
        let ends = self.ends();
        let at_queue = || AtQueue {
            sojourn: self.number("sojourn"),
            handle: self.word("handle"),
            len: self.word("len"),
            backlog: self.word("backlog"),
            ends,
        };
        match self.name {
            "tcp_cong_state_set" => Event::Congestion(ends, self.number("cong_state") as u8),
            "tcp_retransmit_skb" => Event::Retransmit(ends, self.state("state")),
            "inet_sock_set_state" => Event::State(ends, self.state("newstate")),
            "packet_queued" => Event::Queued(at_queue()),
            "packet_dequeued" => Event::Dequeued(at_queue()),
            "packet_lost" => Event::Lost(Lost {
                netns: self.word("netns"),
                ifindex: self.word("ifindex"),
                len: self.word("len"),
                seq: self.word("seq"),
                payload: self.word("payload"),
                in_netfilter: self.number("in_netfilter") != 0,
                queued: self.number("queued") != 0,
                ends,
            }),
            name => Event::Ack(Ack {
                ends,
                snd_una: self.word("snd_una"),
                snd_nxt: self.word("snd_nxt"),
                cwnd: self.word("snd_cwnd"),
                ssthresh: self.word("ssthresh"),
                rwnd: self.word("snd_wnd"),
                srtt_us: self.word("srtt"),
                taken: (name == "tcp_ack_taken").then(|| Taken {
                    prior_una: self.word("prior_una"),
                    mss: self.word("mss"),
                    in_flight: self.word("packets_in_flight"),
                    rtt_us: self.values["rtt"].parse().expect("a number"),
                    rto_us: self.word("rto"),
                    delivered: self.word("delivered"),
                    interval_us: self.word("interval"),
                    pacing_rate: None, // the kernel of these records did not tell
                    ca_state: self.number("ca_state") as u8,
                }),
            }),
        }
    }
}

/// What the kernel printed, without the events called `unless`.
fn printed(unless: &str) -> Vec<(u64, Event)> {
    let text = std::fs::read_to_string(data("events.txt")).expect("test data");
    let lines = text.lines().map(Line::parse);
    lines
        .filter(|line| line.name != unless)
        .map(|line| (line.time, line.event()))
        .collect()
}

fn assert_same(decoded: &[(u64, Event)], printed: &[(u64, Event)]) {
    for (index, (ours, theirs)) in decoded.iter().zip(printed).enumerate() {
        // The kernel rounds to the nearest microsecond.
        assert!(
            ours.0.abs_diff(theirs.0) <= 1,
            "{index}: {ours:?} {theirs:?}"
        );
        assert_eq!(ours.1, theirs.1, "event {index}");
    }
    assert_eq!(decoded.len(), printed.len());
}

#[test]
fn every_event_of_a_real_ring_is_what_the_kernel_printed() {
    let decoded = decode(&data("events.ring"), &formats());
    assert!(decoded.len() > 300);
    assert_same(&decoded, &printed("tcp_probe"));
}

#[test]
fn a_kernel_without_the_patches_still_tells_what_tcp_probe_does() {
    let mut formats = formats();
    formats
        .events
        .retain(|text| !text.contains("tcp_ack_taken"));
    let decoded = decode(&data("events.ring"), &formats);
    assert!(
        decoded
            .iter()
            .any(|(_, event)| matches!(event, Event::Ack(_)))
    );
    assert_same(&decoded, &printed("tcp_ack_taken"));
}

#[test]
fn an_event_that_lacks_a_field_it_needs_is_an_error_with_both_names() {
    let mut formats = formats();
    for text in &mut formats.events {
        *text = text.replace("prior_una;", "earlier_una;");
    }
    let fault = Decoder::new(&formats).expect_err("no prior_una");
    assert_eq!(fault, "event tcp_ack_taken has no field prior_una");
}

#[test]
fn pages_of_two_processors_are_merged_in_the_order_of_time() {
    let formats = formats();
    let whole = std::fs::read(data("events.ring")).expect("test data");
    let half = whole.len() / formats.page_size / 2 * formats.page_size;
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    // The second half first: as if another processor had been drained before.
    std::fs::write(file.path(), [&whole[half..], &whole[..half]].concat()).expect("room");
    let swapped = decode(file.path(), &formats);
    assert!(swapped.is_sorted_by_key(|(time, _)| *time));
    // Events of one instant may come in another order.
    let sorted = |mut events: Vec<(u64, Event)>| {
        events.sort_by_cached_key(|event| format!("{event:?}"));
        events
    };
    let straight = decode(&data("events.ring"), &formats);
    assert!(sorted(swapped) == sorted(straight), "events differ");
}

#[test]
fn rings_of_two_kernels_are_merged_in_the_order_of_time() {
    let formats = formats();
    let rings = [0, 1].map(|_| Ring::open(&data("events.ring"), pages(&formats)).expect("a ring"));
    let mut found = Vec::new();
    for_each(&rings, |number, time, _| {
        found.push((time, number));
        Ok(())
    })
    .expect("two good rings");
    assert!(found.is_sorted());
    let of = |which: usize| found.iter().filter(|(_, number)| *number == which).count();
    assert!(of(0) > 100);
    assert_eq!(of(0), of(1));
}

#[test]
fn a_page_that_says_that_events_were_lost_fails_the_run() {
    let formats = formats();
    let mut whole = std::fs::read(data("events.ring")).expect("test data");
    // Bit 31 of the count in the second page's header.
    whole[formats.page_size + 8 + 3] |= 0x80;
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), whole).expect("room");
    let fault = Ring::open(file.path(), pages(&formats)).expect_err("a hole");
    assert!(matches!(fault, HarvestError::EventsLost(None)), "{fault}");
}

/// Rings as memory and disks may mangle them: an error or some events, never a panic, and never
/// more records than fit the pages.
mod mangled {
    use proptest::prelude::*;

    use super::*;

    fn walk(bytes: &[u8]) {
        let formats = formats();
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), bytes).expect("room");
        let Ok(ring) = Ring::open(file.path(), pages(&formats)) else {
            return;
        };
        let decoder = Decoder::new(&formats).expect("known formats");
        let mut count = 0;
        let mut last = 0;
        let walked = for_each([&ring], |_, time, data| {
            assert!(time >= last, "time runs backwards");
            last = time;
            count += 1;
            decoder.event(data).map(drop)
        });
        assert!(count * 4 <= bytes.len());
        if let Err(fault) = walked {
            assert!(fault.to_string().contains("page "), "{fault}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn bytes_overwritten(
            changes in prop::collection::vec((0_usize..45_056, any::<u8>()), 1..40),
            cut in 0_usize..45_057,
        ) {
            let mut bytes = std::fs::read(data("events.ring")).expect("test data");
            for (at, value) in changes {
                bytes[at] = value;
            }
            walk(&bytes);
            walk(&bytes[..cut]);
        }

        #[test]
        fn noise_behind_a_plausible_header(
            used in 0_u32..4200,
            noise in prop::collection::vec(any::<u8>(), 4080),
        ) {
            let header = [7_u64.to_le_bytes(), u64::from(used).to_le_bytes()].concat();
            walk(&[header, noise].concat());
        }
    }
}
