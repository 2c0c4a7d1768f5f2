//! What a run takes of the machine.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// So often two threads or processes wait for each other.
const BATCHES: usize = 20;
const WAITS: usize = 500;

/// Seconds that the processor worked for this thread.
pub fn cpu_seconds() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanoseconds
        .map(|ns| ns / 1e9)
        .ok_or_else(|| unreadable("schedstat"))
}

/// The most memory that the process ever had.
pub fn peak_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| unreadable("VmHWM"))
}

fn unreadable(what: &str) -> io::Error {
    io::Error::other(format!("/proc tells no {what}"))
}

/// How long it takes that two wait for each other: threads at a barrier, and ends of a TCP connection on
/// loopback by a packet there and one back. The least of several batches is what it costs where nothing else
/// runs.
pub fn synchronisation() -> io::Result<Value> {
    let mut barrier = Duration::MAX;
    let mut loopback = Duration::MAX;
    for _ in 0..BATCHES {
        barrier = barrier.min(at_a_barrier());
        loopback = loopback.min(over_loopback()?);
    }
    Ok(json!({"barrier": barrier.as_secs_f64(), "loopback": loopback.as_secs_f64()}))
}

fn at_a_barrier() -> Duration {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..WAITS).for_each(|_| {
                barrier.wait();
            })
        });
        let began = now();
        (0..WAITS).for_each(|_| {
            barrier.wait();
        });
        began.elapsed() / WAITS as u32
    })
}

fn over_loopback() -> io::Result<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = thread::spawn(move || -> io::Result<()> {
        let mut word = [0; 8];
        for _ in 0..WAITS {
            far.read_exact(&mut word)?;
            far.write_all(&word)?;
        }
        Ok(())
    });
    let began = now();
    let mut word = [0; 8];
    for _ in 0..WAITS {
        near.write_all(&word)?;
        near.read_exact(&mut word)?;
    }
    let took = began.elapsed() / WAITS as u32;
    echo.join().expect("it does not panic")?;
    Ok(took)
}

#[expect(
    clippy::disallowed_methods,
    reason = "it measures this machine, not a run"
)]
fn now() -> Instant {
    Instant::now()
}
