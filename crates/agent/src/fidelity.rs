//! How well a host keeps up with real time.

use std::fs;

use cclab_testbed::records::Fidelity;

/// Watches the host from time zero on.
#[derive(Debug)]
pub struct Watch {
    began: Host,
    late_max: u64,
    late_sum: u64,
    timers: u64,
}

/// What the kernel counts since it booted.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    busy: u64,
    idle: u64,
    squeezed: u64,
    dropped: u64,
}

impl Host {
    fn read() -> Host {
        let mut host = Host::default();
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        if let Some(line) = stat.lines().next() {
            // user nice system idle iowait irq softirq steal
            let times: Vec<u64> = line
                .split_whitespace()
                .skip(1)
                .map(|time| time.parse().unwrap_or(0))
                .collect();
            host.idle = times.iter().skip(3).take(2).sum();
            host.busy = times.iter().take(8).sum::<u64>() - host.idle;
        }
        let softnet = fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
        for line in softnet.lines() {
            // processed dropped time_squeeze ..., hexadecimal
            let mut counts = line
                .split_whitespace()
                .skip(1)
                .map(|count| u64::from_str_radix(count, 16).unwrap_or(0));
            host.dropped += counts.next().unwrap_or(0);
            host.squeezed += counts.next().unwrap_or(0);
        }
        host
    }
}

impl Watch {
    /// Begins.
    pub fn begin() -> Watch {
        Watch {
            began: Host::read(),
            late_max: 0,
            late_sum: 0,
            timers: 0,
        }
    }

    /// A timer was `late` nanoseconds late.
    pub fn timer(&mut self, late: u64) {
        self.late_max = self.late_max.max(late);
        self.late_sum += late;
        self.timers += 1;
    }

    /// What was seen.
    pub fn end(self) -> Fidelity {
        let now = Host::read();
        let busy = now.busy - self.began.busy;
        let all = busy + (now.idle - self.began.idle);
        Fidelity {
            timer_late_max: self.late_max,
            timer_late_mean: self.late_sum / self.timers.max(1),
            cpu_busy: if all == 0 {
                0.0
            } else {
                busy as f64 / all as f64
            },
            softirq_squeezed: now.squeezed - self.began.squeezed,
            softnet_dropped: now.dropped - self.began.dropped,
        }
    }
}
