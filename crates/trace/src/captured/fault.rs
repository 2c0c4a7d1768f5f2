//! What can be wrong with a capture: as a whole, or in places.

use std::path::PathBuf;

/// A file of which nothing can be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is of another kind.
    #[error(
        "{}: not a packet capture: {found}; pcap and pcapng files are read, as they are or compressed by gzip or zstd",
        path.display()
    )]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What it begins with.
        found: String,
    },
}

/// A part of a capture that was skipped. The order is that of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The file ends inside a record.
    CutOff,
    /// From some record on, lengths make no sense; the rest of the file was not read.
    LostTrack,
    /// The compressed bytes or the disk failed; the rest of the file was not read.
    Unreadable,
    /// A pcapng block whose contents contradict its length.
    DamagedBlock,
    /// A packet of an interface that the file does not describe, or whose clock makes no sense.
    UnknownInterface,
    /// A packet without a time: pcapng's simple packet block.
    NoTime,
    /// A packet in pcapng's obsolete packet block.
    ObsoleteBlock,
    /// A link layer that is not known here.
    UnknownLink,
    /// A link layer or IP header that contradicts itself.
    BadHeader,
    /// A part of a fragmented IP packet.
    Fragment,
    /// A TCP header that the snap length cut.
    HeaderCut,
    /// A TCP header that contradicts itself or the length of its packet.
    BadTcpHeader,
}

impl Fault {
    /// Its name in documents.
    pub fn code(self) -> &'static str {
        match self {
            Fault::CutOff => "cut-off",
            Fault::LostTrack => "lost-track",
            Fault::Unreadable => "unreadable",
            Fault::DamagedBlock => "damaged-block",
            Fault::UnknownInterface => "unknown-interface",
            Fault::NoTime => "no-time",
            Fault::ObsoleteBlock => "obsolete-block",
            Fault::UnknownLink => "unknown-link-layer",
            Fault::BadHeader => "bad-header",
            Fault::Fragment => "ip-fragment",
            Fault::HeaderCut => "header-cut",
            Fault::BadTcpHeader => "bad-tcp-header",
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
                "a record's length makes no sense, so that no further record can be found; all \
                 before it were read"
            }
            Fault::Unreadable => {
                "the compressed data or the disk failed; all records before it were read"
            }
            Fault::DamagedBlock => "blocks that contradict their own length were skipped",
            Fault::UnknownInterface => {
                "packets of an interface that the file does not describe, or describes with an \
                 impossible clock, were skipped"
            }
            Fault::NoTime => "packets without a time (pcapng's simple packet blocks) were skipped",
            Fault::ObsoleteBlock => {
                "packets in pcapng's obsolete packet blocks were skipped; \
                 `editcap -F pcapng OLD NEW` converts them"
            }
            Fault::UnknownLink => {
                "packets of a link layer that is not known here were skipped; Ethernet, raw IP, \
                 Linux cooked, loopback and PPP are known"
            }
            Fault::BadHeader => {
                "packets whose link layer or IP header contradicts itself were skipped"
            }
            Fault::Fragment => {
                "fragments of IP packets were skipped: TCP data in them is not counted"
            }
            Fault::HeaderCut => {
                "packets were skipped whose TCP header the snap length cut; capture at least 128 \
                 bytes of each"
            }
            Fault::BadTcpHeader => "segments whose TCP header contradicts itself were skipped",
        }
    }
}
