//! How fast captures are read: `segments FILE...` reads each file and counts the TCP segments in
//! it; the process' CPU time over the packets is what a packet costs before it is analysed.

use std::path::Path;
use std::process::ExitCode;

use cclab_trace::captured::{CaptureFile, Carried, Dissector, Skips};

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let mut file = match CaptureFile::open(Path::new(&path)) {
            Ok(file) => file,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        };
        let mut dissector = Dissector::default();
        let mut skips = Skips::default();
        let (mut packets, mut segments, mut payload) = (0u64, 0u64, 0u64);
        while let Some(next) = file.next_frame() {
            match next {
                Ok(frame) => {
                    packets += 1;
                    match dissector.carried(&frame) {
                        Ok(Some(Carried::Tcp(segment))) => {
                            segments += 1;
                            payload += u64::from(segment.payload);
                        }
                        Ok(_) => {}
                        Err(fault) => skips.add(fault.into()),
                    }
                }
                Err(skipped) => skips.add(skipped),
            }
        }
        dissector.finish(&mut skips);
        println!(
            "{{\"packets\": {packets}, \"segments\": {segments}, \"payload_bytes\": {payload}}}"
        );
        for (fault, count, message) in skips.iter() {
            eprintln!("{}: {count}: {message}", fault.code());
        }
    }
    ExitCode::SUCCESS
}
