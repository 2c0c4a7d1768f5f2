//! Packets at a capture point as pcapng (draft-ietf-opsawg-pcapng), one file per point.
//!
//! Link type RAW (IPv4 without a link layer), nanosecond timestamps since the beginning of the
//! run, one interface whose name and description are the capture point. In simulated packets IP
//! identifications count the datagrams of each flow and direction at this point.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cclab_packet::Packet;
use cclab_units::Time;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::SCHEMA_VERSION;
use crate::error::TraceError;
use crate::segment::{self, WireOptions};

/// `if_tsresol`: timestamps count 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Bytes after the headers of a simulated packet: all payload is zeros.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Writes one capture point.
pub(crate) struct CaptureWriter {
    path: PathBuf,
    file: PcapNgWriter<BufWriter<File>>,
    snaplen: usize,
    /// Next IP identification by flow and direction.
    identifications: Vec<[u16; 2]>,
    /// The packet being written, kept for its memory.
    data: Vec<u8>,
}

impl CaptureWriter {
    /// Creates the capture of `point` in `dir`; 0 bytes of `snaplen` keep whole packets. Without
    /// simulated `flows` the packets will be those of a kernel.
    pub(crate) fn create(
        dir: &Path,
        point: &str,
        snaplen: u32,
        flows: usize,
    ) -> Result<CaptureWriter, TraceError> {
        let path = dir.join(file_name(point));
        let file = File::create(&path).map_err(|e| TraceError::io(&path, e))?;
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            major_version: 1,
            minor_version: 0,
            section_length: -1,
            options: vec![SectionHeaderOption::UserApplication(SCHEMA_VERSION.into())],
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen,
            options: vec![
                InterfaceDescriptionOption::IfName(point.into()),
                InterfaceDescriptionOption::IfDescription(description(point, flows).into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        let mut file = PcapNgWriter::with_section_header(BufWriter::new(file), section)
            .map_err(|e| fault(&path, e))?;
        file.write_pcapng_block(interface)
            .map_err(|e| fault(&path, e))?;
        Ok(CaptureWriter {
            path,
            file,
            snaplen: if snaplen == 0 {
                usize::MAX
            } else {
                snaplen as usize
            },
            identifications: vec![[0; 2]; flows],
            data: Vec::new(),
        })
    }

    /// Appends `packet`, seen at `now`.
    pub(crate) fn push(
        &mut self,
        now: Time,
        packet: &Packet,
        options: WireOptions,
    ) -> Result<(), TraceError> {
        let identification = self.identification(packet);
        let headers = segment::headers(packet, options, identification)
            .map_err(|e| TraceError::encode(&self.path, e))?;
        self.data.clear();
        self.data.extend_from_slice(headers.bytes());
        self.data
            .extend_from_slice(&ZEROS[..usize::from(packet.payload)]);
        self.data.truncate(self.snaplen);
        write_block(&mut self.file, now, headers.total_len, &self.data)
            .map_err(|e| fault(&self.path, e))
    }

    /// Appends a packet of `len` bytes, seen at `now`, of which `data` are the first.
    pub(crate) fn push_bytes(
        &mut self,
        now: Time,
        len: u32,
        data: &[u8],
    ) -> Result<(), TraceError> {
        let kept = &data[..data.len().min(self.snaplen)];
        write_block(&mut self.file, now, len, kept).map_err(|e| fault(&self.path, e))
    }

    /// Writes what is left.
    pub(crate) fn finish(self) -> Result<(), TraceError> {
        self.file
            .into_inner()
            .flush()
            .map_err(|e| TraceError::io(&self.path, e))
    }

    fn identification(&mut self, packet: &Packet) -> u16 {
        let flow = packet.flow as usize;
        if flow >= self.identifications.len() {
            self.identifications.resize(flow + 1, [0; 2]);
        }
        let next = &mut self.identifications[flow][usize::from(packet.backward)];
        *next = next.wrapping_add(1);
        *next
    }
}

fn write_block(
    file: &mut PcapNgWriter<BufWriter<File>>,
    now: Time,
    len: u32,
    data: &[u8],
) -> Result<(), PcapError> {
    let block = EnhancedPacketBlock {
        interface_id: 0,
        timestamp: Duration::from_nanos(now.as_nanos()),
        original_len: len,
        data: Cow::Borrowed(data),
        options: Vec::new(),
    };
    file.write_pcapng_block(block).map(drop)
}

fn description(point: &str, flows: usize) -> String {
    match flows {
        0 => format!("capture point {point}, packets of a Linux kernel"),
        _ => format!("capture point {point}, virtual time, payload of zeros"),
    }
}

fn fault(path: &Path, error: PcapError) -> TraceError {
    match error {
        PcapError::IoError(source) => TraceError::io(path, source),
        other => TraceError::encode(path, other),
    }
}

/// The file of a capture point: its name, with every byte that is not a letter, a digit, `-`,
/// `_` or an inner `.` as `%` and two hexadecimal digits, so that different points never share
/// a file and none leaves the directory.
pub fn file_name(point: &str) -> String {
    let mut name = String::new();
    for (index, byte) in point.bytes().enumerate() {
        match byte {
            b'.' if index > 0 => name.push('.'),
            b'-' | b'_' => name.push(char::from(byte)),
            b if b.is_ascii_alphanumeric() => name.push(char::from(b)),
            b => name.push_str(&format!("%{b:02X}")),
        }
    }
    name + ".pcapng"
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_stay_in_the_directory_and_differ() {
        assert_eq!(file_name("flow.1.sender"), "flow.1.sender.pcapng");
        assert_eq!(file_name("../up"), "%2E.%2Fup.pcapng");
        assert_ne!(file_name("a/b"), file_name("a%2Fb"));
    }
}
