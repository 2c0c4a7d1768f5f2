//! The kernel's events (Documentation/trace/ftrace.rst): switched on, drained page by page.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cclab_testbed::Orders;
use cclab_testbed::records::{EVENT_FORMATS, EVENTS, EventFormats};

use crate::failure::{During, Step, failure};

/// Kilobytes of the ring; it is drained often.
const RING_KB: u32 = 24_576;
/// Kilobytes of a page of the ring, where the kernel lets us choose.
const PAGE_KB: u32 = 64;
const PLAIN_PAGE: usize = 4096;

/// Events that are always recorded where the kernel has them: few, and flows' times and states
/// come from them.
const ALWAYS: [&str; 3] = [
    "sock/inet_sock_set_state",
    "tcp/tcp_cong_state_set",
    "tcp/tcp_retransmit_skb",
];

/// Switches events on and drains them.
pub struct Events {
    root: PathBuf,
    /// Whether `root` is an instance of our own, to be removed.
    instance: bool,
    rings: Vec<File>,
    page: Vec<u8>,
    file: BufWriter<File>,
}

impl Events {
    /// Switches on what `orders` asks for. `tracefs` is where it is mounted; with `instance`, a
    /// ring of our own of that name is used and the rest of the system's tracing left alone.
    pub fn start(
        orders: &Orders,
        tracefs: &Path,
        instance: Option<&str>,
        dir: &Path,
    ) -> Step<Events> {
        let step = "tracing";
        let root = instance.map_or(tracefs.to_owned(), |name| {
            tracefs.join("instances").join(name)
        });
        if instance.is_some() {
            fs::create_dir(&root).during(step)?;
        }
        let mut events = Events {
            instance: instance.is_some(),
            rings: Vec::new(),
            page: vec![0; PLAIN_PAGE],
            file: BufWriter::with_capacity(1 << 20, File::create(dir.join(EVENTS)).during(step)?),
            root,
        };
        events.set("trace_clock", "mono")?;
        if events
            .set("buffer_subbuf_size_kb", &PAGE_KB.to_string())
            .is_ok()
        {
            events.page = vec![0; PAGE_KB as usize * 1024];
        }
        events.set("buffer_size_kb", &RING_KB.to_string())?;
        let formats = events.enable(orders, tracefs)?;
        let text = serde_json::to_vec(&formats).during(step)?;
        fs::write(dir.join(EVENT_FORMATS), text).during(step)?;
        events.open_rings()?;
        Ok(events)
    }

    fn set(&self, file: &str, value: &str) -> Step<()> {
        fs::write(self.root.join(file), value)
            .map_err(|error| failure("tracing", format_args!("{file} = {value}: {error}")))
    }

    fn enable(&self, orders: &Orders, tracefs: &Path) -> Step<EventFormats> {
        let asked = orders.events;
        let handles: Vec<String> = orders
            .queues
            .iter()
            .map(|queue| format!("handle == {}", queue.handle))
            .collect();
        let at_queues = handles.join(" || ");
        let mut wanted: Vec<(&str, &str)> = ALWAYS.map(|name| (name, "")).to_vec();
        if asked.acks {
            // The second is what a kernel without the first has.
            let ours = tracefs.join("events/tcp/tcp_ack_taken").is_dir();
            let name = if ours {
                "tcp/tcp_ack_taken"
            } else {
                "tcp/tcp_probe"
            };
            wanted.push((name, ""));
        }
        if asked.dequeues && !handles.is_empty() {
            wanted.push(("qdisc/packet_dequeued", &at_queues));
        }
        if asked.enqueues && !handles.is_empty() {
            wanted.push(("qdisc/packet_queued", &at_queues));
        }
        if asked.losses {
            wanted.push(("qdisc/packet_lost", ""));
        }
        let header = read_at_once(&tracefs.join("events/header_page")).during("tracing")?;
        let mut formats = EventFormats {
            page_size: self.page.len(),
            header_page: header,
            events: Vec::new(),
        };
        for (name, filter) in wanted {
            let folder = format!("events/{name}");
            let Ok(format) = fs::read_to_string(self.root.join(&folder).join("format")) else {
                // A kernel that was not built for this: what comes of it says what it lacks.
                continue;
            };
            if !filter.is_empty() {
                self.set(&format!("{folder}/filter"), filter)?;
            }
            self.set(&format!("{folder}/enable"), "1")?;
            formats.events.push(format);
        }
        Ok(formats)
    }

    fn open_rings(&mut self) -> Step<()> {
        let step = "tracing";
        let mut processors: Vec<PathBuf> = fs::read_dir(self.root.join("per_cpu"))
            .during(step)?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<io::Result<_>>()
            .during(step)?;
        processors.sort();
        for processor in processors {
            let ring = fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(processor.join("trace_pipe_raw"))
                .during(step)?;
            self.rings.push(ring);
        }
        Ok(())
    }

    /// Writes what has been recorded since the last call.
    pub fn drain(&mut self) -> Step<()> {
        let Events {
            rings, page, file, ..
        } = self;
        for ring in rings {
            loop {
                match ring.read(page) {
                    Ok(0) => break,
                    Ok(len) => {
                        // A page may come cut after its last event.
                        page[len..].fill(0);
                        file.write_all(page).during("writing events")?;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(failure("reading events", error)),
                }
            }
        }
        Ok(())
    }

    /// Switches everything off and writes what is left; the number of events lost.
    pub fn finish(mut self) -> Step<u64> {
        self.set("tracing_on", "0")?;
        self.drain()?;
        self.file.flush().during("writing events")?;
        let mut lost = 0;
        for entry in fs::read_dir(self.root.join("per_cpu")).during("tracing")? {
            let stats = entry.during("tracing")?.path().join("stats");
            let text = fs::read_to_string(stats).during("tracing")?;
            for line in text.lines() {
                if let Some(("overrun" | "dropped events", count)) = line.split_once(": ") {
                    lost += count.trim().parse::<u64>().unwrap_or(0);
                }
            }
        }
        Ok(lost)
    }
}

/// The text of a file that gives all of it to the first reading and nothing to later ones.
fn read_at_once(path: &Path) -> io::Result<String> {
    let mut text = vec![0; PLAIN_PAGE];
    let len = File::open(path)?.read(&mut text)?;
    text.truncate(len);
    String::from_utf8(text).map_err(io::Error::other)
}

impl Drop for Events {
    fn drop(&mut self) {
        if self.instance {
            self.rings.clear();
            // Its events are switched off with it.
            let _ = fs::remove_dir(&self.root);
        }
    }
}
