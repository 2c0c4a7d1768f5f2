//! What can be wrong with a capture: as a whole, or in places.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of which nothing can be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The operating system refused.
    #[error("{}: {}", cclab_units::shown_path(path), cclab_units::refused(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is of another kind.
    #[error(
        "{}: not a packet capture: {found}; pcap and pcapng files are read, as they are or compressed by gzip or zstd",
        cclab_units::shown_path(path)
    )]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What it begins with.
        found: String,
    },
    /// Nothing is piped into the program.
    #[error("standard input is a terminal; pipe a capture into it, as in `tcpdump -w - | ...`")]
    Terminal,
}

/// A part of a capture that was skipped. The order is that of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The file ends inside a record.
    CutOff,
    /// A record's header makes no sense; the file was searched for the next that does.
    LostTrack,
    /// The compressed bytes or the disk failed; the rest of the file was not read.
    Unreadable,
    /// The compressed bytes become more than they may; the rest of the file was not read.
    Expanded,
    /// A pcapng block whose contents contradict its length.
    DamagedBlock,
    /// A packet of an interface that the file does not describe, or whose clock makes no sense.
    UnknownInterface,
    /// A packet without a time: pcapng's simple packet block.
    NoTime,
    /// A link layer that is not known here.
    UnknownLink,
    /// A link layer or IP header that contradicts itself.
    BadHeader,
    /// A part of an IP packet of which other parts were not seen.
    Fragment,
    /// A part of an IP packet that was given up since too many were waiting for their parts.
    FragmentsCrowded,
    /// A part of an IP packet that contradicts other parts.
    BadFragment,
    /// A TCP or UDP header that the snap length cut.
    HeaderCut,
    /// TCP options that the snap length cut: the segment counts, but what they said is unknown.
    OptionsCut,
    /// A TCP header that contradicts itself or the length of its packet.
    BadTcpHeader,
    /// A UDP header that contradicts itself or the length of its packet.
    BadUdpHeader,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 16] = [
        Fault::CutOff,
        Fault::LostTrack,
        Fault::Unreadable,
        Fault::Expanded,
        Fault::DamagedBlock,
        Fault::UnknownInterface,
        Fault::NoTime,
        Fault::UnknownLink,
        Fault::BadHeader,
        Fault::Fragment,
        Fault::FragmentsCrowded,
        Fault::BadFragment,
        Fault::HeaderCut,
        Fault::OptionsCut,
        Fault::BadTcpHeader,
        Fault::BadUdpHeader,
    ];

    /// Its name in documents.
    pub fn code(self) -> &'static str {
        match self {
            Fault::CutOff => "cut-off",
            Fault::LostTrack => "lost-track",
            Fault::Unreadable => "unreadable",
            Fault::Expanded => "decompression-bound",
            Fault::DamagedBlock => "damaged-block",
            Fault::UnknownInterface => "unknown-interface",
            Fault::NoTime => "no-time",
            Fault::UnknownLink => "unknown-link-layer",
            Fault::BadHeader => "bad-header",
            Fault::Fragment => "ip-fragment",
            Fault::FragmentsCrowded => "ip-fragments-crowded",
            Fault::BadFragment => "bad-ip-fragment",
            Fault::HeaderCut => "header-cut",
            Fault::OptionsCut => "options-cut",
            Fault::BadTcpHeader => "bad-tcp-header",
            Fault::BadUdpHeader => "bad-udp-header",
        }
    }

    /// What it means, and what would help.
    pub fn meaning(self) -> &'static str {
        match self {
            Fault::CutOff => {
                "the file ends inside a record, as when the disk is full or the capturing program \
                 is killed; all records before it were read"
            }
            Fault::LostTrack => {
                "headers of records or blocks make no sense, as when bytes were lost, added or \
                 changed; the file was searched for the next that do"
            }
            Fault::Unreadable => {
                "the compressed data or the disk failed; all records before it were read"
            }
            Fault::Expanded => {
                "the compressed data become more than they may, by default 200 times their size \
                 and at least 256 MiB: it was read up to there, and no further; \
                 --max-decompressed SIZE allows more"
            }
            Fault::DamagedBlock => "blocks that contradict their own length were skipped",
            Fault::UnknownInterface => {
                "packets of an interface that the file does not describe, or describes with an \
                 impossible clock, were skipped"
            }
            Fault::NoTime => {
                "packets have no time (pcapng's simple packet blocks); each counts at the time of \
                 the last before it that has one, so that counts and bytes are right, and times, \
                 rates and RTTs are not"
            }
            Fault::UnknownLink => {
                "packets of a link layer that is not known here were skipped; Ethernet, raw IP, \
                 Linux cooked, loopback, PPP and Cisco HDLC are known"
            }
            Fault::BadHeader => {
                "packets whose link layer or IP header contradicts itself were skipped"
            }
            Fault::Fragment => {
                "fragments of IP packets were skipped, since other fragments of the same packet \
                 are not in the file within 30 s"
            }
            Fault::FragmentsCrowded => {
                "fragments of IP packets were skipped, since too many packets were waiting for \
                 missing ones"
            }
            Fault::BadFragment => {
                "fragments of IP packets were skipped that contradict one another"
            }
            Fault::HeaderCut => {
                "packets were skipped whose TCP or UDP header the snap length cut; capture at least \
                 128 bytes of each"
            }
            Fault::OptionsCut => {
                "the snap length cut the options of segments: SACK blocks are missing, and after \
                 such a SYN nobody knows whether windows are scaled; capture at least 128 bytes of \
                 each packet"
            }
            Fault::BadTcpHeader => "segments whose TCP header contradicts itself were skipped",
            Fault::BadUdpHeader => "datagrams whose UDP header contradicts itself were skipped",
        }
    }
}

/// What was skipped at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Why.
    pub fault: Fault,
    /// Bytes of the file that were passed over without finding what they are.
    pub bytes: u64,
}

impl From<Fault> for Skipped {
    fn from(fault: Fault) -> Skipped {
        Skipped { fault, bytes: 0 }
    }
}

/// What was skipped in a whole capture.
#[derive(Clone, Debug, Default)]
pub struct Skips(BTreeMap<Fault, (u64, u64)>);

impl Skips {
    /// Counts one more.
    pub fn add(&mut self, skipped: Skipped) {
        let (count, bytes) = self.0.entry(skipped.fault).or_default();
        *count += 1;
        *bytes += skipped.bytes;
    }

    /// Counts `times` more.
    pub fn add_many(&mut self, fault: Fault, times: u64) {
        if times > 0 {
            self.0.entry(fault).or_default().0 += times;
        }
    }

    /// Each fault, how often it was met, and what it means.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64, String)> {
        self.0.iter().map(|(&fault, &(count, bytes))| {
            let meaning = fault.meaning();
            let message = match bytes {
                0 => meaning.to_owned(),
                1 => format!("{meaning}; 1 byte was passed over"),
                _ => format!("{meaning}; {bytes} bytes were passed over"),
            };
            (fault, count, message)
        })
    }
}
